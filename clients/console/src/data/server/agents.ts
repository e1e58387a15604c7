// Agents and their connectors, and what needs a person.
import { t } from '../../i18n';
import { api, read } from '../client';
import type { Agent, Approval, Attention, Budget, Checklist, CheckResult, Connector, Paged, Pairing } from '../types';
import { approvals, pairings } from './access';
import { type Asked, byId, each, type Handlers, type S, shaped } from './asked';
import { signedIn } from './house';
import { budgets } from './settings';

const STATES: Record<string, Agent['state']> = { running: 'running', degraded: 'degraded', failed: 'failed' };
const HEALTH: Record<string, Connector['state']> = {
  starting: 'connecting',
  elsewhere: 'off',
  up: 'connected',
  degraded: 'degraded',
  retrying: 'down',
  down: 'down',
};
type Health = { state: string; detail?: string; reason?: string; code?: string; fix?: string };
const LOCAL = ['terminal', 'web'];
/** The responder that answers by patterns where no model is connected. */
const OFFLINE = /^(offline\/)?script$/;

export function connector(row: S['ConnectorView']): Connector {
  const made = shaped<Connector>(row, 'history');
  if (made) return made;
  const health = row.health as unknown as Health;
  const title = health.reason;
  return {
    id: `${row.source}:${row.account}`,
    platform: row.source,
    name: row.source.replace(/^./, (c) => c.toUpperCase()),
    account: health.detail ?? row.account,
    agent: row.agentName,
    state: HEALTH[health.state] ?? 'off',
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

async function connectors({ signal }: Asked): Promise<Paged<Connector>> {
  return each(await read(api.GET('/api/v1/connectors', { signal })), connector);
}

const DAY_MS = 86_400_000;

/** Agents with today's figures, and the model that answered last. */
async function agents({ signal }: Asked): Promise<Paged<Agent>> {
  const list = await read(api.GET('/api/v1/agents', { signal }));
  const made = list.items[0] && shaped<Agent>(list.items[0], 'greetings');
  if (made) return list as unknown as Paged<Agent>;
  const [all, usage, traces] = await Promise.all([
    read(api.GET('/api/v1/connectors', { signal })),
    read(api.GET('/api/v1/usage', { params: { query: { days: 1 } }, signal })),
    read(api.GET('/api/v1/traces', { params: { query: { limit: 50 } }, signal })),
  ]);
  const today = Math.floor(Date.now() / DAY_MS);
  return each(list, (row) => {
    const lines = usage.items.filter((line) => line.agent === row.id && line.day === today);
    const sum = (field: 'answers' | 'micros' | 'unpriced') => lines.reduce((n, line) => n + line[field], 0);
    const model = traces.items.find((turn) => turn.agent === row.id && turn.model)?.model ?? '';
    return {
      id: row.id,
      name: row.name,
      state: STATES[row.state] ?? 'paused',
      model,
      offline: OFFLINE.test(model),
      platforms: [...new Set(all.items.filter((c) => c.agent === row.id).map((c) => c.source))],
      turnsToday: sum('answers'),
      costToday: sum('unpriced') > 0 && sum('micros') === 0 ? null : sum('micros') / 1e6,
      version: null,
      greetings: [],
      fault: row.failure ? { code: 'GAL-AGENT', title: row.failure } : undefined,
    };
  });
}

export type Needs = {
  dead: number;
  connectors: Connector[];
  approvals: Approval[];
  pairings: Pairing[];
  budgets: Budget[];
};

/** What needs a person, ordered by harm. */
export function attentionOf(needs: Needs, now: number): Attention[] {
  const items: Attention[] = [];
  const add = (kind: Attention['kind'], count: number, text: string, href: string, action: string, detail?: string) =>
    items.push({ id: `${kind}-${items.length}`, kind, text, count, at: now, href, action, detail });
  for (const b of needs.budgets.filter((budget) => budget.percent >= 100))
    add('budget', 1, t('{scope}: the budget is used up', { scope: b.scope }), '/usage', t('Show'), b.setting);
  if (needs.dead > 0) {
    const text = t('{n, plural, one {# send} other {# sends}} gave up', { n: needs.dead });
    add('dead', needs.dead, text, '/delivery?tab=gave-up', t('Show'));
  }
  for (const c of needs.connectors) {
    const problem = c.problems[0];
    if (problem && c.state !== 'off')
      add('connector', 1, `${c.name}: ${problem.title}`, '/connectors', t('Show'), problem.code);
  }
  const waiting = needs.approvals.length;
  if (waiting > 0) {
    const text = t('{n, plural, one {# action waits} other {# actions wait}} for you', { n: waiting });
    add('approval', waiting, text, '/?approvals=1', t('Decide'));
  }
  const asking = needs.pairings.length;
  if (asking > 0) {
    const text = t('{n, plural, one {# stranger asks} other {# strangers ask}} to talk', { n: asking });
    add('pairing', asking, text, '/settings?tab=access', t('Decide'));
  }
  return items;
}

/** What only operators may read is nothing for others. */
async function operators<T>(read: () => Promise<Paged<T>>): Promise<T[]> {
  return signedIn().role === 'viewer' ? [] : (await read()).items;
}

async function attention(asked: Asked): Promise<Paged<Attention>> {
  const [counts, all, waiting, asking, limits] = await Promise.all([
    read(api.GET('/api/v1/counts', { signal: asked.signal })),
    connectors(asked),
    operators(() => approvals(asked)),
    operators(() => pairings(asked)),
    budgets(asked),
  ]);
  const dead = shaped<Record<string, number>>(counts, 'gave-up')?.['gave-up'] ?? counts.dead + counts.expired;
  const needs = {
    dead,
    connectors: all.items,
    approvals: waiting,
    pairings: asking,
    budgets: limits.items,
  };
  return { items: attentionOf(needs, Date.now()), next: null };
}

const DISMISSED = 'galatea.checklist';

/** Platform, model, hello: what a new installation lacks. */
async function checklist(asked: Asked): Promise<Checklist> {
  const [all, turns, usage] = await Promise.all([
    connectors(asked),
    read(api.GET('/api/v1/turns', { params: { query: { limit: 1 } }, signal: asked.signal })),
    read(api.GET('/api/v1/usage', { params: { query: { days: 1 } }, signal: asked.signal })),
  ]);
  return {
    platform: all.items.some((c) => !LOCAL.includes(c.platform) && c.state === 'connected'),
    model: usage.items?.some((line) => line.calls > 0) ?? true,
    hello: turns.items.length > 0,
    dismissed: localStorage.getItem(DISMISSED) === 'dismissed',
  };
}

async function dismiss(): Promise<void> {
  localStorage.setItem(DISMISSED, 'dismissed');
}

const byName = (asked: Asked) => ({ params: { path: { name: asked.args[0] ?? '' } }, signal: asked.signal });

/** A check of a connector: what was found, as problems and passed checks. */
async function check(asked: Asked): Promise<CheckResult> {
  const found = await read(api.POST('/api/v1/connectors/{name}/check', { ...byName(asked), body: { pay: false } }));
  const made = shaped<CheckResult>(found, 'checks');
  if (made) return made;
  const rows = found.items;
  return {
    checks: rows
      .filter((f) => f.severity === 'ok' || f.severity === 'info')
      .map((f) => ({ ok: true, text: f.message })),
    problems: rows
      .filter((f) => f.severity === 'warning' || f.severity === 'error')
      .map((f) => ({
        code: f.id,
        title: f.message,
        cause: f.cause ?? undefined,
        fix: f.repair ? { label: f.repair, action: f.id } : f.fix ? { label: f.fix } : undefined,
      })),
  };
}

function repair(asked: Asked) {
  const { action } = asked.body as { action: string };
  return read(api.POST('/api/v1/connectors/{name}/fix', { ...byName(asked), body: { finding: action } }));
}

export const AGENTS: Handlers = {
  'GET agents': agents,
  'POST agents/:id/start': (asked) => read(api.POST('/api/v1/agents/{id}/start', byId(asked))),
  'POST agents/:id/stop': (asked) => read(api.POST('/api/v1/agents/{id}/stop', byId(asked))),
  'GET connectors': connectors,
  'POST connectors/:name/check': check,
  'POST connectors/:name/fix': repair,
  'POST connectors/:name/reconnect': (asked) => read(api.POST('/api/v1/connectors/{name}/reconnect', byName(asked))),
  'GET attention': attention,
  'GET checklist': checklist,
  'POST checklist/dismiss': dismiss,
};
