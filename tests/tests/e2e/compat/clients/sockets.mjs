// elizaOS's socket wire, in its order and fields, by npm's socket.io-client.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { io } from 'socket.io-client';

const { URL: url, KEY: key, AGENT: agent, ADA: ada } = process.env;
const server = '00000000-0000-0000-0000-000000000000';
const within = (promise, what) =>
  Promise.race([
    promise,
    new Promise((_, reject) => setTimeout(() => reject(new Error(`no ${what}`)), 20_000).unref()),
  ]);
const refused = (auth, transports) =>
  new Promise((resolve) => {
    const socket = io(url, { auth, transports, reconnection: false, forceNew: true });
    const seen = [];
    socket.onAny((event) => seen.push(event));
    socket.on('connect_error', (error) => {
      socket.close();
      resolve([error.message, seen.length]);
    });
    socket.on('connect', () => resolve(['connected', seen.length]));
  });

for (const transports of [['websocket'], ['polling'], ['polling', 'websocket']]) {
  assert.deepEqual(await within(refused({ entityId: ada }, transports), 'refusal'), ['Invalid or missing API Key', 0]);
  assert.deepEqual(await within(refused({ entityId: ada, apiKey: 'x' }, transports), 'refusal'), [
    'Invalid or missing API Key',
    0,
  ]);
  assert.deepEqual(await within(refused({ apiKey: key }, transports), 'refusal'), ['Valid entityId required', 0]);
  assert.deepEqual(await within(refused({ apiKey: key, entityId: 'ada' }, transports), 'refusal'), [
    'Valid entityId required',
    0,
  ]);

  const channel = randomUUID();
  const events = [];
  const waiting = [];
  const socket = io(url, { auth: { entityId: ada, apiKey: key }, transports, forceNew: true });
  socket.onAny((event, data) => {
    events.push([event, data]);
    for (const look of [...waiting]) look();
  });
  const until = (found, what) =>
    within(
      new Promise((resolve) => {
        const look = () => {
          const event = events.find(found);
          if (event) {
            waiting.splice(waiting.indexOf(look), 1);
            resolve(event[1]);
          }
        };
        waiting.push(look);
        look();
      }),
      what,
    );
  const other = io(url, { auth: { entityId: randomUUID(), apiKey: key }, transports, forceNew: true });
  const heard = [];
  other.on('messageBroadcast', (data) => heard.push(data));
  await within(new Promise((resolve) => other.on('connection_established', resolve)), 'connection');
  const joined = new Promise((resolve) => other.on('channel_joined', resolve));
  other.emit('1', { channelId: channel, entityId: ada });
  await within(joined, 'join');

  const established = await until(([event]) => event === 'connection_established', 'connection');
  assert.equal(established.message, 'Connected to Eliza Socket.IO server');
  assert.deepEqual(events.map(([event]) => event), ['authenticated', 'connection_established']);
  assert.equal(events[0][1].entityId, ada);
  assert.equal(typeof events[0][1].timestamp, 'number');

  // Not waiting for the join: it comes first all the same.
  socket.emit('message', { type: 1, payload: { channelId: channel, entityId: ada, agentId: agent } });
  socket.emit('message', {
    type: 2,
    payload: {
      channelId: channel,
      senderId: ada,
      senderName: 'Ada',
      message: 'Q4, please',
      messageServerId: server,
      source: 'client_chat',
      messageId: 'mine-1',
      metadata: { isDm: true, channelType: 'DM', targetUserId: agent },
    },
  });
  await until(([event, data]) => event === 'messageBroadcast' && data.source === 'agent_response', 'answer');
  await until(([event]) => event === 'controlMessage', 'end');
  const kinds = events.map(([event]) => event).filter((event) => event !== 'messageStreamChunk');
  assert.deepEqual(kinds.slice(2, 7), [
    'channel_joined',
    'room_joined',
    'messageBroadcast',
    'messageAck',
    'messageBroadcast',
  ]);
  assert.deepEqual(kinds.slice(7), ['messageComplete', 'controlMessage']);
  const [mine, answer] = events.filter(([event]) => event === 'messageBroadcast').map(([, data]) => data);
  assert.deepEqual(Object.keys(mine).sort(), [
    'channelId',
    'clientMessageId',
    'createdAt',
    'id',
    'messageServerId',
    'roomId',
    'senderId',
    'senderName',
    'source',
    'text',
  ]);
  assert.equal(mine.clientMessageId, 'mine-1');
  assert.equal(mine.senderName, 'Ada');
  const ack = events.find(([event]) => event === 'messageAck')[1];
  assert.deepEqual(ack, {
    clientMessageId: 'mine-1',
    messageId: mine.id,
    status: 'received_by_server_and_processing',
    channelId: channel,
    roomId: channel,
  });
  assert.equal(answer.text, 'A4');
  assert.equal(answer.senderId, agent);
  assert.equal(answer.roomId, channel);
  assert.equal(answer.serverId, server);
  assert.ok(!('channelId' in answer), 'as in elizaOS');
  const others = await within(
    (async () => {
      while (heard.length < 2) await new Promise((resolve) => setTimeout(resolve, 20));
      return heard;
    })(),
    'broadcasts to the other socket',
  );
  assert.deepEqual(others.map((data) => data.text), ['Q4, please', 'A4']);
  assert.ok(!('clientMessageId' in others[0]), 'only its sender knows it');

  socket.emit('2', { channelId: channel, message: 'no sender' });
  const error = await until(([event]) => event === 'messageError', 'error');
  assert.match(error.error, /^For SEND_MESSAGE: channelId/);
  socket.emit('1', {});
  await until(([event, data]) => event === 'messageError' && data.error === 'channelId is required for joining.', 'error');
  socket.emit('update_log_filters', { level: 'warn' });
  assert.deepEqual(await until(([event]) => event === 'log_filters_updated', 'filters'), {
    success: false,
    error: 'Not subscribed to log stream',
  });
  socket.emit('subscribe_logs');
  const subscribed = await until(([event]) => event === 'log_subscription_confirmed', 'subscription');
  assert.deepEqual(subscribed, { subscribed: true, message: 'Successfully subscribed to log stream' });

  const history = await fetch(`${url}/api/messaging/channels/${channel}/messages`, { headers: { 'X-API-KEY': key } });
  const { data } = await history.json();
  assert.deepEqual(data.messages.map((message) => message.content), ['A4', 'Q4, please']);
  assert.equal(data.messages[1].id, mine.id);
  assert.equal(data.messages[0].id, answer.id, 'one id for the wire and the history');
  socket.close();
  other.close();
}
console.log('sockets: all held');
process.exit(0);
