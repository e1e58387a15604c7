// Requests, server-sent events, and what live events read again.
import { afterEach, expect, it, vi } from 'vitest';
import { changedPaths } from '../src/data/hooks';
import { address, call, Problem, parseEvents } from '../src/data/http';

afterEach(() => vi.unstubAllGlobals());

it('leaves empty parameters away', () => {
  expect(address('turns', { verdict: 'failed', room: undefined, q: '', before: null })).toBe(
    '/api/v1/turns?verdict=failed',
  );
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
  expect((error as Problem).fault).toEqual({
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
  vi.stubGlobal('fetch', async (_url: string, init: RequestInit) => {
    keys.push((init.headers as Record<string, string>)['idempotency-key'] ?? '');
    return new Response(null, { status: 204 });
  });
  await call('POST', 'outbox/1/retry');
  await call('POST', 'outbox/1/retry');
  expect(keys[0]).not.toBe('');
  expect(keys[0]).not.toBe(keys[1]);
});

it('splits whole events off a stream and keeps the tail', () => {
  const { events, tail } = parseEvents(
    'event: draft\ndata: {"text":"a"}\n\n: comment\n\nevent: done\ndata: {"id":1}\n\nevent: dr',
  );
  expect(events).toEqual([
    ['draft', { text: 'a' }],
    ['done', { id: 1 }],
  ]);
  expect(tail).toBe('event: dr');
});

it('reads the lists of an event again, each once', () => {
  expect(changedPaths(['turn_finished', 'turn.step', 'outbox.changed'])).toEqual([
    'turns',
    'attention',
    'checklist',
    'outbox',
  ]);
  expect(changedPaths(['unknown'])).toEqual([]);
});
