// Shapes of the interface as the views read them. Times are milliseconds since 1970, money is in
// US dollars, durations are milliseconds unless a name says otherwise.

export type Role = 'viewer' | 'operator' | 'owner';
export type Platform = 'telegram' | 'discord' | 'x' | 'web' | 'terminal' | string;
export type Verdict = 'replied' | 'ignored' | 'failed' | 'waiting' | 'running';
export type Paged<T> = { items: T[]; next: string | null; total?: number };

export type Session = {
  user: string;
  role: Role;
  version: string;
  persona: string;
  offline: boolean;
  serverTime: number;
};
export type SignIn = { password: boolean; oidc: string | null };

export type Fix = { label: string; command?: string; href?: string; action?: string };
export type Fault = { code: string; title: string; cause?: string; fix?: Fix };

export type Turn = {
  id: string;
  seq: number;
  at: number;
  agent: string;
  agentName: string;
  platform: Platform;
  room: string;
  roomName: string;
  person: string;
  personName: string;
  text: string;
  verdict: Verdict;
  reason?: string;
  took?: number;
  cost: number | null;
  tokens: number;
  model?: string;
};
export type StepKind =
  | 'receive'
  | 'wait'
  | 'gate'
  | 'provider'
  | 'model'
  | 'action'
  | 'send'
  | 'backoff'
  | 'evaluate'
  | 'commit';
export type Step = {
  n: number;
  depth: number;
  kind: StepKind;
  name: string;
  note?: string;
  offset: number;
  width: number | null;
  state: 'ok' | 'bad' | 'wait' | 'running';
  tokens?: number;
  cost?: number;
};
export type Rule = { name: string; text: string; decided: boolean };
export type TurnDetail = Turn & {
  waited: number;
  tokensIn: number;
  tokensOut: number;
  cached: number;
  steps: Step[];
  stepsTotal: number;
  rules?: Rule[];
  failing?: { step: number; cause: string; code: string };
  stepsDropped?: boolean;
  advice?: string;
};
export type PromptBlock = {
  from: string;
  role: 'system' | 'user' | 'assistant' | 'tool';
  text: string;
  tokens: number;
};
export type StepBody = {
  n: number;
  input?: string;
  prompt?: PromptBlock[];
  output?: string;
  facts: [string, string][];
  log: LogLine[];
  raw: unknown;
};

export type AttentionKind = 'budget' | 'dead' | 'connector' | 'approval' | 'pairing' | 'model' | 'disk' | 'task';
export type Attention = {
  id: string;
  kind: AttentionKind;
  text: string;
  count: number;
  at: number;
  href: string;
  action: string;
  detail?: string;
};

export type Agent = {
  id: string;
  name: string;
  state: 'running' | 'paused' | 'degraded' | 'failed';
  model: string;
  offline: boolean;
  platforms: Platform[];
  turnsToday: number | null;
  costToday: number | null;
  version: number | null;
  greetings: string[];
  fault?: Fault;
};
export type Character = {
  version: number;
  etag: string;
  body: Record<string, unknown>;
  savedBy: string;
  savedAt: number;
};
export type CharacterVersion = { version: number; at: number; by: string; summary: string };
export type Remark = { path: string; line?: number; level: 'error' | 'warn'; text: string };
export type Tool = {
  name: string;
  agent: string;
  origin: string;
  kind: 'plugin' | 'mcp' | 'built-in';
  text: string;
  /** The rule of the owner; empty: what the author of the tool declared counts. */
  from: '' | 'member' | 'admin' | 'owner' | 'agent-owner' | 'nobody';
  scope: string;
  ask: string;
  grant?: string;
};
export type McpServer = {
  id: string;
  name: string;
  transport: string;
  state: 'connected' | 'connecting' | 'failed' | 'off';
  tools: number;
  /** Tools that wait for approval. */
  waiting?: number;
  fault?: string;
};
export type Plugin = {
  id: string;
  name: string;
  version: string;
  agent?: string;
  text?: string;
  /** It is part of every agent and cannot be turned off. */
  fixed?: boolean;
  state: 'loaded' | 'off' | 'failed';
  provides: string;
  fault?: string;
};

export type Fact = {
  id: string;
  text: string;
  about: string;
  aboutName: string;
  kind: 'fact' | 'profile' | 'message';
  score: number | null;
  at: number;
  pinned: boolean;
  turn?: string;
  recalled: { turn: string; at: number; why: string }[];
};
export type Person = {
  id: string;
  name: string;
  identities: { platform: Platform; handle: string }[];
  roles: string[];
  lastSeen: number;
  messages: number | null;
  facts: number | null;
  blocked: boolean;
};
export type Room = {
  id: string;
  name: string;
  platform: Platform;
  kind: 'dm' | 'group';
  agent: string;
  people: number | null;
  messages: number | null;
  lastAt: number;
  muted: boolean;
};
export type Message = {
  id: string;
  clientId?: string;
  room: string;
  at: number;
  from: 'person' | 'agent';
  name: string;
  text: string;
  state: 'sending' | 'thinking' | 'streaming' | 'done' | 'failed';
  turn?: string;
  took?: number;
  tokens?: number;
  cost?: number | null;
  fault?: Fault;
  step?: string;
  attachments?: string[];
  offline?: boolean;
};

export type Document = {
  id: string;
  name: string;
  pieces: number;
  size: number;
  state: 'queued' | 'reading' | 'embedding' | 'ready' | 'failed';
  done: number;
  total: number;
  fault?: string;
  usedThisWeek: number | null;
  at: number;
  removable?: boolean;
};
export type Passage = { document: string; name: string; place: string; score: number; text: string };

export type SendState = 'gave-up' | 'waiting' | 'sending' | 'sent' | 'unsure' | 'expired';
export type Attempt = { at: number; status: string; note?: string };
export type Delivery = {
  id: string;
  at: number;
  state: SendState;
  platform: Platform;
  roomName: string;
  personName: string;
  text: string;
  cause: string;
  code: string;
  tries: number;
  maxTries: number;
  nextAt: number | null;
  attempts: Attempt[];
  turn: string;
  agentName: string;
};

export type ConnectorState = 'connected' | 'degraded' | 'down' | 'off' | 'connecting';
export type Connector = {
  id: string;
  platform: Platform;
  name: string;
  account: string;
  agent: string;
  state: ConnectorState;
  since: number;
  scope: string;
  history: ('ok' | 'degraded' | 'down' | 'unknown')[];
  problems: (Fault & { now?: string })[];
  checks: { ok: boolean; text: string }[];
  breaker: string;
  reconnects: number;
  lastEvent: number;
  bucket: { used: number; limit: number; resetAt: number } | null;
  invite?: string;
  paid?: string;
};
/** What a check of a connector found. */
export type CheckResult = { checks: { ok: boolean; text: string }[]; problems: Fault[] };
export type LoginStep =
  | {
      type: 'user_input';
      id: string;
      title: string;
      help?: string;
      fields: { id: string; label: string; secret: boolean; hint?: string; value?: string }[];
      fault?: Fault;
    }
  | { type: 'display_and_wait'; id: string; title: string; help?: string; qr?: string; code?: string }
  | { type: 'complete'; id: string; title: string; account: string; hello?: string; said?: string };

export type UsageRow = {
  id: string;
  name: string;
  cost: number | null;
  share: number;
  turns: number;
  tokens: number;
  cached: number;
};
export type Usage = {
  from: number;
  to: number;
  cost: number;
  limit: number | null;
  used: number;
  at: number[];
  series: { name: string; unit: string; values: (number | null)[] }[];
  answers: { name: string; unit: string; values: (number | null)[] }[];
  rooms: UsageRow[];
  models: UsageRow[];
  agents: UsageRow[];
  unpriced: number;
};
export type Budget = { id: string; scope: string; setting: string; percent: number };

export type Setting = {
  key: string;
  value: string | null;
  isSet: boolean;
  origin: 'env' | 'file' | 'toml' | 'character' | 'console' | 'default';
  place: string;
  secret: boolean;
  group: string;
  needsRestart: boolean;
  editable: boolean;
  text: string;
  tail?: string;
  changedAt?: number;
  choices?: string[];
  /** Agents were made anew for it. */
  restarted?: boolean;
};
export type Finding = { id: string; severity: 'bad' | 'warn' | 'ok'; subject: string; message: string; fix?: Fix };
export type Backup = { name: string; at: number; size: number };

export type Node = {
  id: string;
  name: string;
  role: string;
  version: string;
  upSince: number;
  lag: number | null;
  rooms: number | null;
  rate: number | null;
  memory: number | null;
  skew: number;
  state: 'up' | 'draining' | 'lost';
};
export type Cluster = { store: 'sqlite' | 'postgres'; nodes: Node[]; behind?: number | null };
export type LogLine = {
  seq: number;
  at: number;
  level: 'error' | 'warn' | 'info' | 'debug';
  target: string;
  text: string;
  trace?: string;
};

export type User = {
  id: string;
  name: string;
  role: Role;
  agents: string;
  lastSeen: number | null;
  state: 'active' | 'invited' | 'off';
  you: boolean;
  removable: boolean;
  why?: string;
};
export type Token = { id: string; name: string; scopes: string[]; lastUsed: number | null; createdAt: number };
export type DeviceSession = { id: string; device: string; from: string; lastSeen: number; current: boolean };
export type Change = {
  seq: number;
  at: number;
  who: string;
  what: string;
  target: string;
  before: string;
  after: string;
  from: string;
};
export type Pairing = { id: string; platform: Platform; name: string; code: string; until: number };
export type Block = { id: string; name: string; platform: Platform; kind: string; at: number; reason: string };
export type Task = {
  id: string;
  name: string;
  agent: string;
  due: number;
  repeat: string;
  state: string;
  lastError?: string;
};
export type Approval = {
  id: string;
  until: number;
  agent: string;
  action: string;
  text: string;
  personName: string;
  roomName: string;
};
export type Checklist = { platform: boolean; model: boolean; hello: boolean; dismissed: boolean };

export type LiveEvent = {
  seq: number;
  at: number;
  agent: string | null;
  kind: string;
  id: string;
  patch?: Record<string, unknown>;
};
