// The example of the README as it stands there; live events after a restart; refusals; no program.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
// @ts-expect-error The module is plain JavaScript, shared with the console's scripts.
import { startProgram } from '../../../scripts/program.mjs';
import { createGalatea, Problem, splitEvents } from '../src/index.js';
import { binary, end, skip, world } from './world.js';

const ROOT = new URL('../../', import.meta.url);
const EXAMPLE = fileURLToPath(new URL('example/why.mjs', ROOT));

test('the README shows the example as it is', () => {
  const readme = readFileSync(new URL('README.md', ROOT), 'utf8');
  assert.ok(readme.includes(readFileSync(EXAMPLE, 'utf8')), 'copy example/why.mjs into the README');
});

test('the example says why messages were answered', { skip }, async () => {
  const here = await world();
  try {
    const env = { ...process.env, GALATEA_URL: here.program.url, GALATEA_TOKEN: here.token };
    const { stdout } = await promisify(execFile)(process.execPath, [EXAMPLE], { env, timeout: 20_000 });
    assert.match(stdout, /terminal “hello there” answer: direct messages are open to everyone/);
  } finally {
    await end(here);
  }
});

test('live events go on after a restart, none lost, none twice', { skip }, async () => {
  const here = await world();
  const { program, galatea } = here;
  const control = new AbortController();
  const seen: string[] = [];
  const states: string[] = [];
  const port = Number(new URL(program.url).port);
  let again = program;
  try {
    const reading = (async () => {
      const options = { after: 0, kinds: ['turn_finished' as const], signal: control.signal };
      for await (const event of galatea.events({ ...options, onState: (state) => states.push(state) })) {
        if (event.kind === 'turn_finished') seen.push(event.data.turn);
        if (seen.length === 4) control.abort();
      }
    })();
    await program.say('and the moon?', 'jo');
    await program.stop('SIGKILL');
    again = await startProgram(binary ?? '', { folder: program.folder, port });
    await again.say('are you there?', 'jo');
    await reading;
  } finally {
    control.abort();
    await again.stop();
    program.remove();
  }
  assert.equal(new Set(seen).size, 4);
  assert.ok(states.includes('reconnecting'));
});

test('a stream that is refused ends the iteration with the reason', async () => {
  const body = JSON.stringify({ title: 'Unauthorized', status: 401, detail: 'nobody is signed in', code: 'GAL-AUTH' });
  const fetch = async () => new Response(body, { status: 401 });
  const following = createGalatea({ url: 'http://127.0.0.1:1', fetch }).events();
  await assert.rejects(following.next(), { status: 401, code: 'GAL-AUTH', message: 'Nobody is signed in' });
});

test('a stream resumes after the last number and drops what it has seen', async () => {
  const asked: string[] = [];
  const row = (seq: number) => `id: ${seq}\ndata: ${JSON.stringify({ seq, at: 1, kind: 'turn_failed', data: {} })}\n\n`;
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(asked.length === 1 ? row(7) + row(8) : row(8) + row(9));
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  const seen: number[] = [];
  const control = new AbortController();
  for await (const event of createGalatea({ url: `http://127.0.0.1:${port}` }).events({ signal: control.signal })) {
    seen.push(event.seq);
    if (event.seq === 9) control.abort();
  }
  server.closeAllConnections();
  server.close();
  assert.deepEqual(seen, [7, 8, 9]);
  assert.deepEqual(asked, ['/api/v1/events', '/api/v1/events?after=8']);
});

test('a program that cannot be reached is a problem with its address', async () => {
  const answer = createGalatea({ url: 'http://127.0.0.1:1' }).api.GET('/api/v1/agents');
  await assert.rejects(
    answer,
    (error) => error instanceof Problem && error.status === 0 && /127.0.0.1:1/.test(error.message),
  );
});

test('an answer that does not come in time is a problem', async () => {
  const server = createServer(() => {}).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  const answer = createGalatea({ url: `http://127.0.0.1:${port}`, deadline: 50 }).api.GET('/api/v1/agents');
  await assert.rejects(answer, (error) => error instanceof Problem && error.code === 'GAL-UNREACHABLE');
  server.closeAllConnections();
  server.close();
});

test('events are split at empty lines, whole ones only', () => {
  const { events, tail } = splitEvents(
    'retry: 2000\n\nid: 3\nevent: a\ndata: {"x":1}\n\n: hm\n\ndata: b\ndata: c\n\nid: 4',
  );
  assert.deepEqual(events, [
    { event: 'a', id: '3', data: '{"x":1}' },
    { event: 'message', id: undefined, data: 'b\nc' },
  ]);
  assert.equal(tail, 'id: 4');
});
