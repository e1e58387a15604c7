// Messages with what was decided about them.
import { api, read } from '../client';
import type { Turn, TurnDetail } from '../types';
import { type Asked, byId, each, type Handlers, number, type S, shaped, text } from './asked';
import { agentName, personName, roomName } from './names';
import { step } from './steps';

const STATES: Record<string, Turn['verdict']> = {
  new: 'running',
  done: 'replied',
  skipped: 'ignored',
  expired: 'failed',
  dead: 'failed',
};
/** The server's states by the words of the view. */
export const VERDICT_STATES: Record<string, string> = {
  replied: 'done',
  ignored: 'skipped',
  failed: 'dead',
  running: 'new',
};
/** Outcomes that decide; `pass` and `note` do not. */
const DECIDES = ['answer', 'skip', 'failed'];

/** The place of the step that decided, among the steps of a decision. */
export function deciding(verdict: S['VerdictView']): number {
  const at = verdict.steps.findLastIndex((s) => DECIDES.includes(s.outcome));
  return at < 0 ? verdict.steps.length - 1 : at;
}

export async function turn(row: S['TurnView']): Promise<Turn> {
  const made = shaped<Turn>(row, 'personName');
  if (made) return made;
  const verdict = row.verdict ?? undefined;
  const state = verdict?.decision === 'skip' ? 'ignored' : (STATES[row.state] ?? 'running');
  const last = verdict?.steps[deciding(verdict)];
  const [agent, room, person] = await Promise.all([agentName(row.agent), roomName(row.room), personName(row.person)]);
  return {
    id: row.id,
    seq: row.receivedAt,
    at: row.at,
    agent: row.agent,
    agentName: agent,
    platform: row.source,
    room: row.room,
    roomName: room,
    person: row.person,
    personName: person,
    text: row.text,
    verdict: state,
    reason: state === 'replied' || state === 'running' ? undefined : last?.reason || last?.rule || row.state,
    took: row.finishedAt ? row.finishedAt - row.receivedAt : undefined,
    cost: null,
    tokens: 0,
  };
}

async function turns(asked: Asked) {
  const verdict = text(asked, 'verdict');
  const query = {
    agent: text(asked, 'agent'),
    room: text(asked, 'room'),
    source: text(asked, 'platform'),
    state: verdict && (VERDICT_STATES[verdict] ?? verdict),
    before: text(asked, 'before'),
    limit: number(asked, 'limit'),
  };
  return each(await read(api.GET('/api/v1/turns', { params: { query }, signal: asked.signal })), turn);
}

async function detail(asked: Asked): Promise<TurnDetail> {
  const found = await read(api.GET('/api/v1/turns/{id}', byId(asked)));
  const made = shaped<TurnDetail>(found, 'stepsTotal');
  if (made) return made;
  const row = found.turn;
  const verdict = row.verdict ?? undefined;
  const base = await turn(row);
  const steps = step(row, found.parts);
  const bad = steps.findLast((s) => s.state === 'bad');
  return {
    ...base,
    waited: 0,
    tokensIn: 0,
    tokensOut: 0,
    cached: 0,
    steps,
    stepsTotal: steps.length,
    rules: verdict?.steps.map((s, i) => ({
      name: s.rule,
      text: s.reason,
      decided: i === deciding(verdict),
    })),
    advice: verdict?.change ? `${verdict.change.setting}=${verdict.change.value}` : undefined,
    failing: base.verdict === 'failed' && bad ? { step: bad.n, cause: bad.note ?? '', code: 'GAL-TURN' } : undefined,
  };
}

export const TURNS: Handlers = { 'GET turns': turns, 'GET turns/:id': detail };
