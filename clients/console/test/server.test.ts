// Answers of the server, as recorded, in the words of the views.
import { afterEach, beforeAll, expect, it, vi } from 'vitest';
import { call, type Problem } from '../src/data';
import { attentionOf, connector } from '../src/data/server/agents';
import { forgetNames } from '../src/data/server/names';
import { turn } from '../src/data/server/turns';
import { usageOf } from '../src/data/server/usage';
import { activate } from '../src/i18n';

const AGENT = 'b850bc30-45f8-0041-a00a-83df46d8555d';
const ROOM = '00000000-0000-4000-8000-00000000000a';
const MARIA = '00000000-0000-4000-8000-00000000000b';
const TURN = {
  id: '00000000-0000-4000-8000-000000000001',
  agent: AGENT,
  room: ROOM,
  person: MARIA,
  source: 'telegram',
  account: 'bot',
  text: 'lol',
  state: 'skipped',
  attempts: 1,
  at: 1000,
  receivedAt: 1200,
  finishedAt: 1300,
  verdict: { decision: 'skip', steps: [{ rule: 'mention', outcome: 'fails', reason: 'not addressed' }] },
};
const ANSWERS: Record<string, unknown> = {
  '/api/v1/turns': { items: [TURN], next: '1000.1' },
  [`/api/v1/turns/${TURN.id}`]: {
    turn: { ...TURN, state: 'done', verdict: { decision: 'answer', steps: [] } },
    parts: [{ id: 'p', turn: 't', part: 0, source: 'telegram', state: 'dead', error: 'kicked', createdAt: 1300 }],
  },
  '/api/v1/agents': { items: [{ id: AGENT, name: 'Eliza', state: 'running' }] },
  [`/api/v1/rooms/${ROOM}`]: { room: { name: '#general', kind: 'group' }, people: [] },
  [`/api/v1/people/${MARIA}`]: { id: MARIA, names: ['maria'] },
  '/api/v1/connectors': {
    items: [
      {
        agent: AGENT,
        agentName: 'Eliza',
        source: 'discord',
        account: '1',
        health: { state: 'degraded', reason: 'Message Content intent is off' },
      },
    ],
  },
  '/api/v1/counts': {
    waitingMessages: 0,
    failedMessages: 0,
    expiredMessages: 0,
    pending: 2,
    sending: 1,
    ambiguous: 1,
    expired: 1,
    dead: 2,
  },
  '/api/v1/session': { name: 'Jo', role: 'owner' },
};

beforeAll(() => activate('en'));
afterEach(() => {
  vi.unstubAllGlobals();
  forgetNames();
});

function serve(extra: Record<string, unknown> = {}) {
  const asked: string[] = [];
  vi.stubGlobal('fetch', async (request: Request) => {
    const { pathname, search } = new URL(request.url);
    asked.push(pathname + search);
    const answer = { ...ANSWERS, ...extra }[pathname];
    if (answer) return new Response(JSON.stringify(answer), { status: 200 });
    return new Response(
      JSON.stringify({ title: 'Not Found', status: 404, code: 'GAL-API-ROUTE', detail: 'there is no such address' }),
      { status: 404 },
    );
  });
  return asked;
}

it('names rooms, people and agents of turns, each asked for once', async () => {
  const asked = serve({ '/api/v1/turns': { items: [TURN, { ...TURN, id: '2' }], next: null } });
  const page = await call<{
    items: { roomName: string; personName: string; verdict: string; reason: string; took: number }[];
  }>('GET', 'turns');
  expect(page.items[0]).toMatchObject({
    roomName: '#general',
    personName: 'maria',
    agentName: 'Eliza',
    verdict: 'ignored',
    reason: 'not addressed',
    took: 100,
    platform: 'telegram',
  });
  expect(asked.filter((url) => url.includes('/rooms/'))).toHaveLength(1);
});

it('makes steps of a turn from its sends', async () => {
  serve();
  const detail = await call<{ steps: { kind: string; state: string; note?: string }[]; stepsTotal: number }>(
    'GET',
    `turns/${TURN.id}`,
  );
  expect(detail.steps.map((s) => s.kind)).toEqual(['receive', 'model', 'send']);
  expect(detail.steps[2]).toMatchObject({ state: 'bad', note: 'kicked' });
});

it('asks for states by the names of the server', async () => {
  const empty = { items: [], next: null };
  const asked = serve({ '/api/v1/turns': empty, '/api/v1/outbox': empty, '/api/v1/people': empty });
  await call('GET', 'turns', undefined, { params: { verdict: 'failed' } });
  await call('GET', 'outbox', undefined, { params: { state: 'gave-up' } });
  await call('GET', 'people', undefined, { params: { q: 'ma' } });
  expect(asked).toEqual(['/api/v1/turns?state=dead', '/api/v1/outbox?state=dead', '/api/v1/people?name=ma']);
});

it('counts sends by the tabs of the view', async () => {
  serve();
  expect(await call('GET', 'counts')).toEqual({ 'gave-up': 2, expired: 1, unsure: 1, waiting: 2, sending: 1 });
});

it('makes the attention strip where the server has none', async () => {
  serve();
  const list = await call<{ items: { kind: string; text: string }[] }>('GET', 'attention');
  expect(list.items.map((item) => item.kind)).toEqual(['dead', 'connector']);
  expect(list.items[1]?.text).toContain('Message Content intent is off');
  expect(attentionOf(0, [], 0)).toEqual([]);
});

it('shows a connector by its health', () => {
  const row = (health: object) =>
    connector({ agent: AGENT, source: 'telegram', account: 'a', agentName: 'Eliza', health: health as never });
  expect(row({ state: 'up', detail: '@bot, polling' })).toMatchObject({
    state: 'connected',
    account: '@bot, polling',
    problems: [],
  });
  expect(row({ state: 'down', reason: 'rejected', code: 'GAL-TG-401', fix: 'set a token' }).problems).toEqual([
    { code: 'GAL-TG-401', title: 'rejected', fix: { label: 'set a token' } },
  ]);
});

it('reads the name of the signed-in user', async () => {
  serve();
  expect(await call('GET', 'session')).toMatchObject({ user: 'Jo', role: 'owner' });
});

it('leaves rows of the shape of the views alone', async () => {
  const row = { id: 'x', verdict: 'replied', text: 'a', personName: 'maria' };
  expect(await turn(row as never)).toBe(row);
});

it('says the detail where the title repeats the status', async () => {
  serve();
  const error = await call('GET', 'knowledge').catch((e: Problem) => e);
  expect(error).toMatchObject({ status: 404, code: 'GAL-API-ROUTE', message: 'There is no such address' });
});

it('sums the ledger by agent, room and model', async () => {
  const line = {
    agent: 'a',
    day: Math.floor(Date.now() / 86_400_000),
    source: 'x',
    room: 'r',
    person: 'p',
    model: 'gpt',
    answers: 2,
    refused: 0,
    calls: 2,
    input: 100,
    cached: 50,
    output: 10,
    unpriced: 0,
    micros: 1_500_000,
  };
  const local = { ...line, model: 'llama', unpriced: 2, micros: 0 };
  const usage = await usageOf([line, local], 'today', Date.now(), {
    room: async (id) => id,
    agent: async () => 'Eliza',
  });
  expect(usage.cost).toBe(1.5);
  expect(usage.models).toMatchObject([
    { name: 'gpt', cost: 1.5, share: 1, cached: 0.5 },
    { name: 'llama', cost: null },
  ]);
  expect(usage.series).toEqual([{ name: 'Eliza', unit: '$', values: [1.5] }]);
  expect(usage.unpriced).toBe(1);
});
