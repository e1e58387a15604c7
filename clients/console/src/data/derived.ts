// What the server does not keep as a list of its own, made of its other lists.
import { t } from '../i18n';
import { type Counts, connector, each, type Get, type Request } from './server';
import type { Attention, Block, Checklist, Connector, Paged } from './types';

type Agents = { items: { id: string; state: string; failure?: string }[] };
type Blocked = { source: string; remote: string; reason: string; at: number };

/** Completes a request with what the server needs to carry it out. */
export async function prepare(asked: Request, get: Get): Promise<Request> {
  const { params } = asked;
  if (asked.method !== 'GET' || asked.path !== 'memories' || params.agent || params.room || params.person) return asked;
  const agents = await get<Agents>('agents');
  return { ...asked, params: { ...params, agent: agents.items[0]?.id } };
}

const connectors = async (get: Get): Promise<Connector[]> => (await each(await get('connectors'), connector)).items;

/** What needs a person: sends that gave up, and connectors that do not work. */
export function attentionOf(counts: Partial<Counts>, all: Connector[], now: number): Attention[] {
  const dead = (counts.dead ?? 0) + (counts.expired ?? 0);
  const items: Attention[] = [];
  if (dead > 0) {
    const text = t('{n, plural, one {# send} other {# sends}} gave up', { n: dead });
    items.push({
      id: 'dead',
      kind: 'dead',
      text,
      count: dead,
      at: now,
      href: '/delivery?tab=gave-up',
      action: t('Show'),
    });
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

async function attention(get: Get): Promise<Paged<Attention>> {
  const [counts, all] = await Promise.all([get<Partial<Counts>>('counts'), connectors(get)]);
  return { items: attentionOf(counts, all, Date.now()), next: null };
}

async function checklist(get: Get): Promise<Checklist> {
  const [all, turns] = await Promise.all([connectors(get), get<{ items: unknown[] }>('turns', { limit: 1 })]);
  const local = ['terminal', 'web'];
  return {
    platform: all.some((c) => !local.includes(c.platform) && c.state === 'connected'),
    model: true,
    hello: turns.items.length > 0,
    dismissed: localStorage.getItem('galatea.checklist') === 'dismissed',
  };
}

async function blocks(get: Get): Promise<Paged<Block>> {
  const agents = await get<Agents>('agents');
  const lists = await Promise.all(agents.items.map((agent) => get<{ items: Blocked[] }>(`agents/${agent.id}/blocks`)));
  const items = lists
    .flatMap((list) => list.items)
    .map((b) => ({
      id: `${b.source}:${b.remote}`,
      name: b.remote,
      platform: b.source,
      by: '',
      at: b.at,
      reason: b.reason,
    }));
  return { items, next: null };
}

const DERIVED: Record<string, (get: Get) => Promise<unknown>> = { attention, checklist, blocks };

/** The list that stands for one that the server does not have. */
export function derivedOf(path: string) {
  return DERIVED[path];
}
