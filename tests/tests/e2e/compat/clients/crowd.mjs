// A thousand readers of live events, one of which stops reading: how long an event takes to all others.
import assert from 'node:assert/strict';
import { io } from 'socket.io-client';

const { URL: url, KEY: key, AGENT: agent, ADA: ada } = process.env;
const count = 1_000;
const auth = { token: key, kinds: ['message_decided'] };
const sockets = [];
for (let n = 0; n < count; n += 50) {
  const some = Array.from({ length: 50 }, () => io(`${url}/live`, { auth, transports: ['websocket'], forceNew: true }));
  await Promise.all(some.map((socket) => new Promise((resolve) => socket.on('subscribed', resolve))));
  sockets.push(...some);
}
// This one never reads again.
const stalled = sockets.pop();
stalled.io.engine.transport.ws._socket?.pause();
const delays = [];
for (const socket of sockets) socket.on('event', (event) => delays.push(Date.now() - event.at));
const rounds = 10;
for (let n = 1; n <= rounds; n += 1) {
  const job = await fetch(`${url}/api/messaging/jobs`, {
    method: 'POST',
    headers: { 'X-API-KEY': key, 'Content-Type': 'application/json' },
    body: JSON.stringify({ userId: ada, agentId: agent, content: `Q${n}, please` }),
  });
  assert.equal(job.status, 201);
  const until = Date.now() + 30_000;
  while (delays.length < n * sockets.length) {
    assert.ok(Date.now() < until, `${delays.length} of ${n * sockets.length} events arrived`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
assert.equal(delays.length, rounds * sockets.length, 'each once');
delays.sort((a, b) => a - b);
const at = (share) => delays[Math.min(delays.length - 1, Math.floor(delays.length * share))];
console.log(`${sockets.length} sockets, ${rounds} events: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, most ${delays.at(-1)} ms`);
console.log('crowd: all held');
process.exit(0);
