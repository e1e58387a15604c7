// Requests, server-sent events, and what live events read again.
import { readFileSync } from 'node:fs';
import { afterEach, beforeAll, expect, it, vi } from 'vitest';
import type { Message } from '../src/data';
import { call, faultOf, type Heard, neededRole, Problem } from '../src/data';
import { changedPaths } from '../src/data/hooks';
import { activate } from '../src/i18n';
import { hear } from '../src/views/chat';

const KINDS = [...readFileSync('../typescript/src/generated/events.ts', 'utf8').matchAll(/^ {2}(\w+): /gm)].map(
  ([, kind]) => kind ?? '',
);

beforeAll(() => activate('en'));
afterEach(() => vi.unstubAllGlobals());

it('leaves empty parameters away', async () => {
  const asked: string[] = [];
  vi.stubGlobal('fetch', async (request: Request) => {
    asked.push(new URL(request.url).pathname + new URL(request.url).search);
    return new Response(JSON.stringify({ items: [] }));
  });
  await call('GET', 'turns', undefined, { params: { verdict: 'failed', room: undefined, q: '', before: null } });
  expect(asked).toEqual(['/api/v1/turns?state=dead']);
});

it('reads problem details with code, cause and fix', async () => {
  vi.stubGlobal(
    'fetch',
    async () =>
      new Response(
        JSON.stringify({
          code: 'GAL-STORE',
          title: 'The database does not answer.',
          detail: 'locked',
          fix: 'Stop the other process.',
        }),
        { status: 500 },
      ),
  );
  const error = await call('GET', 'turns').catch((e: Problem) => e);
  expect(error).toBeInstanceOf(Problem);
  expect(faultOf(error as Problem)).toEqual({
    code: 'GAL-STORE',
    title: 'The database does not answer.',
    cause: 'locked',
    fix: { label: 'Stop the other process.' },
  });
});

it('names a server that cannot be reached', async () => {
  vi.stubGlobal('fetch', async () => Promise.reject(new TypeError('failed')));
  await expect(call('GET', 'turns')).rejects.toMatchObject({ status: 0, code: 'GAL-UNREACHABLE' });
});

it('sends an idempotency key with each POST, never the same twice', async () => {
  const keys: string[] = [];
  vi.stubGlobal('fetch', async (request: Request) => {
    keys.push(request.headers.get('idempotency-key') ?? '');
    return new Response(null, { status: 204 });
  });
  await call('POST', 'outbox/1/retry');
  await call('POST', 'outbox/1/retry');
  expect(keys[0]).not.toBe('');
  expect(keys[0]).not.toBe(keys[1]);
});

it('names the role that a refusal needs', () => {
  expect(neededRole(new Problem(403, 'GAL-ROLE', 'Needs owner; you are viewer.'))).toBe('owner');
  expect(neededRole(new Problem(403, 'GAL-ROLE', 'Needs operator; you are owner of nothing.'))).toBe('operator');
});

it('shows an answer by its events: draft, parts, silence', () => {
  const row = (id: string, from: Message['from'], state: Message['state']): Message => ({
    id,
    room: 'new',
    at: 100,
    from,
    name: 'x',
    text: from === 'person' ? 'hi' : '',
    state,
  });
  const start = [row('mine', 'person', 'sending'), row('theirs', 'agent', 'thinking')];
  const after = (...heard: Heard[]) => heard.reduce((rows, next) => hear(rows, next, 'mine', 'theirs'), start);
  const accepted: Heard = { event: 'accepted', id: 'm1', room: 'r1' };
  const part = (text: string, memory: string): Heard => ({
    event: 'message',
    id: text,
    memory,
    turn: 't',
    text,
    at: 900,
  });
  expect(after(accepted, { event: 'draft', turn: 't', text: 'He' })).toMatchObject([
    { id: 'm1', state: 'done', room: 'r1' },
    { state: 'streaming', text: 'He', turn: 'm1' },
  ]);
  const rows = after(accepted, { event: 'draft', turn: 't', text: 'He' }, part('Hello', 'a1'), part('again', 'a1'));
  expect(rows).toMatchObject([
    { id: 'm1' },
    { id: 'a1', state: 'done', text: 'Hello\n\nagain', took: 800, turn: 'm1' },
  ]);
  expect(after(accepted, part('one', 'a1'), part('two', 'a2')).map((m) => m.text)).toEqual(['hi', 'one', 'two']);
  expect(after(accepted, { event: 'silent', decision: 'skip', reason: 'muted' })[1]).toMatchObject({ state: 'done' });
  expect(after(accepted, { event: 'silent', decision: 'failed', reason: 'no key' })[1]).toMatchObject({
    state: 'failed',
    fault: { title: 'no key' },
  });
});

it('reads the lists of an event again, each once', () => {
  expect(changedPaths(['delivery_sent', 'delivery_failed', 'breaker_changed'])).toEqual([
    'outbox',
    'counts',
    'attention',
    'turns',
    'connectors',
  ]);
  // A kind without lists would leave views as they were.
  for (const kind of KINDS) expect(changedPaths([kind]), kind).not.toEqual([]);
  expect(changedPaths(['unknown'])).toEqual([]);
});
