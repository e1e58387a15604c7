// Layout of a trace: offsets to a folded axis, folding of subtrees, growth of open steps.
import type { Step } from '../data';

export const FOLD_SHARE = 0.4;
/** Shorter waits stay: folding them hides nothing that matters. */
export const FOLD_MIN_MS = 1000;
const FOLDED_SHARE = 0.06;

export type Piece = { from: number; to: number; at: number; size: number; folded: boolean };
export type Axis = { total: number; pieces: Piece[] };

/** End of a step; an open one ends now. */
export function endOf(step: Step, now: number): number {
  return step.offset + (step.width ?? Math.max(0, now - step.offset));
}

const idle = (step: Step) => step.kind === 'wait' || step.kind === 'backoff';

/** The axis of a trace. A wait that takes more than 40 % of the time is folded to 6 %. */
export function axis(steps: Step[], now: number): Axis {
  const total = Math.max(1, ...steps.map((step) => endOf(step, now)));
  const long = steps
    .filter((step) => idle(step) && endOf(step, now) - step.offset > Math.max(FOLD_MIN_MS, FOLD_SHARE * total))
    .map((step) => ({ from: step.offset, to: endOf(step, now) }))
    .sort((a, b) => a.from - b.from);
  const cuts: { from: number; to: number; folded: boolean }[] = [];
  let at = 0;
  for (const wait of long) {
    if (wait.from < at) continue;
    if (wait.from > at) cuts.push({ from: at, to: wait.from, folded: false });
    cuts.push({ ...wait, folded: true });
    at = wait.to;
  }
  if (at < total) cuts.push({ from: at, to: total, folded: false });
  const folds = cuts.filter((cut) => cut.folded).length;
  const open = cuts.filter((cut) => !cut.folded).reduce((sum, cut) => sum + cut.to - cut.from, 0);
  const room = 1 - folds * FOLDED_SHARE;
  let place = 0;
  const pieces = cuts.map((cut) => {
    const size = cut.folded ? (open > 0 ? FOLDED_SHARE : 1 / folds) : (room * (cut.to - cut.from)) / Math.max(1, open);
    const piece = { ...cut, at: place, size };
    place += size;
    return piece;
  });
  return { total, pieces };
}

/** Place of a time on the axis, between 0 and 1. */
export function placeOf(scale: Axis, time: number): number {
  for (const piece of scale.pieces) {
    if (time <= piece.to) {
      const share = piece.to > piece.from ? (time - piece.from) / (piece.to - piece.from) : 0;
      return piece.at + Math.max(0, share) * piece.size;
    }
  }
  return 1;
}

/** Steps that are shown when some are folded: those below a folded one are hidden. */
export function visible(steps: Step[], folded: Set<number>): Step[] {
  const out: Step[] = [];
  let hide = Number.POSITIVE_INFINITY;
  for (const step of steps) {
    if (step.depth > hide) continue;
    hide = Number.POSITIVE_INFINITY;
    out.push(step);
    if (folded.has(step.n)) hide = step.depth;
  }
  return out;
}
