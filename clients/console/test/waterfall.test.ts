// Axis and folding of a trace.
import { expect, it } from 'vitest';
import type { Step } from '../src/data/types';
import { axis, endOf, placeOf, visible } from '../src/lib/waterfall';

const step = (n: number, kind: Step['kind'], offset: number, width: number | null, depth = 0): Step => ({
  n,
  depth,
  kind,
  name: '',
  offset,
  width,
  state: 'ok',
});

it('keeps a linear axis while waits are short', () => {
  const scale = axis([step(0, 'receive', 0, 100), step(1, 'model', 100, 900)], 0);
  expect(scale.pieces).toHaveLength(1);
  expect(placeOf(scale, 500)).toBeCloseTo(0.5);
});

it('folds a wait of hours, so that the work around it stays readable', () => {
  const scale = axis(
    [step(0, 'model', 0, 1000), step(1, 'wait', 1000, 3_600_000), step(2, 'send', 3_601_000, 1000)],
    0,
  );
  const folded = scale.pieces.filter((piece) => piece.folded);
  expect(folded).toHaveLength(1);
  expect(folded[0]?.size).toBeCloseTo(0.06);
  expect(placeOf(scale, 1000)).toBeCloseTo(0.47);
  expect(placeOf(scale, 3_602_000)).toBeCloseTo(1);
});

it('does not fold a call of a model, however long it takes', () => {
  expect(axis([step(0, 'model', 0, 60_000), step(1, 'send', 60_000, 10)], 0).pieces.some((piece) => piece.folded)).toBe(
    false,
  );
});

it('lets an open step grow with the clock', () => {
  const open = step(0, 'model', 100, null);
  expect(endOf(open, 400)).toBe(400);
  expect(endOf(open, 900)).toBe(900);
  expect(endOf(open, 50)).toBe(100);
});

it('hides the steps below a folded one and no others', () => {
  const steps = [
    step(0, 'provider', 0, 1),
    step(1, 'provider', 0, 1, 1),
    step(2, 'provider', 0, 1, 2),
    step(3, 'model', 0, 1),
  ];
  expect(visible(steps, new Set([0])).map((s) => s.n)).toEqual([0, 3]);
  expect(visible(steps, new Set([1])).map((s) => s.n)).toEqual([0, 1, 3]);
  expect(visible(steps, new Set())).toHaveLength(4);
});
