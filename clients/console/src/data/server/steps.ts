// Steps of a turn from its times and the sends of its answer, where no trace of it is kept.
import type { Step } from '../types';
import type { S } from './asked';

/** Received, judged, answered, sent: flat, with offsets from the arrival. */
export function step(turn: S['TurnView'], parts: S['DeliveryView'][]): Step[] {
  const from = turn.receivedAt;
  const width = turn.finishedAt ? Math.max(1, turn.finishedAt - from) : null;
  const steps: Step[] = [{ n: 0, depth: 0, kind: 'receive', name: turn.source, offset: 0, width: 1, state: 'ok' }];
  const add = (next: Omit<Step, 'n' | 'depth'>) => steps.push({ n: steps.length, depth: 0, ...next });
  if (turn.verdict?.decision === 'skip') add({ kind: 'gate', name: 'skip', offset: 1, width, state: 'ok' });
  else add({ kind: 'model', name: '', offset: 1, width, state: turn.state === 'dead' ? 'bad' : 'ok' });
  for (const part of parts) {
    const open = part.state === 'pending' || part.state === 'sending';
    add({
      kind: 'send',
      name: `${part.source} #${part.part + 1}`,
      note: part.error ?? undefined,
      offset: Math.max(1, part.createdAt - from),
      width: open ? null : 1,
      state: part.state === 'dead' || part.state === 'expired' ? 'bad' : 'ok',
    });
  }
  return steps;
}
