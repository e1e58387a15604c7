// Rows of every resource as the server has them, in the words of the views.
import { afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { call } from '../src/data';
import { forgetNames } from '../src/data/server/names';
import { activate } from '../src/i18n';

const AGENT = 'b850bc30-45f8-0041-a00a-83df46d8555d';
const ROOM = '00000000-0000-4000-8000-00000000000a';
const MARIA = '00000000-0000-4000-8000-00000000000b';
const BASE = {
  'GET agents': { items: [{ id: AGENT, name: 'Eliza', state: 'running' }] },
  [`GET rooms/${ROOM}`]: { room: { name: '#general', kind: 'GROUP' }, people: [] },
  [`GET people/${MARIA}`]: { id: MARIA, names: ['maria'] },
};
type Seen = { what: string; body: string; match: string | null };
let seen: Seen[] = [];

/** Answers by method and path below `/api/v1/`; a function gets the body. */
function serve(answers: Record<string, unknown>) {
  const all: Record<string, unknown> = { ...BASE, ...answers };
  vi.stubGlobal('fetch', async (request: Request) => {
    const what = `${request.method} ${decodeURIComponent(new URL(request.url).pathname).slice('/api/v1/'.length)}`;
    const body = request.method === 'GET' ? '' : await request.text();
    seen.push({ what, body, match: request.headers.get('if-match') });
    const found = all[what];
    if (found === undefined)
      return new Response(JSON.stringify({ code: 'GAL-API-ROUTE', status: 404 }), { status: 404 });
    const answer = typeof found === 'function' ? (found as (body: string) => unknown)(body) : found;
    return new Response(JSON.stringify(answer), { status: 200 });
  });
}
const list = (...items: unknown[]) => ({ items, next: null });
const items = async (path: string) => (await call<{ items: unknown[] }>('GET', path)).items;

beforeAll(() => activate('en'));
beforeEach(() => {
  seen = [];
});
afterEach(() => {
  vi.unstubAllGlobals();
  forgetNames();
});

it('shows plugins with what they bring, and turns one off', async () => {
  const row = {
    agent: AGENT,
    name: 'feeds',
    version: '0.1.0',
    description: 'Reads feeds.',
    on: true,
    optional: true,
    needs: [],
    brings: { actions: ['ADD_FEED'], providers: [] },
    settings: [],
  };
  serve({ 'GET plugins': list(row), [`PATCH agents/${AGENT}/plugins/feeds`]: { ...row, on: false } });
  expect(await items('plugins')).toMatchObject([
    { id: `${AGENT}/feeds`, state: 'loaded', agent: 'Eliza', provides: 'actions: ADD_FEED', fixed: false },
  ]);
  await call('PATCH', `agents/${AGENT}/plugins/feeds`, { on: false });
  expect(seen.at(-1)).toMatchObject({ body: '{"on":false}' });
});

it('shows tools with the rule that counts: the newest general one', async () => {
  const tool = { agent: AGENT, tool: 'shop/cancel', owner: 'shop', action: 'CANCEL', scope: 'member' };
  const grant = { id: 'g', agent: AGENT, kind: 'rule', tools: 'shop/*', from: 'admin', ask: 'always', at: 1 };
  serve({
    'GET tools': list(tool),
    [`GET agents/${AGENT}/grants`]: list(grant, { ...grant, id: 'r', room: ROOM, from: 'nobody' }),
  });
  expect(await items('tools')).toMatchObject([{ name: 'shop/cancel', from: 'admin', ask: 'always', grant: 'g' }]);
});

it('shows MCP servers with tools that wait, and adds one from a line', async () => {
  const row = {
    name: 'shop',
    transport: 'stdio',
    command: 'shop-mcp',
    agents: ['Eliza'],
    origin: 'file',
    state: 'needs-approval',
    detail: 'approve its tools',
    offered: 0,
    waiting: 4,
  };
  serve({ 'GET mcp': list(row, { ...row, name: 'b', state: 'ready', waiting: 0, offered: 2 }), 'POST mcp': row });
  expect(await items('mcp')).toMatchObject([
    { id: 'shop', state: 'failed', waiting: 4, fault: 'approve its tools' },
    { id: 'b', state: 'connected', tools: 2, fault: undefined },
  ]);
  await call('POST', 'mcp', { name: 'x', transport: 'npx -y tools' });
  expect(JSON.parse(seen.at(-1)?.body ?? '')).toMatchObject({ name: 'x', command: 'npx', args: ['-y', 'tools'] });
});

it('shows what waits: approvals, strangers, blocks, tasks', async () => {
  serve({
    'GET approvals': list({
      id: 'a',
      agent: AGENT,
      room: ROOM,
      person: MARIA,
      until: 9,
      actions: [{ tool: 'shop/cancel', parameters: { order: 4411 } }],
    }),
    'GET pairing': list({
      id: 'p',
      agent: AGENT,
      person: MARIA,
      source: 'telegram',
      name: 'Inés',
      code: 'K7',
      until: 9,
    }),
    'GET blocks': list({
      id: 'b',
      agent: AGENT,
      source: 'x',
      kind: 'person',
      remote: '@spam',
      reason: 'floods',
      at: 1,
    }),
    'GET tasks': list({
      id: 't',
      agent: AGENT,
      agentName: 'Eliza',
      name: 'REMINDER',
      description: 'water the plants',
      due: 5,
      repeat: 'once',
      state: 'waiting',
      attempts: 0,
    }),
  });
  expect(await items('approvals')).toMatchObject([
    { action: 'shop/cancel', text: 'shop/cancel(order: 4411)', roomName: '#general', personName: 'maria', until: 9 },
  ]);
  expect(await items('pairing')).toMatchObject([{ name: 'Inés', platform: 'telegram', until: 9 }]);
  expect(await items('blocks')).toMatchObject([{ name: '@spam', platform: 'x', kind: 'person' }]);
  expect(await items('tasks')).toMatchObject([{ name: 'water the plants', agent: 'Eliza', state: 'waiting' }]);
});

it('shows settings without values of secrets, and says where each comes from', async () => {
  const row = { name: 'LOG_LEVEL', group: 'General', help: 'how much', value: 'info', isSet: true, place: '.env:4' };
  const key = { ...row, name: 'OPENAI_API_KEY', value: undefined, origin: 'console', place: '', secret: true };
  serve({
    'GET settings': list(
      { ...row, origin: 'file', secret: false, editable: true },
      { ...key, editable: true, changedAt: 7 },
    ),
    'PATCH settings/LOG_LEVEL': (body: string) => ({
      setting: { ...row, value: JSON.parse(body).value, origin: 'console', secret: false, editable: true },
      restarted: true,
    }),
  });
  expect(await items('settings')).toMatchObject([
    { key: 'LOG_LEVEL', value: 'info', origin: 'file', place: '.env:4' },
    { key: 'OPENAI_API_KEY', value: null, secret: true, isSet: true, changedAt: 7 },
  ]);
  const made = await call('PATCH', 'settings/LOG_LEVEL', { value: 'debug' });
  expect(made).toMatchObject({ key: 'LOG_LEVEL', value: 'debug', restarted: true });
  await call('PATCH', 'settings/LOG_LEVEL', { value: null });
  expect(seen.at(-1)?.body).toBe('{}');
});

it('saves a character over the version that was read, and places remarks by path', async () => {
  serve({
    [`PUT characters/${AGENT}`]: { version: 3, etag: '"v3"', body: {} },
    'POST characters/validate': list({
      code: 'C',
      level: 'error',
      line: 2,
      text: 'expected text',
      help: 'write words',
    }),
    [`GET characters/${AGENT}/versions`]: list(
      { version: 2, at: 2, by: 'Jo', fromFile: false, body: { name: 'E', bio: ['b'] } },
      { version: 1, at: 1, by: 'file', fromFile: true, body: { name: 'E', bio: ['a'] } },
    ),
    'POST agents': { agent: { id: 'new', name: 'Ada', state: 'running' } },
  });
  await call('PUT', `characters/${AGENT}`, { name: 'E' }, { etag: '"v2"' });
  expect(seen.at(-1)?.match).toBe('"v2"');
  const remarks = await call<{ items: unknown[] }>('POST', 'characters/validate', { name: 7 });
  expect(remarks.items).toEqual([{ path: 'name', line: 2, level: 'error', text: 'expected text. write words' }]);
  expect(await items(`characters/${AGENT}/versions`)).toMatchObject([
    { version: 2, summary: 'bio' },
    { version: 1, summary: 'file' },
  ]);
  expect(await call('POST', 'agents', { name: 'Ada', template: 'helper' })).toMatchObject({ id: 'new' });
  expect(JSON.parse(seen.at(-1)?.body ?? '')).toMatchObject({
    name: 'Ada',
    style: { all: ['be brief', expect.anything()] },
  });
});

it('sends a document in pieces, from where the server stands', async () => {
  let received = 0;
  const upload = () => ({ id: 'u', agent: AGENT, name: 'a.md', size: 6, received, done: received === 6 });
  serve({
    'POST uploads': upload,
    'PUT uploads/u': (body: string) => {
      received += body.length;
      return upload();
    },
    'POST knowledge/search': list({
      document: 'd',
      title: 'A',
      place: 'A, page 1',
      score: 0.5,
      text: 'nine',
      relevant: true,
    }),
  });
  const file = new File(['# Nine'], 'a.md');
  expect(await call('POST', 'knowledge', file, { params: { name: 'a.md' } })).toMatchObject({ done: true });
  expect(JSON.parse(seen.find((one) => one.what === 'POST uploads')?.body ?? '')).toMatchObject({
    agent: AGENT,
    size: 6,
  });
  const found = await call<{ items: unknown[] }>('POST', 'knowledge/search', { query: 'hours?' });
  expect(found.items).toMatchObject([{ name: 'A', place: 'A, page 1', score: 0.5 }]);
});

it('shows processes, this one alone too, and findings by their harm', async () => {
  const system = {
    version: '0.1.0',
    ready: false,
    uptime: 60,
    serverTime: 100_000,
    reasons: [{ subject: 'model', agent: 'Eliza', message: 'no model answers', code: 'GAL-MODEL', fix: 'set a key' }],
    remarks: [{ subject: 'storage', message: 'the disk is nearly full' }],
  };
  serve({ 'GET system': system, 'GET cluster': { store: 'sqlite', nodes: [] } });
  expect(await call('GET', 'cluster')).toMatchObject({ store: 'sqlite', nodes: [{ upSince: 40_000, role: 'all' }] });
  expect(await items('findings')).toMatchObject([
    { severity: 'bad', subject: 'Eliza · model', message: 'no model answers', fix: { label: 'set a key' } },
    { severity: 'warn', message: 'the disk is nearly full' },
  ]);
});

it('checks a connector: what passed, what did not, what can be repaired', async () => {
  const finding = { id: 'GAL-DC-INTENT', subject: 'discord', message: 'the intent is off' };
  serve({
    'POST connectors/discord:1/check': list(
      { ...finding, severity: 'error', repair: 'Switch it on?' },
      { ...finding, id: 'ok', severity: 'ok', message: 'the token works' },
    ),
    'POST connectors/discord:1/fix': {},
  });
  expect(await call('POST', 'connectors/discord:1/check')).toMatchObject({
    checks: [{ ok: true, text: 'the token works' }],
    problems: [{ code: 'GAL-DC-INTENT', fix: { label: 'Switch it on?', action: 'GAL-DC-INTENT' } }],
  });
  await call('POST', 'connectors/discord:1/fix', { action: 'GAL-DC-INTENT' });
  expect(seen.at(-1)?.body).toBe('{"finding":"GAL-DC-INTENT"}');
});

it('connects Telegram: asks for the token, refuses an empty one, reports what the platform says', async () => {
  const health = { state: 'down', reason: 'Telegram rejects the token', code: 'GAL-TG-401', fix: 'ask @BotFather' };
  const row = { agent: AGENT, agentName: 'Eliza', source: 'telegram', account: '1' };
  let works = false;
  serve({
    'PATCH settings/TELEGRAM_BOT_TOKEN': { setting: {}, restarted: true },
    'GET connectors': () => list({ ...row, health: works ? { state: 'up', detail: '@acme_bot, polling' } : health }),
  });
  const go = (fields?: Record<string, string>) => call('POST', 'connectors/telegram/login', { fields });
  expect(await go()).toMatchObject({ type: 'user_input', fields: [{ id: 'TELEGRAM_BOT_TOKEN', secret: true }] });
  expect(await go({ TELEGRAM_BOT_TOKEN: ' ' })).toMatchObject({ fault: { title: 'Bot token is empty' } });
  expect(seen.some((one) => one.what.startsWith('PATCH'))).toBe(false);
  expect(await go({ TELEGRAM_BOT_TOKEN: '1:wrong' })).toMatchObject({ fault: { title: 'Telegram rejects the token' } });
  works = true;
  expect(await go({ TELEGRAM_BOT_TOKEN: '1:right' })).toMatchObject({
    type: 'complete',
    account: '@acme_bot, polling',
    hello: 'https://t.me/acme_bot?start=hello',
  });
});
