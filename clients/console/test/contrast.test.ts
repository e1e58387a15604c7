// Contrast of every pair of tokens that text uses, computed from the token file.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const css = readFileSync(new URL('../src/style/tokens.css', import.meta.url), 'utf8');
const tokens = Object.fromEntries(
  [...css.matchAll(/--([\w-]+):\s*light-dark\((#\w{6}),\s*(#\w{6})\)/g)].map((m) => [
    m[1] ?? '',
    [m[2] ?? '', m[3] ?? ''],
  ]),
);

function luminance(hex: string): number {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((i) => {
    const c = Number.parseInt(hex.slice(i, i + 2), 16) / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

export function contrast(a: string, b: string): number {
  const [high = 0, low = 0] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (high + 0.05) / (low + 0.05);
}

const TEXT = ['text', 'text-2', 'text-3', 'accent', 'ok', 'warn', 'bad', 'info', 'plum'];
const SOFT = ['accent', 'ok', 'warn', 'bad', 'info', 'plum'];

describe.each([
  ['light', 0],
  ['dark', 1],
] as const)('%s theme', (_name, theme) => {
  const of = (name: string) => tokens[name]?.[theme] ?? '';
  it('has readable text on every ground', () => {
    for (const text of TEXT)
      for (const ground of ['bg', 'surface'])
        expect(contrast(of(text), of(ground)), `${text} on ${ground}`).toBeGreaterThanOrEqual(4.5);
    for (const text of ['text', 'text-2'])
      expect(contrast(of(text), of('sunken')), `${text} on sunken`).toBeGreaterThanOrEqual(4.5);
    for (const tone of SOFT) {
      expect(contrast(of(tone), of(`${tone}-soft`)), `${tone} on its soft`).toBeGreaterThanOrEqual(4.5);
      expect(contrast(of('text'), of(`${tone}-soft`)), `text on ${tone}-soft`).toBeGreaterThanOrEqual(4.5);
    }
    expect(contrast(of('text-3'), of('accent-soft'))).toBeGreaterThanOrEqual(4.5);
    expect(contrast(of('on-accent'), of('accent'))).toBeGreaterThanOrEqual(4.5);
  });
  it('has visible borders of controls', () => {
    for (const ground of ['bg', 'surface']) expect(contrast(of('edge'), of(ground))).toBeGreaterThanOrEqual(3);
  });
});
