// The server's answers as the views read them. The views ask for what console.md 4.6 names; this file
// says where the server of today keeps it, and derives what it does not keep. Rows that have the
// views' shape already pass unchanged, so a field that the server adds later is used at once.
import type { Params } from './http';
import { agentName, memoryText, personName, roomName } from './names';
import { step } from './steps';
import type {
  Agent,
  Change,
  Connector,
  Delivery,
  DeviceSession,
  Fact,
  Message,
  Paged,
  Person,
  Room,
  Session,
  Token,
  Turn,
  TurnDetail,
  User,
} from './types';
import { type UsageLine, usageOf } from './usage';

type Row = Record<string, unknown> & { id: string };
type List = { items: Row[]; next?: string | null };
export type Get = <T>(path: string, params?: Params) => Promise<T>;
export type Request = { method: string; path: string; params: Params; body: unknown };

const text = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined || value === null ? '' : JSON.stringify(value);
/** A number that the server may not keep. */
const known = (value: unknown): number | null => (typeof value === 'number' ? value : null);
const number = (value: unknown): number => (typeof value === 'number' ? value : 0);

const TURN_STATES: Record<string, Turn['verdict']> = {
  new: 'running',
  done: 'replied',
  skipped: 'ignored',
  expired: 'failed',
  dead: 'failed',
};
const VERDICT_STATES: Record<string, string> = { replied: 'done', ignored: 'skipped', failed: 'dead', running: 'new' };
const SEND_STATES: Record<string, Delivery['state']> = {
  pending: 'waiting',
  sending: 'sending',
  sent: 'sent',
  ambiguous: 'unsure',
  expired: 'expired',
  dead: 'gave-up',
};
const STORED_STATES: Record<string, string> = {
  waiting: 'pending',
  sending: 'sending',
  sent: 'sent',
  unsure: 'ambiguous',
  'gave-up': 'dead',
  expired: 'expired',
};
const HEALTH: Record<string, Connector['state']> = {
  starting: 'connecting',
  elsewhere: 'off',
  up: 'connected',
  degraded: 'degraded',
  retrying: 'down',
  down: 'down',
};

/** Where the server keeps what a view asks for. */
export function rewrite({ method, path, params, body }: Request): Request {
  const next = { method, path, params: { ...params }, body };
  if (path === 'turns' && params.verdict) {
    next.params.state = VERDICT_STATES[String(params.verdict)] ?? params.verdict;
  }
  if (path === 'outbox' && params.state) next.params.state = STORED_STATES[String(params.state)] ?? params.state;
  if (path === 'people' && params.q) next.params.name = params.q;
  if ((path === 'people' || path === 'rooms') && params.before) next.params.after = params.before;
  if (path === 'usage') next.params.days = { today: 1, '7d': 7, '30d': 30 }[String(params.range)] ?? 1;
  if (path === 'tokens' && method === 'POST') {
    const { name, scopes } = body as { name: string; scopes: string[] };
    next.body = { name, role: scopes.includes('own') ? 'owner' : scopes.includes('operate') ? 'operator' : 'viewer' };
  }
  return next;
}

type Adapter = (answer: unknown, get: Get, request: Request) => Promise<unknown> | unknown;

export async function each<T>(answer: unknown, change: (row: Row) => Promise<T> | T): Promise<Paged<T>> {
  const list = answer as List & { total?: number };
  return { ...list, items: await Promise.all(list.items.map(change)), next: list.next ?? null };
}

export async function turn(row: Row, get: Get): Promise<Turn> {
  if (typeof row.verdict === 'string') return row as unknown as Turn;
  const decision = row.verdict as
    | { decision?: string; steps?: { rule: string; outcome: string; reason: string }[] }
    | undefined;
  const state = decision?.decision === 'skip' ? 'ignored' : (TURN_STATES[text(row.state)] ?? 'running');
  const last =
    decision?.steps?.findLast((s) => s.outcome !== 'pass' && s.outcome !== 'passed') ?? decision?.steps?.at(-1);
  const finished = row.finishedAt === undefined ? undefined : number(row.finishedAt);
  const [agent, room, person] = await Promise.all([
    agentName(get, text(row.agent)),
    roomName(get, text(row.room)),
    personName(get, text(row.person)),
  ]);
  return {
    id: row.id,
    seq: number(row.seq) || number(row.receivedAt),
    at: number(row.at),
    agent: text(row.agent),
    agentName: agent,
    platform: text(row.source),
    room: text(row.room),
    roomName: room,
    person: text(row.person),
    personName: person,
    text: text(row.text),
    verdict: state,
    reason: state === 'replied' || state === 'running' ? undefined : last?.reason || last?.rule || text(row.state),
    took: finished === undefined ? undefined : finished - number(row.receivedAt),
    cost: typeof row.cost === 'number' ? row.cost : null,
    tokens: number(row.tokens),
    model: row.model === undefined ? undefined : text(row.model),
  };
}

async function turnDetail(answer: unknown, get: Get): Promise<TurnDetail> {
  const body = answer as { turn?: Row; parts?: Row[] } & Row;
  if (!body.turn || typeof body.turn !== 'object') return body as unknown as TurnDetail;
  const row = body.turn;
  const decision = row.verdict as
    | {
        decision: string;
        steps: { rule: string; outcome: string; reason: string }[];
        change?: { setting: string; value: string };
      }
    | undefined;
  const base = await turn(row, get);
  const steps = step(row, body.parts ?? []);
  const bad = steps.findLast((s) => s.state === 'bad');
  return {
    ...base,
    waited: 0,
    tokensIn: base.tokens,
    tokensOut: 0,
    cached: 0,
    steps,
    stepsTotal: steps.length,
    rules: decision?.steps.map((s, i) => ({
      name: s.rule,
      text: [s.outcome, s.reason].filter(Boolean).join(': '),
      decided: i === decision.steps.length - 1,
    })),
    advice: decision?.change && `${decision.change.setting}=${decision.change.value}`,
    failing: base.verdict === 'failed' && bad ? { step: bad.n, cause: bad.note ?? '', code: 'GAL-TURN' } : undefined,
  };
}

async function delivery(row: Row, get: Get): Promise<Delivery> {
  if (row.createdAt === undefined) return row as unknown as Delivery;
  const [agent, room, words] = await Promise.all([
    agentName(get, text(row.agent)),
    roomName(get, text(row.room)),
    row.memory ? memoryText(get, text(row.memory)) : '',
  ]);
  const state = SEND_STATES[text(row.state)] ?? 'waiting';
  return {
    id: row.id,
    at: number(row.createdAt),
    state,
    platform: text(row.source),
    roomName: room,
    personName: '',
    text: words,
    cause: text(row.error),
    code: /GAL-[A-Z0-9-]+/.exec(text(row.error))?.[0] ?? '',
    tries: number(row.attempt),
    maxTries: 8,
    nextAt: state === 'waiting' ? number(row.notBefore) : null,
    attempts: [],
    turn: text(row.turn),
    agentName: agent,
  };
}

type Health = { state: string; detail?: string; reason?: string; code?: string; fix?: string };

export function connector(row: Row): Connector {
  if (row.history !== undefined) return row as unknown as Connector;
  const health = row.health as Health;
  const state = HEALTH[health.state] ?? 'off';
  const title = health.reason;
  return {
    id: `${text(row.source)}:${text(row.account)}`,
    platform: text(row.source),
    name: text(row.source).replace(/^./, (c) => c.toUpperCase()),
    account: health.detail ?? text(row.account),
    agent: text(row.agentName),
    state,
    since: 0,
    scope: '',
    history: [],
    problems: title
      ? [{ code: health.code ?? 'GAL-CONNECTOR', title, fix: health.fix ? { label: health.fix } : undefined }]
      : [],
    checks: [],
    breaker: '',
    reconnects: 0,
    lastEvent: 0,
    bucket: null,
  };
}

const AGENTS: Record<string, Agent['state']> = { running: 'running', degraded: 'degraded', failed: 'failed' };

async function agents(answer: unknown, get: Get): Promise<Paged<Agent>> {
  const list = answer as List;
  if (list.items.every((row) => row.greetings !== undefined)) return answer as Paged<Agent>;
  const connectors = await get<{ items: (Row & { agent: string; source: string })[] }>('connectors').catch(() => ({
    items: [],
  }));
  return each(answer, (row) => ({
    id: row.id,
    name: text(row.name),
    state: AGENTS[text(row.state)] ?? 'paused',
    model: text(row.model),
    offline: row.offline === true,
    platforms: [...new Set(connectors.items.filter((c) => c.agent === row.id).map((c) => c.source))],
    turnsToday: known(row.turnsToday),
    costToday: known(row.costToday),
    version: known(row.version),
    greetings: [],
    fault: row.failure ? { code: 'GAL-AGENT', title: text(row.failure) } : undefined,
  }));
}

async function person(row: Row): Promise<Person> {
  if (row.identities !== undefined) return row as unknown as Person;
  const names = (row.names as string[] | undefined) ?? [];
  return {
    id: row.id,
    name: names[0] ?? row.id,
    identities: [],
    roles: [],
    lastSeen: number(row.lastSeen),
    messages: known(row.messages),
    facts: known(row.facts),
    blocked: row.blocked === true,
  };
}

async function room(row: Row, get: Get): Promise<Room> {
  if (row.platform !== undefined) return row as unknown as Room;
  return {
    id: row.id,
    name: text(row.name) || row.id.slice(0, 8),
    platform: text(row.source),
    kind: row.kind === 'dm' ? 'dm' : 'group',
    agent: await agentName(get, text(row.agent)),
    people: known(row.people),
    messages: known(row.messages),
    lastAt: number(row.lastAt),
    muted: row.muted === true,
  };
}

async function fact(row: Row, get: Get): Promise<Fact> {
  if (row.recalled !== undefined) return row as unknown as Fact;
  return {
    id: row.id,
    text: text(row.text),
    about: text(row.author),
    aboutName: row.own === true ? await agentName(get, text(row.agent)) : await personName(get, text(row.author)),
    kind: 'fact',
    score: typeof row.score === 'number' ? row.score : null,
    at: number(row.at),
    pinned: (row.metadata as Record<string, unknown> | undefined)?.pinned === true,
    recalled: [],
  };
}

async function message(row: Row, get: Get): Promise<Message> {
  if (row.state !== undefined) return row as unknown as Message;
  const own = row.own === true;
  return {
    id: row.id,
    room: text(row.room),
    at: number(row.at),
    from: own ? 'agent' : 'person',
    name: own ? await agentName(get, text(row.agent)) : await personName(get, text(row.author)),
    text: text(row.text),
    state: 'done',
    turn: row.inReplyTo === undefined ? undefined : text(row.inReplyTo),
  };
}

function user(row: Row, me: string): User {
  if (row.removable !== undefined) return row as unknown as User;
  return {
    id: row.id,
    name: text(row.name),
    role: row.role as User['role'],
    agents: 'all',
    lastSeen: null,
    state: row.disabled === true ? 'off' : 'active',
    you: row.name === me,
    removable: row.name !== me,
  };
}

const session = (row: Row): DeviceSession =>
  row.device !== undefined
    ? (row as unknown as DeviceSession)
    : {
        id: row.id,
        device: text(row.browser),
        from: '',
        lastSeen: number(row.usedAt ?? row.createdAt),
        current: row.current === true,
      };
const token = (row: Row): Token =>
  row.scopes !== undefined
    ? (row as unknown as Token)
    : {
        id: row.id,
        name: text(row.name),
        scopes: [text(row.role)],
        lastUsed: row.usedAt === undefined ? null : number(row.usedAt),
        createdAt: number(row.createdAt),
      };
const change = (row: Row): Change =>
  row.what !== undefined
    ? (row as unknown as Change)
    : {
        seq: Number(row.id),
        at: number(row.at),
        who: text(row.actor),
        what: text(row.operation),
        target: text(row.target),
        before: text(row.before) || '–',
        after: text(row.after) || '–',
        from: text(row.origin),
      };

export type Counts = { dead: number; expired: number; ambiguous: number; pending: number; sending: number };

const ADAPTERS: [method: string, pattern: RegExp, adapter: Adapter][] = [
  ['GET', /^turns$/, (a, get) => each(a, (row) => turn(row, get))],
  ['GET', /^turns\/[^/]+$/, turnDetail],
  ['GET', /^outbox$/, (a, get) => each(a, (row) => delivery(row, get))],
  ['GET', /^connectors$/, (a) => each(a, connector)],
  ['GET', /^agents$/, agents],
  ['GET', /^people$/, (a) => each(a, person)],
  ['GET', /^rooms$/, (a, get) => each(a, (row) => room(row, get))],
  [
    'GET',
    /^rooms\/[^/]+\/messages$/,
    async (a, get) => {
      const page = await each(a, (row) => message(row, get));
      return { ...page, items: page.items.sort((x, y) => x.at - y.at) };
    },
  ],
  ['GET', /^memories$/, (a, get) => each(a, (row) => fact(row, get))],
  [
    'GET',
    /^users$/,
    async (a, get) => {
      const me = await get<{ name?: string; user?: string }>('session');
      return each(a, (row) => user(row, me.name ?? me.user ?? ''));
    },
  ],
  ['GET', /^sessions$/, (a) => each(a, session)],
  ['GET', /^tokens$/, (a) => each(a, token)],
  ['GET', /^changes$/, (a) => each(a, change)],
  [
    'GET',
    /^counts$/,
    (a) => {
      const c = a as Partial<Counts> & Record<string, number>;
      return c.dead === undefined
        ? c
        : { 'gave-up': c.dead, expired: c.expired, unsure: c.ambiguous, waiting: c.pending, sending: c.sending };
    },
  ],
  [
    'GET',
    /^usage$/,
    async (a, get, request) => {
      const list = a as { items?: UsageLine[] };
      if (!list.items) return a;
      return usageOf(list.items, String(request.params.range ?? 'today'), Date.now(), {
        room: (id) => roomName(get, id),
        agent: (id) => agentName(get, id),
      });
    },
  ],
  [
    'GET',
    /^session$/,
    (a) => {
      const s = a as Partial<Session> & { name?: string };
      return {
        ...s,
        user: s.name ?? s.user ?? '',
        version: s.version ?? '',
        persona: s.persona ?? '',
        offline: s.offline ?? false,
        serverTime: s.serverTime ?? Date.now(),
      };
    },
  ],
  [
    'POST',
    /^users$/,
    (a) => {
      const made = a as { path?: string; link?: string; expiresAt?: number };
      return { link: made.link ?? `${window.location.origin}${made.path ?? ''}`, expires: made.expiresAt };
    },
  ],
];

/** The adapter of a request, if its answer has to be changed. */
export function adapterOf(method: string, path: string): Adapter | undefined {
  return ADAPTERS.find(([m, pattern]) => m === method && pattern.test(path))?.[2];
}
