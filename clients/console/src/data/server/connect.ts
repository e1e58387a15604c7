// Connecting a platform or a model: steps with a check after each. What is typed becomes settings; the
// program connects with them, and its own answer says whether it works.
import { t } from '../../i18n';
import { api, Problem, read } from '../client';
import { faultOf } from '../fault';
import type { Connector, LoginStep } from '../types';
import { connector } from './agents';
import type { Asked, Handlers } from './asked';

type Way = {
  /** The platform that has to connect; none for a model, which has to answer. */
  source?: string;
  title: string;
  help: string;
  fields: { id: string; label: string; hint?: string; secret?: boolean; value?: string }[];
};
const WAIT_MS = 20_000;
const LOOK_MS = 700;

/** A provider of models with one key. */
const keyed = (name: string, setting: string, page: string): Way => ({
  title: t('Key of {name}', { name }),
  help: t('Make one at {page}. The model is asked once to see whether it works; that costs less than a cent.', {
    page,
  }),
  fields: [{ id: setting, label: t('API key') }],
});

/** What each platform and provider asks for, and where its owner finds it. */
function ways(): Record<string, Way> {
  return {
    openai: keyed('OpenAI', 'OPENAI_API_KEY', 'platform.openai.com/api-keys'),
    anthropic: keyed('Anthropic', 'ANTHROPIC_API_KEY', 'console.anthropic.com/settings/keys'),
    google: keyed('Google', 'GOOGLE_GENERATIVE_AI_API_KEY', 'aistudio.google.com/apikey'),
    openrouter: keyed('OpenRouter', 'OPENROUTER_API_KEY', 'openrouter.ai/keys'),
    ollama: {
      title: t('Address of Ollama'),
      help: t('Ollama runs models on your own machine. In a container write host.docker.internal for localhost.'),
      fields: [{ id: 'OLLAMA_API_ENDPOINT', label: t('Address'), value: 'http://localhost:11434/api', secret: false }],
    },
    telegram: {
      source: 'telegram',
      title: t('Token of your Telegram bot'),
      help: t('Open @BotFather in Telegram, send /newbot, and copy the token.'),
      fields: [
        { id: 'TELEGRAM_BOT_TOKEN', label: t('Bot token'), hint: t('Digits, a colon, then about 35 characters') },
      ],
    },
    discord: {
      source: 'discord',
      title: t('Token of your Discord bot'),
      help: t('Open discord.com/developers, choose your application, then Bot, and reset the token there.'),
      fields: [{ id: 'DISCORD_API_TOKEN', label: t('Bot token'), hint: t('Three parts with dots between them') }],
    },
    x: {
      source: 'x',
      title: t('Keys of your X app'),
      help: t('Open developer.x.com, choose your app, then Keys and tokens. Reads and posts cost money there.'),
      fields: [
        { id: 'TWITTER_API_KEY', label: t('API key') },
        { id: 'TWITTER_API_SECRET_KEY', label: t('API secret') },
        { id: 'TWITTER_ACCESS_TOKEN', label: t('Access token') },
        { id: 'TWITTER_ACCESS_TOKEN_SECRET', label: t('Access token secret') },
      ],
    },
  };
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function connectorOf(source: string): Promise<Connector | undefined> {
  const { items } = await read(api.GET('/api/v1/connectors'));
  return items.map(connector).find((row) => row.platform === source);
}

/** Waits until the platform connects or says why not. The agents are made anew meanwhile. */
async function settled(source: string): Promise<Connector | undefined> {
  const end = Date.now() + WAIT_MS;
  let found: Connector | undefined;
  while (Date.now() < end) {
    await sleep(LOOK_MS);
    found = await connectorOf(source).catch(() => undefined);
    if (found && ['connected', 'degraded', 'down'].includes(found.state)) return found;
  }
  return found;
}

const set = (name: string, value: string) =>
  read(api.PATCH('/api/v1/settings/{name}', { params: { path: { name } }, body: { value } }));

/** Asks the new model a question through the first agent: an answer is the proof. */
async function asked(step: Extract<LoginStep, { type: 'user_input' }>): Promise<LoginStep> {
  const end = Date.now() + WAIT_MS;
  let last: Error | undefined;
  while (Date.now() < end) {
    await sleep(LOOK_MS);
    try {
      const agent = (await read(api.GET('/api/v1/agents'))).items.find((row) => row.state === 'running');
      if (!agent) continue;
      const { body } = await read(api.GET('/api/v1/characters/{id}', { params: { path: { id: agent.id } } }));
      const question = { character: body, agent: agent.id, text: 'Say hello in one sentence.' };
      const { text } = await read(api.POST('/api/v1/characters/preview', { body: question }));
      return { type: 'complete', id: 'done', title: t('Connected'), account: agent.name, said: text };
    } catch (error) {
      last = error as Error;
      // The agents are made anew with the key; until then they are not found. 503 is the model's refusal.
      if (!(error instanceof Problem) || ![0, 404, 409].includes(error.status)) break;
    }
  }
  return { ...step, fault: last ? faultOf(last) : { code: 'GAL-CONSOLE', title: t('No agent runs') } };
}

async function login({ args, body }: Asked): Promise<LoginStep> {
  const way = ways()[args[0] ?? ''];
  if (!way) throw new Problem(404, 'GAL-CONSOLE', `No platform is called ${args[0]}`);
  const step: LoginStep = {
    type: 'user_input',
    id: 'keys',
    title: way.title,
    help: way.help,
    fields: way.fields.map((field) => ({ secret: true, ...field })),
  };
  const { fields } = (body ?? {}) as { fields?: Record<string, string> };
  if (!fields) return step;
  const missing = way.fields.find((field) => !fields[field.id]?.trim());
  if (missing) return { ...step, fault: { code: 'GAL-CONSOLE', title: t('{name} is empty', { name: missing.label }) } };
  for (const field of way.fields) await set(field.id, (fields[field.id] ?? '').trim());
  if (!way.source) return asked(step);
  const found = await settled(way.source);
  if (found?.state === 'connected' || found?.state === 'degraded') {
    const name = /@(\w+)/.exec(found.account)?.[1];
    const hello = way.source === 'telegram' && name ? `https://t.me/${name}?start=hello` : undefined;
    return { type: 'complete', id: 'done', title: t('Connected'), account: found.account, hello };
  }
  const late = { code: 'GAL-CONNECTOR', title: t('The platform did not answer within 20 s') };
  return { ...step, fault: found?.problems[0] ?? late };
}

export const CONNECT: Handlers = { 'POST connectors/:id/login': login };
