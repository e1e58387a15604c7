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

/** Bodies of bytes, sent as they are. */
const BYTES = {
  bodySerializer: (body: unknown) => body as Blob,
  headers: { 'content-type': 'application/octet-stream' },
};
/** The upload that is begun, continued and looked at. */
const UPLOAD = { id: NOBODY };
/** The grant that is added and removed. */
const GRANT = { id: NOBODY };
const TERMINAL = <Body>(body: Body) => ({ params: { path: { name: 'terminal:local' } }, body });
const NO_SERVER = { params: { path: { name: 'no-such-server' } } };

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
  listTurns: async (w) => assert.ok((await turns(w)).length >= 2),
  getTurn: async (w) => {
    const found = await read(w.galatea.api.GET('/api/v1/turns/{id}', id((await turn(w)).id)));
    assert.equal(found.turn.verdict?.decision, 'answer');
    assert.equal(found.parts.length, 1);
  },
  listTraces: async (w) => {
    const page = await read(w.galatea.api.GET('/api/v1/traces', { params: { query: { verdict: 'replied' } } }));
    assert.equal(page.items.length, 2);
    assert.ok(page.items.every((row) => row.verdict === 'replied'));
  },
  getTrace: async (w) => {
    const trace = await read(w.galatea.api.GET('/api/v1/turns/{id}/trace', id((await turn(w)).id)));
    assert.equal(trace.verdict, 'replied');
    for (const kind of ['gate', 'send']) assert.ok(trace.steps.some((step) => step.kind === kind), kind);
    assert.ok(trace.rules.some((rule) => rule.decided));
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
  sendMessage: async (w) => {
    const body = { agent: await agent(w), room: 'walk', text: 'hello from the client', clientId: 'walk-1' };
    const answered = await read(w.galatea.api.POST('/api/v1/messages', { body }));
    assert.ok('answers' in answered && answered.answers[0]?.decision === 'answer');
    const events: string[] = [];
    const again = { ...body, clientId: 'walk-2' };
    for await (const { event } of w.galatea.stream('/api/v1/messages', again)) events.push(event);
    assert.equal(events[0], 'accepted');
    assert.equal(events.at(-1), 'end');
    assert.ok(events.includes('message'));
  },
  listChats: async (w) => {
    const { items } = await read(w.galatea.api.GET('/api/v1/chat/rooms'));
    assert.ok(items.some((one) => one.source === 'web'));
  },
  getMessage: async (w) => refused(/^GAL-/, w.galatea.api.GET('/api/v1/messages/{id}', id(NOBODY))),
  listPlugins: async (w) => has((await read(w.galatea.api.GET('/api/v1/plugins'))).items[0]),
  changePlugin: async (w) => {
    const path = { id: await agent(w), name: 'no-such-plugin' };
    await refused(
      /^GAL-/,
      w.galatea.api.PATCH('/api/v1/agents/{id}/plugins/{name}', { params: { path }, body: { on: true } }),
    );
  },
  listServices: async (w) => has((await read(w.galatea.api.GET('/api/v1/services'))).items),
  listTools: async (w) => has((await read(w.galatea.api.GET('/api/v1/tools'))).items),
  listGrants: async (w) => has((await read(w.galatea.api.GET('/api/v1/agents/{id}/grants', id(await agent(w))))).items),
  addGrant: async (w) => {
    const add = (tools: string) => {
      const body = { tools, from: 'owner', ask: 'always' };
      return agent(w).then((own) => w.galatea.api.POST('/api/v1/agents/{id}/grants', { ...id(own), body }));
    };
    await refused(/^GAL-GRANT-TOOL$/, add('no-such-tool/*'));
    const made = await read(add('feeds/*'));
    assert.equal(made.from, 'owner');
    GRANT.id = made.id;
  },
  removeGrant: async (w) => {
    const own = await agent(w);
    await w.galatea.api.DELETE('/api/v1/agents/{id}/grants/{grant}', {
      params: { path: { id: own, grant: GRANT.id } },
    });
    const left = await read(w.galatea.api.GET('/api/v1/agents/{id}/grants', id(own)));
    assert.ok(left.items.every((row) => row.id !== GRANT.id));
  },
  listPairings: async (w) => assert.deepEqual((await read(w.galatea.api.GET('/api/v1/pairing'))).items, []),
  approvePairing: async (w) => refused(/^GAL-/, w.galatea.api.POST('/api/v1/pairing/{id}/approve', id(NOBODY))),
  refusePairing: async (w) => refused(/^GAL-/, w.galatea.api.POST('/api/v1/pairing/{id}/refuse', id(NOBODY))),
  inviteFriend: async (w) =>
    has((await read(w.galatea.api.POST('/api/v1/invitations', { body: { agent: await agent(w), days: 1 } }))).code),
  addBlock: async (w) => {
    const body = { agent: await agent(w), source: 'telegram', kind: 'person', remote: '4711', reason: 'walk' };
    assert.equal((await read(w.galatea.api.POST('/api/v1/blocks', { body }))).items[0]?.remote, '4711');
  },
  listAllBlocks: async (w) => has((await read(w.galatea.api.GET('/api/v1/blocks'))).items[0]),
  removeBlock: async (w) => {
    const block = (await read(w.galatea.api.GET('/api/v1/blocks'))).items[0];
    await w.galatea.api.DELETE('/api/v1/blocks/{id}', id(block?.id ?? NOBODY));
    assert.deepEqual((await read(w.galatea.api.GET('/api/v1/blocks'))).items, []);
  },
  blockPerson: async (w) =>
    refused(/^GAL-/, w.galatea.api.POST('/api/v1/people/{id}/block', { ...id(NOBODY), body: {} })),
  listLinks: async (w) => has((await read(w.galatea.api.GET('/api/v1/agents/{id}/links', id(await agent(w))))).items),
  addDocument: async (w) => {
    const query = { agent: await agent(w), name: 'tours.md' };
    const body = new Blob(['# Tours\n\nThe guided tour begins at eleven.\n']);
    const made = await read(
      w.galatea.api.POST('/api/v1/knowledge', { params: { query }, body: body as never, ...BYTES }),
    );
    assert.equal(made.done, true);
  },
  beginUpload: async (w) => {
    const body = { agent: await agent(w), name: 'hours.md', size: 24, shared: false };
    UPLOAD.id = (await read(w.galatea.api.POST('/api/v1/uploads', { body }))).id;
  },
  continueUpload: async (w) => {
    const put = (offset: number, text: string) =>
      w.galatea.api.PUT('/api/v1/uploads/{id}', {
        params: { path: UPLOAD, query: { offset } },
        body: new Blob([text]) as never,
        ...BYTES,
      });
    assert.equal((await read(put(0, '# Hours\n\nNine'))).received, 13);
    assert.equal((await read(put(13, ' to six.\n\n\n'))).done, true);
  },
  getUpload: async (w) =>
    w.galatea.api.GET('/api/v1/uploads/{id}', { params: { path: UPLOAD } }).catch((error: Problem) => {
      assert.match(error.code, /^GAL-/);
    }),
  listDocuments: async (w) => {
    for (let i = 0; i < 50; i += 1) {
      const { items } = await read(w.galatea.api.GET('/api/v1/knowledge'));
      if (items.some((row) => row.state === 'ready' && /tours/i.test(row.title + row.source))) return;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    assert.fail('the document is not ready after 10 s');
  },
  askDocuments: async (w) => {
    const body = { agent: await agent(w), query: 'When does the guided tour begin?' };
    let text = '';
    // A document that has just become ready is found a moment later.
    for (let i = 0; i < 25 && !text; i += 1) {
      text = (await read(w.galatea.api.POST('/api/v1/knowledge/search', { body }))).items[0]?.text ?? '';
      if (!text) await new Promise((resolve) => setTimeout(resolve, 200));
    }
    assert.match(text, /eleven/);
  },
  removeDocument: async (w) => {
    const found = (await read(w.galatea.api.GET('/api/v1/knowledge'))).items.find((row) => row.removable);
    await w.galatea.api.DELETE('/api/v1/knowledge/{id}', id(found?.id ?? NOBODY));
  },
  listSettings: async (w) => {
    const { items } = await read(w.galatea.api.GET('/api/v1/settings'));
    assert.ok(items.every((row) => !row.secret || row.value === undefined || row.value === null));
  },
  setSetting: async (w) => {
    const path = { name: 'TELEGRAM_BOT_TOKEN' };
    const init = { params: { path }, body: { value: '1:canary-of-the-walk' } };
    await w.galatea.api.PATCH('/api/v1/settings/{name}', init);
    const all = JSON.stringify(await read(w.galatea.api.GET('/api/v1/settings')));
    assert.ok(!all.includes('canary-of-the-walk'));
    await w.galatea.api.PATCH('/api/v1/settings/{name}', { params: { path }, body: {} });
  },
  getCharacter: async (w) => has((await read(w.galatea.api.GET('/api/v1/characters/{id}', id(await agent(w))))).etag),
  saveCharacter: async (w) => {
    const own = id(await agent(w));
    const now = await read(w.galatea.api.GET('/api/v1/characters/{id}', own));
    const body = { ...now.body, adjectives: ['calm'] } as never;
    const saved = await read(
      w.galatea.api.PUT('/api/v1/characters/{id}', { ...own, body, headers: { 'if-match': now.etag } }),
    );
    assert.equal(saved.version, now.version + 1);
    await refused(
      /^GAL-/,
      w.galatea.api.PUT('/api/v1/characters/{id}', { ...own, body, headers: { 'if-match': now.etag } }),
    );
  },
  listCharacterVersions: async (w) => {
    const { items } = await read(w.galatea.api.GET('/api/v1/characters/{id}/versions', id(await agent(w))));
    assert.ok(items.length >= 2);
  },
  diffCharacter: async (w) => {
    const path = { id: await agent(w) };
    const { items } = await read(w.galatea.api.GET('/api/v1/characters/{id}/versions', { params: { path } }));
    const [to, from] = [items[0]?.version ?? 1, items[1]?.version ?? 1];
    const query = { from, to };
    const diff = await read(w.galatea.api.GET('/api/v1/characters/{id}/diff', { params: { path, query } }));
    assert.ok(diff.items.some((row) => row.path.startsWith('adjectives')));
  },
  revertCharacter: async (w) => {
    const own = id(await agent(w));
    const { items } = await read(w.galatea.api.GET('/api/v1/characters/{id}/versions', own));
    const body = { version: items[1]?.version ?? 1 };
    const made = await read(w.galatea.api.POST('/api/v1/characters/{id}/revert', { ...own, body }));
    assert.ok(made.version > (items[0]?.version ?? 0));
  },
  validateCharacter: async (w) => {
    const body = { name: 'x', bio: 7 } as never;
    const { items } = await read(w.galatea.api.POST('/api/v1/characters/validate', { body }));
    assert.ok(items.some((row) => row.level === 'error'));
  },
  previewCharacter: async (w) => {
    const body = { character: { name: 'Ada', bio: ['Ada helps.'] } as never, agent: await agent(w), text: 'hello' };
    has((await read(w.galatea.api.POST('/api/v1/characters/preview', { body }))).text);
  },
  createAgent: async (w) => {
    const body = { name: 'Walker', bio: ['Walker walks.'] } as never;
    assert.equal((await read(w.galatea.api.POST('/api/v1/agents', { body }))).agent.name, 'Walker');
  },
  removeAgent: async (w) => {
    const found = (await agents(w)).find((row) => row.name === 'Walker');
    await w.galatea.api.DELETE('/api/v1/agents/{id}', id(found?.id ?? NOBODY));
    assert.ok((await agents(w)).every((row) => row.name !== 'Walker'));
  },
  checkConnector: async (w) =>
    has((await read(w.galatea.api.POST('/api/v1/connectors/{name}/check', TERMINAL({})))).items),
  repairConnector: async (w) =>
    refused(/^GAL-/, w.galatea.api.POST('/api/v1/connectors/{name}/fix', TERMINAL({ finding: 'none' }))),
  reconnectConnector: async (w) =>
    w.galatea.api
      .POST('/api/v1/connectors/{name}/reconnect', { params: { path: { name: 'terminal:local' } } })
      .catch((error: Problem) => assert.match(error.code, /^GAL-/)),
  getCluster: async (w) =>
    assert.match((await read(w.galatea.api.GET('/api/v1/cluster'))).store, /^(sqlite|postgres)$/),
  listBudgets: async (w) => has((await read(w.galatea.api.GET('/api/v1/budgets'))).items),
  getSystem: async (w) => assert.equal((await read(w.galatea.api.GET('/api/v1/system'))).ready, true),
  listTasks: async (w) => has((await read(w.galatea.api.GET('/api/v1/tasks'))).items),
  runTask: async (w) => refused(/^GAL-/, w.galatea.api.POST('/api/v1/tasks/{id}/run', id(NOBODY))),
  pauseTask: async (w) => refused(/^GAL-/, w.galatea.api.POST('/api/v1/tasks/{id}/pause', id(NOBODY))),
  removeTask: async (w) => refused(/^GAL-/, w.galatea.api.DELETE('/api/v1/tasks/{id}', id(NOBODY))),
  listApprovals: async (w) => assert.deepEqual((await read(w.galatea.api.GET('/api/v1/approvals'))).items, []),
  approveActions: async (w) => refused(/^GAL-/, w.galatea.api.POST('/api/v1/approvals/{id}/approve', id(NOBODY))),
  refuseActions: async (w) => refused(/^GAL-/, w.galatea.api.POST('/api/v1/approvals/{id}/refuse', id(NOBODY))),
  listServers: async (w) => has((await read(w.galatea.api.GET('/api/v1/mcp'))).items),
  addServer: async (w) => {
    const body = { name: 'walk', url: 'http://127.0.0.1:9/mcp', args: [], env: {}, headers: {} };
    await w.galatea.api.POST('/api/v1/mcp', { body }).catch((error: Problem) => assert.match(error.code, /^GAL-/));
  },
  testServer: async (w) => refused(/^GAL-/, w.galatea.api.POST('/api/v1/mcp/{name}/test', NO_SERVER)),
  approveServer: async (w) =>
    refused(/^GAL-/, w.galatea.api.POST('/api/v1/mcp/{name}/approve', { ...NO_SERVER, body: {} })),
  removeServer: async (w) => refused(/^GAL-/, w.galatea.api.DELETE('/api/v1/mcp/{name}', NO_SERVER)),
  getSignInWays: async (w) => assert.equal((await read(w.galatea.api.GET('/api/v1/session/ways'))).password, false),
  signInWithPassword: async (w) => {
    const body = { name: 'owner', password: 'not the password' };
    await refused(/^GAL-/, createGalatea({ url: w.program.url }).api.POST('/api/v1/session/password', { body }));
  },
  setPassword: async (w) =>
    refused(/^GAL-/, w.galatea.api.PUT('/api/v1/session/password', { body: { password: 'short' } })),
  beginAccess: async (w) => {
    const body = { name: 'owner', password: 'not the password' };
    await refused(/^GAL-/, createGalatea({ url: w.program.url }).api.POST('/api/v1/access', { body }));
  },
  refreshAccess: async (w) =>
    refused(/^GAL-/, w.galatea.api.POST('/api/v1/access/refresh', { body: { refresh: 'unknown' } })),
  endAccess: async (w) =>
    w.galatea.api
      .POST('/api/v1/access/end', { body: { refresh: 'unknown' } })
      .catch((error: Problem) => assert.match(error.code, /^GAL-/)),
  beginOidc: async (w) => refused(/^GAL-/, w.galatea.api.GET('/api/v1/session/oidc')),
  finishOidc: async (w) => refused(/^GAL-/, w.galatea.api.GET('/api/v1/session/oidc/callback')),
  listWebhooks: async (w) => has((await read(w.galatea.api.GET('/api/v1/webhooks'))).items),
  addWebhook: async (w) => {
    const body = { url: 'http://127.0.0.1:9/hook', kinds: ['turn_finished'] };
    await refused(/^GAL-/, w.galatea.api.POST('/api/v1/webhooks', { body }));
  },
  removeWebhook: async (w) => refused(/^GAL-/, w.galatea.api.DELETE('/api/v1/webhooks/{id}', id(NOBODY))),
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
