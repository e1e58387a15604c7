// Agents and their connectors, and what needs a person.
import { t } from '../../i18n';
import { api, read } from '../client';
import type { Agent, Attention, Block, Checklist, Connector, Paged } from '../types';
import { type Asked, byId, each, type Handlers, type S, shaped } from './asked';

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

async function agents({ signal }: Asked): Promise<Paged<Agent>> {
  const list = await read(api.GET('/api/v1/agents', { signal }));
  const made = list.items[0] && shaped<Agent>(list.items[0], 'greetings');
  if (made) return list as unknown as Paged<Agent>;
  const all = await read(api.GET('/api/v1/connectors', { signal }));
  return each(list, (row) => ({
    id: row.id,
    name: row.name,
    state: STATES[row.state] ?? 'paused',
    model: '',
    offline: false,
    platforms: [...new Set(all.items.filter((c) => c.agent === row.id).map((c) => c.source))],
    turnsToday: null,
    costToday: null,
    version: null,
    greetings: [],
    fault: row.failure ? { code: 'GAL-AGENT', title: row.failure } : undefined,
  }));
}

/** What needs a person: sends that gave up, and connectors that do not work. */
export function attentionOf(dead: number, all: Connector[], now: number): Attention[] {
  const items: Attention[] = [];
  if (dead > 0) {
    const text = t('{n, plural, one {# send} other {# sends}} gave up', { n: dead });
    const href = '/delivery?tab=gave-up';
    items.push({ id: 'dead', kind: 'dead', text, count: dead, at: now, href, action: t('Show') });
  }
  for (const c of all) {
    const problem = c.problems[0];
    if (!problem || c.state === 'off') continue;
    items.push({
      id: c.id,
      kind: 'connector',
      text: `${c.name}: ${problem.title}`,
      count: 1,
      at: now,
      href: '/connectors',
      action: t('Show'),
      detail: problem.code,
    });
  }
  return items;
}

async function attention(asked: Asked): Promise<Paged<Attention>> {
  const [counts, all] = await Promise.all([
    read(api.GET('/api/v1/counts', { signal: asked.signal })),
    connectors(asked),
  ]);
  const dead = shaped<Record<string, number>>(counts, 'gave-up')?.['gave-up'] ?? counts.dead + counts.expired;
  return { items: attentionOf(dead, all.items, Date.now()), next: null };
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

async function blocks({ signal }: Asked): Promise<Paged<Block>> {
  const list = await read(api.GET('/api/v1/agents', { signal }));
  const lists = await Promise.all(
    list.items.map((agent) =>
      read(api.GET('/api/v1/agents/{id}/blocks', { params: { path: { id: agent.id } }, signal })),
    ),
  );
  const items = lists.flatMap((one) =>
    one.items.map((b) => ({
      id: `${b.source}:${b.remote}`,
      name: b.remote,
      platform: b.source,
      by: '',
      at: b.at,
      reason: b.reason,
    })),
  );
  return { items, next: null };
}

export const AGENTS: Handlers = {
  'GET agents': agents,
  'POST agents/:id/start': (asked) => read(api.POST('/api/v1/agents/{id}/start', byId(asked))),
  'POST agents/:id/stop': (asked) => read(api.POST('/api/v1/agents/{id}/stop', byId(asked))),
  'GET connectors': connectors,
  'GET attention': attention,
  'GET checklist': checklist,
  'POST checklist/dismiss': dismiss,
  'GET blocks': blocks,
};
