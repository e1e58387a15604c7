// Steps of a turn from its times and the sends of its answer, where the server keeps no trace.
import type { Step } from './types';

type Row = Record<string, unknown>;
const number = (value: unknown): number => (typeof value === 'number' ? value : 0);

/** Received, judged, answered, sent: flat, with offsets from the arrival. */
export function step(turn: Row, parts: Row[]): Step[] {
  const from = number(turn.receivedAt);
  const finished = turn.finishedAt === undefined ? null : number(turn.finishedAt);
  const verdict = turn.verdict as { decision?: string } | undefined;
  const steps: Step[] = [
    { n: 0, depth: 0, kind: 'receive', name: String(turn.source ?? ''), offset: 0, width: 1, state: 'ok' },
  ];
  const add = (next: Omit<Step, 'n' | 'depth'>) => steps.push({ n: steps.length, depth: 0, ...next });
  if (verdict?.decision === 'skip')
    add({
      kind: 'gate',
      name: verdict.decision,
      offset: 1,
      width: finished === null ? null : Math.max(1, finished - from),
      state: 'ok',
    });
  else
    add({
      kind: 'model',
      name: '',
      offset: 1,
      width: finished === null ? null : Math.max(1, finished - from),
      state: turn.state === 'dead' ? 'bad' : 'ok',
    });
  for (const part of parts) {
    const at = Math.max(1, number(part.createdAt) - from);
    const state = String(part.state);
    add({
      kind: 'send',
      name: `${String(part.source)} #${number(part.part) + 1}`,
      note: typeof part.error === 'string' ? part.error : undefined,
      offset: at,
      width: state === 'pending' || state === 'sending' ? null : 1,
      state: state === 'dead' || state === 'expired' ? 'bad' : 'ok',
    });
  }
  return steps;
}
