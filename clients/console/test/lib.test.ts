// Texts of times and money, differences, filters, keys, places in JSON.
import { beforeAll, expect, it } from 'vitest';
import { activate } from '../src/i18n';
import { differences } from '../src/lib/diff';
import { fits } from '../src/lib/filters';
import { ago, bytes, money, span, until } from '../src/lib/format';
import { keyName, typing } from '../src/lib/keys';
import { viewOf } from '../src/lib/views';
import { lineOf, parse } from '../src/views/editor';

beforeAll(() => activate('en'));

it('writes money as the guide says', () => {
  expect([money(0.0004), money(0.00002), money(0), money(0, true), money(1.838), money(null)]).toEqual([
    '$0.0004',
    '<$0.0001',
    '$0',
    '$0 local',
    '$1.84',
    '–',
  ]);
});

it('writes durations with their unit', () => {
  expect([span(57), span(1940), span(24_300), span(124_000), span(11_460_000)]).toEqual([
    '57 ms',
    '1.94 s',
    '24.3 s',
    '2 min 4 s',
    '3 h 11 min',
  ]);
  expect(until(42_000, 0)).toBe('0:42');
  expect(until(3_723_000, 0)).toBe('1:02:03');
  expect(bytes(18_400_000)).toBe('18.4 MB');
});

it('is relative under an hour only', () => {
  expect(ago(0, 59_000)).toBe('59 s ago');
  expect(ago(0, 30 * 60_000)).toBe('30 min ago');
  expect(ago(0, 5 * 86_400_000)).not.toContain('ago');
});

it('finds differences by path', () => {
  expect(
    differences(
      { style: { all: ['be brief'] }, name: 'a' },
      { style: { all: ['be brief, warm'] }, name: 'a', bio: 'x' },
    ),
  ).toEqual([
    { path: 'style.all[0]', before: 'be brief', after: 'be brief, warm' },
    { path: 'bio', before: undefined, after: 'x' },
  ]);
});

it('filters by all words, in any text', () => {
  expect(fits('order cancel', 'please cancel order 4411', undefined)).toBe(true);
  expect(fits('order refund', 'please cancel order 4411')).toBe(false);
});

it('reads a prefix key once and leaves shortcuts of the browser alone', () => {
  const key = (name: string, init: KeyboardEventInit = {}) => new KeyboardEvent('keydown', { key: name, ...init });
  expect(keyName(key('g'), 1000)).toBe('');
  expect(keyName(key('t'), 1200)).toBe('g t');
  expect(keyName(key('t'), 1300)).toBe('t');
  expect(keyName(key('g'), 2000)).toBe('');
  expect(keyName(key('t'), 9000)).toBe('t');
  expect(keyName(key('r', { ctrlKey: true }), 9000)).toBe('');
  expect(keyName(key('k', { metaKey: true }), 9000)).toBe('mod k');
});

it('knows fields that take text', () => {
  expect(typing(document.createElement('textarea'))).toBe(true);
  expect(typing(document.createElement('button'))).toBe(false);
});

it('knows the view of an address', () => {
  expect(viewOf('/traces/01JX')?.id).toBe('traces');
  expect(viewOf('/')?.id).toBe('live');
  expect(viewOf('/nowhere')).toBeUndefined();
});

it('names the line of a fault in JSON, and of a path', () => {
  expect(parse('{\n "name": }').fault).toMatch(/^line 2:/);
  expect(parse('[]').fault).toMatch(/^line 1:/);
  expect(parse('{"name":"a"}').body).toEqual({ name: 'a' });
  expect(lineOf(JSON.stringify({ name: 'a', style: { all: ['x', 'y', 'z'] } }, null, 2), 'style.all[2]')).toBe(7);
});
