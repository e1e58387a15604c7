// The namespace /live: who may read, kinds, and going on after a number.
import assert from 'node:assert/strict';
import { io } from 'socket.io-client';

const { URL: url, KEY: key, AGENT: agent, ADA: ada } = process.env;
const within = (promise, what) =>
  Promise.race([
    promise,
    new Promise((_, reject) => setTimeout(() => reject(new Error(`no ${what}`)), 20_000).unref()),
  ]);
const open = (auth) => io(`${url}/live`, { auth, transports: ['websocket'], forceNew: true, reconnection: false });
const say = async (text) => {
  const job = await fetch(`${url}/api/messaging/jobs`, {
    method: 'POST',
    headers: { 'X-API-KEY': key, 'Content-Type': 'application/json' },
    body: JSON.stringify({ userId: ada, agentId: agent, content: text }),
  });
  assert.equal(job.status, 201);
};

const stranger = open({});
const [refusal] = await within(new Promise((resolve) => stranger.on('connect_error', (e) => resolve([e.message]))), 'refusal');
assert.equal(refusal, 'Invalid or missing API Key');

const socket = open({ token: key, kinds: ['message_sent', 'message_decided'] });
const seen = [];
socket.on('event', (event) => seen.push(event));
await within(new Promise((resolve) => socket.on('subscribed', resolve)), 'subscription');
await say('Q1, please');
const some = async (count, list) => {
  while (list.length < count) await new Promise((resolve) => setTimeout(resolve, 20));
};
await within(some(2, seen), 'two events');
assert.deepEqual(seen.map((event) => event.kind), ['message_sent', 'message_decided']);
for (const event of seen) {
  assert.equal(event.agent, agent);
  for (const key of ['seq', 'at']) assert.equal(typeof event[key], 'number');
  assert.equal(typeof event.id, 'string');
  assert.ok(!JSON.stringify(event).includes('A1'), 'ids and figures only');
}
socket.close();

await say('Q2, please');
await new Promise((resolve) => setTimeout(resolve, 1_000));
const back = open({ token: key });
const replayed = [];
back.on('event', (event) => replayed.push(event));
await within(new Promise((resolve) => back.on('connect', resolve)), 'connection');
back.emit('subscribe', { after: seen[0].seq, kinds: ['message_sent', 'message_decided'] });
await within(some(3, replayed), 'what was missed');
assert.deepEqual(replayed.map((event) => event.kind), ['message_decided', 'message_sent', 'message_decided']);
assert.equal(replayed[0].seq, seen[1].seq, 'nothing twice');
assert.ok(replayed.every((event, n) => n === 0 || event.seq > replayed[n - 1].seq), 'in order');
back.emit('subscribe', { kinds: 'all' });
const wrong = await within(new Promise((resolve) => back.on('refused', resolve)), 'refusal');
assert.match(wrong.error, /^kinds/);
console.log('live: all held');
process.exit(0);
