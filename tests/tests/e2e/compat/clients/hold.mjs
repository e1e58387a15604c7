// Holds sockets and a stream open until the server ends them.
import { io } from 'socket.io-client';

const { URL: url, KEY: key, ADA: ada } = process.env;
const open = (path, auth) => io(`${url}${path}`, { auth, transports: ['websocket'], forceNew: true, reconnection: false });
const all = [];
for (let n = 0; n < 20; n += 1) {
  all.push(open('', { entityId: ada, apiKey: key }), open('/live', { token: key, kinds: ['turn_finished'] }));
}
const closed = all.map((socket) => new Promise((resolve) => socket.on('disconnect', resolve)));
await Promise.all(all.map((socket) => new Promise((resolve) => socket.on('connect', resolve))));
const stream = await fetch(`${url}/api/v1/events`, { headers: { 'X-API-KEY': key } });
console.log('holding');
await Promise.all([...closed, stream.text().catch(() => {})]);
console.log('all ended');
process.exit(0);
