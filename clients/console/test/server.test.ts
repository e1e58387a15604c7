// Answers of the server, as recorded, in the words of the views.
import { afterEach, beforeAll, expect, it, vi } from 'vitest';
import { call, type Problem } from '../src/data';
import { connector } from '../src/data/server/agents';
import { serverOf } from '../src/data/server/extensions';
import { forgetNames } from '../src/data/server/names';
import { usageOf } from '../src/data/server/usage';
import { activate } from '../src/i18n';
import { pathAt } from '../src/lib/json';

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

it('reads turns and their steps in the shape of the server', async () => {
  const row = {
    id: 't1',
    at: 1000,
    agent: AGENT,
    agentName: 'Eliza',
    platform: 'telegram',
    room: ROOM,
    roomName: '#general',
    person: MARIA,
    personName: 'maria',
    text: 'lol',
    verdict: 'ignored',
    reason: 'not addressed',
    cost: null,
    tokens: 0,
  };
  const asked = serve({
    '/api/v1/traces': { items: [row], next: null },
    '/api/v1/turns/t1/trace': { ...row, steps: [] },
  });
  const page = await call<{ items: unknown[] }>('GET', 'turns', undefined, {
    params: { verdict: 'ignored', platform: 'x' },
  });
  expect(page.items[0]).toMatchObject({ roomName: '#general', verdict: 'ignored', reason: 'not addressed', seq: 1000 });
  expect(await call('GET', 'turns/t1')).toMatchObject({ steps: [], personName: 'maria' });
  expect(asked[0]).toBe('/api/v1/traces?source=x&verdict=ignored');
});

it('asks for states by the names of the server', async () => {
  const empty = { items: [], next: null };
  const asked = serve({ '/api/v1/outbox': empty, '/api/v1/people': empty });
  await call('GET', 'outbox', undefined, { params: { state: 'gave-up' } });
  await call('GET', 'people', undefined, { params: { q: 'ma' } });
  expect(asked).toEqual(['/api/v1/outbox?state=dead', '/api/v1/people?name=ma']);
});

it('counts sends by the tabs of the view', async () => {
  serve();
  expect(await call('GET', 'counts')).toEqual({ 'gave-up': 2, expired: 1, unsure: 1, waiting: 2, sending: 1 });
});

it('makes the attention strip of what needs a person, the worst first', async () => {
  const list = (...items: unknown[]) => ({ items, next: null });
  serve({
    '/api/v1/budgets': list({ agent: 'Eliza', whose: 'everyone', setting: 'BUDGET', percent: 100 }),
    '/api/v1/approvals': list({ id: 'a', agent: AGENT, room: ROOM, person: MARIA, until: 1, actions: [] }),
    '/api/v1/pairing': list({ id: 'p', source: 'telegram', name: 'Inés', code: 'K7', until: 1 }),
    '/api/v1/session': { name: 'Jo', role: 'owner' },
  });
  await call('GET', 'session');
  const shown = await call<{ items: { kind: string; text: string }[] }>('GET', 'attention');
  expect(shown.items.map((item) => item.kind)).toEqual(['budget', 'dead', 'connector', 'approval', 'pairing']);
  expect(shown.items[2]?.text).toContain('Message Content intent is off');
});

it('asks nothing for viewers that only operators may read', async () => {
  const asked = serve({
    '/api/v1/budgets': { items: [] },
    '/api/v1/session': { name: 'Vera', role: 'viewer' },
  });
  await call('GET', 'session');
  await call('GET', 'attention');
  expect(asked.filter((url) => /approvals|pairing/.test(url))).toEqual([]);
});

it('finds the path of a line of JSON', () => {
  const text = JSON.stringify(
    { name: 'x', style: { all: ['a', 'b', { c: 1 }], chat: [] }, bio: ['d', ['e', 'f']] },
    null,
    2,
  );
  const lines = text.split('\n');
  const at = (words: string) => pathAt(text, lines.findIndex((line) => line.includes(words)) + 1);
  expect(at('"name"')).toBe('name');
  expect(at('"b"')).toBe('style.all[1]');
  expect(at('"c"')).toBe('style.all[2].c');
  expect(at('"chat"')).toBe('style.chat');
  expect(at('"f"')).toBe('bio[1][1]');
});

it('makes an MCP server of an address or of a command', () => {
  expect(serverOf('shop', 'https://shop.example/mcp')).toMatchObject({ url: 'https://shop.example/mcp' });
  expect(serverOf('files', 'npx -y "my server" --dir /srv')).toMatchObject({
    command: 'npx',
    args: ['-y', 'my server', '--dir', '/srv'],
  });
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

it('says the detail where the title repeats the status', async () => {
  serve();
  const error = await call('GET', 'nothing').catch((e: Problem) => e);
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
