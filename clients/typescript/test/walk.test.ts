// Every operation of the description, called through the typed client against the real program.
// An operation without a step here is a compile error: the client and this walk grow together.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createGalatea, OPERATIONS, Problem, read, rows, type Schemas } from '../src/index.js';
import { cookieOf, end, skip, type World, world } from './world.js';

type Step = (world: World) => Promise<unknown>;
type Operation = keyof typeof OPERATIONS;

const NOBODY = '00000000-0000-4000-8000-000000000000';
const id = (value: string) => ({ params: { path: { id: value } } });
/** A refusal with a code, where the walk has nothing that could be changed. */
const refused = (code: RegExp, answer: Promise<unknown>) =>
  assert.rejects(answer, (error) => error instanceof Problem && code.test(error.code));

const agents = async ({ galatea }: World) => (await read(galatea.api.GET('/api/v1/agents'))).items;
const agent = async (w: World) => (await agents(w))[0]?.id ?? '';
const turns = async ({ galatea }: World) => (await read(galatea.api.GET('/api/v1/turns'))).items;
const turn = async (w: World) => {
  const found = (await turns(w))[0];
  assert.ok(found, 'a message was said');
  return found;
};
const delivery = async ({ galatea }: World) =>
  (await read(galatea.api.GET('/api/v1/outbox', { params: { query: { state: 'sent' } } }))).items[0];
const invited = async ({ galatea }: World, name: string): Promise<Schemas['NewLink']> =>
  read(galatea.api.POST('/api/v1/users', { body: { name, role: 'viewer' } }));
const has = (value: unknown) => assert.ok(value);

const WALK: Record<Operation, Step> = {
  listAgents: async (w) =>
    assert.deepEqual(
      (await agents(w)).map((a) => a.state),
      ['running'],
    ),
  getAgent: async (w) => has((await read(w.galatea.api.GET('/api/v1/agents/{id}', id(await agent(w))))).character),
  listBlocks: async (w) => read(w.galatea.api.GET('/api/v1/agents/{id}/blocks', id(await agent(w)))),
  listWorlds: async (w) =>
    has((await read(w.galatea.api.GET('/api/v1/agents/{id}/worlds', id(await agent(w))))).items[0]),
  listTurns: async (w) => assert.equal((await turns(w)).length, 2),
  getTurn: async (w) => {
    const found = await read(w.galatea.api.GET('/api/v1/turns/{id}', id((await turn(w)).id)));
    assert.equal(found.turn.verdict?.decision, 'answer');
    assert.equal(found.parts.length, 1);
  },
  listTraces: async (w) => {
    const page = await read(w.galatea.api.GET('/api/v1/traces', { params: { query: { verdict: 'replied' } } }));
    assert.equal(page.items.length, 2);
  },
  getTrace: async (w) => {
    const trace = await read(w.galatea.api.GET('/api/v1/turns/{id}/trace', id((await turn(w)).id)));
    assert.equal(trace.verdict, 'replied');
    assert.ok(trace.steps.some((step) => step.kind === 'gate'));
  },
  getTraceStep: async (w) => {
    const params = { path: { id: (await turn(w)).id, n: 0 } };
    const step = await read(w.galatea.api.GET('/api/v1/turns/{id}/steps/{n}', { params }));
    assert.equal(step.n, 0);
  },
  dryRunTurn: async (w) => refused(/^GAL-/, w.galatea.api.POST('/api/v1/turns/{id}/dry-run', id(NOBODY))),
  listLogs: async (w) => has((await read(w.galatea.api.GET('/api/v1/logs'))).items),
  listRooms: async (w) => {
    const page = (after?: string) => w.galatea.api.GET('/api/v1/rooms', { params: { query: { limit: 1, after } } });
    const seen = new Set<string>();
    for await (const room of rows(page)) seen.add(room.id);
    assert.ok(seen.size >= 3, 'every room is on a page of its own');
  },
  getRoom: async (w) => has((await read(w.galatea.api.GET('/api/v1/rooms/{id}', id((await turn(w)).room)))).room.name),
  listMessages: async (w) => {
    const page = await read(w.galatea.api.GET('/api/v1/rooms/{id}/messages', id((await turn(w)).room)));
    assert.equal(page.items.length, 2);
  },
  listPeople: async (w) => {
    const query = { name: 'mar' };
    assert.equal((await read(w.galatea.api.GET('/api/v1/people', { params: { query } }))).items.length, 1);
  },
  getPerson: async (w) =>
    has((await read(w.galatea.api.GET('/api/v1/people/{id}', id((await turn(w)).person)))).names[0]),
  getCounts: async (w) => assert.equal((await read(w.galatea.api.GET('/api/v1/counts'))).dead, 0),
  listOutbox: async (w) => assert.equal((await delivery(w))?.state, 'sent'),
  getDelivery: async (w) => {
    const sent = await delivery(w);
    assert.equal((await read(w.galatea.api.GET('/api/v1/outbox/{id}', id(sent?.id ?? '')))).id, sent?.id);
  },
  retryDelivery: async (w) => refused(/^GAL-/, w.galatea.api.POST('/api/v1/outbox/{id}/retry', id(NOBODY))),
  dropDelivery: async (w) => refused(/^GAL-/, w.galatea.api.POST('/api/v1/outbox/{id}/drop', id(NOBODY))),
  listMemories: async (w) => {
    const query = { agent: await agent(w), kind: 'messages' };
    assert.ok((await read(w.galatea.api.GET('/api/v1/memories', { params: { query } }))).items.length >= 4);
  },
  getMemory: async (w) => {
    const memory = (await delivery(w))?.memory ?? '';
    assert.equal((await read(w.galatea.api.GET('/api/v1/memories/{id}', id(memory)))).own, true);
  },
  deleteMemory: async (w) => {
    const memory = (await delivery(w))?.memory ?? '';
    await w.galatea.api.DELETE('/api/v1/memories/{id}', id(memory));
    await refused(/^GAL-/, w.galatea.api.GET('/api/v1/memories/{id}', id(memory)));
  },
  listConnectors: async (w) => {
    const all = (await read(w.galatea.api.GET('/api/v1/connectors'))).items;
    assert.ok(all.some((c) => c.source === 'terminal'));
  },
  listUsage: async (w) => {
    const lines = (await read(w.galatea.api.GET('/api/v1/usage', { params: { query: { days: 1 } } }))).items;
    assert.equal(
      lines.reduce((n, line) => n + line.answers, 0),
      2,
    );
  },
  followEvents: async (w) => {
    const control = new AbortController();
    for await (const event of w.galatea.events({ after: 0, kinds: ['turn_finished'], signal: control.signal })) {
      assert.equal(event.kind, 'turn_finished');
      if (event.kind === 'turn_finished') assert.equal(event.data.parts, 1);
      control.abort();
    }
  },
  getSession: async (w) => assert.equal((await read(w.galatea.api.GET('/api/v1/session'))).role, 'owner'),
  signIn: async (w) => {
    const link = (await w.program.link()).split('#')[1] ?? '';
    assert.equal((await read(w.galatea.api.POST('/api/v1/session', { body: { link } }))).role, 'owner');
    await refused(/LINK/, w.galatea.api.POST('/api/v1/session', { body: { link } }));
  },
  listSessions: async (w) => has((await read(w.galatea.api.GET('/api/v1/sessions'))).items[0]),
  endSession: async (w) => {
    const session = (await read(w.galatea.api.GET('/api/v1/sessions'))).items[0];
    await w.galatea.api.DELETE('/api/v1/sessions/{id}', id(session?.id ?? ''));
  },
  signOut: async (w) => {
    const headers = { cookie: await cookieOf(w.program.url, await w.program.link()), origin: w.program.url };
    await createGalatea({ url: w.program.url }).api.DELETE('/api/v1/session', { headers });
    await refused(/^GAL-/, createGalatea({ url: w.program.url }).api.GET('/api/v1/agents', { headers }));
  },
  listUsers: async (w) => has((await read(w.galatea.api.GET('/api/v1/users'))).items[0]),
  inviteUser: async (w) => assert.match((await invited(w, 'sam')).path, /#/),
  changeUser: async (w) => {
    const { user } = await invited(w, 'kim');
    const body = { role: 'operator' };
    assert.equal((await read(w.galatea.api.PATCH('/api/v1/users/{id}', { ...id(user.id), body }))).role, 'operator');
  },
  resetUser: async (w) => {
    const { user } = await invited(w, 'lee');
    assert.match((await read(w.galatea.api.POST('/api/v1/users/{id}/reset', id(user.id)))).path, /#/);
  },
  removeUser: async (w) => {
    const { user } = await invited(w, 'max');
    await w.galatea.api.DELETE('/api/v1/users/{id}', id(user.id));
  },
  listTokens: async (w) => has((await read(w.galatea.api.GET('/api/v1/tokens'))).items[0]),
  makeToken: async (w) => {
    const made = await read(w.galatea.api.POST('/api/v1/tokens', { body: { name: 'reader', role: 'viewer' } }));
    const reader = createGalatea({ url: w.program.url, token: made.secret });
    await refused(/^GAL-/, reader.api.POST('/api/v1/users', { body: { name: 'eve', role: 'owner' } }));
  },
  revokeToken: async (w) => {
    const made = await read(w.galatea.api.POST('/api/v1/tokens', { body: { name: 'short', role: 'viewer' } }));
    await w.galatea.api.DELETE('/api/v1/tokens/{id}', id(made.token.id));
    await refused(/^GAL-/, createGalatea({ url: w.program.url, token: made.secret }).api.GET('/api/v1/agents'));
  },
  listChanges: async (w) => {
    const changes = (await read(w.galatea.api.GET('/api/v1/changes'))).items;
    assert.ok(changes.some((change) => change.operation === 'token.revoke' || /token/.test(change.operation)));
  },
  restartAgent: async (w) => read(w.galatea.api.POST('/api/v1/agents/{id}/restart', id(await agent(w)))),
  stopAgent: async (w) =>
    assert.equal((await read(w.galatea.api.POST('/api/v1/agents/{id}/stop', id(await agent(w))))).state, 'stopped'),
  startAgent: async (w) => read(w.galatea.api.POST('/api/v1/agents/{id}/start', id(await agent(w)))),
};

let here: World | undefined;
before(async () => {
  if (!skip) here = await world();
});
after(() => end(here));

for (const [name, step] of Object.entries(WALK)) {
  const [method, path] = OPERATIONS[name as Operation];
  test(`${name}: ${method} ${path}`, { skip }, async () => {
    await step(here as World);
  });
}
