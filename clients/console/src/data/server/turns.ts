// Turns with their traces. The views read them in the server's own shape.
import { api, read } from '../client';
import type { StepBody, Turn, TurnDetail } from '../types';
import { type Asked, byId, each, type Handlers, number, type S, text } from './asked';

/** A turn of a list. Rows come newest first; `seq` orders what arrived by its time. */
export function turn(row: S['TraceSummary']): Turn {
  return {
    ...row,
    seq: (row as { seq?: number }).seq ?? row.at,
    verdict: row.verdict as Turn['verdict'],
    cost: row.cost ?? null,
    reason: row.reason ?? undefined,
    took: row.took ?? undefined,
    model: row.model ?? undefined,
  };
}

async function turns(asked: Asked) {
  const query = {
    agent: text(asked, 'agent'),
    room: text(asked, 'room'),
    source: text(asked, 'platform'),
    verdict: text(asked, 'verdict'),
    before: text(asked, 'before'),
    limit: number(asked, 'limit'),
  };
  return each(await read(api.GET('/api/v1/traces', { params: { query }, signal: asked.signal })), turn);
}

async function detail(asked: Asked): Promise<TurnDetail> {
  const found = await read(api.GET('/api/v1/turns/{id}/trace', byId(asked)));
  return { ...found, ...turn(found) } as TurnDetail;
}

async function body(asked: Asked): Promise<StepBody> {
  const [id = '', n = '0'] = asked.args;
  const path = { id, n: Number(n) };
  const found = await read(api.GET('/api/v1/turns/{id}/steps/{n}', { params: { path }, signal: asked.signal }));
  return found as unknown as StepBody;
}

export const TURNS: Handlers = {
  'GET turns': turns,
  'GET turns/:id': detail,
  'GET turns/:id/steps/:n': body,
  'POST turns/:id/dry-run': (asked) => read(api.POST('/api/v1/turns/{id}/dry-run', byId(asked))),
};
