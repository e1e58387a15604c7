// What is to be sent, and what did not arrive.
import { api, read } from '../client';
import type { Delivery } from '../types';
import { type Asked, byId, each, type Handlers, number, type S, shaped, text } from './asked';
import { agentName, memoryOf, roomName } from './names';

const STATES: Record<string, Delivery['state']> = {
  pending: 'waiting',
  sending: 'sending',
  sent: 'sent',
  ambiguous: 'unsure',
  expired: 'expired',
  dead: 'gave-up',
};
const STORED = Object.fromEntries(Object.entries(STATES).map(([stored, shown]) => [shown, stored]));
/** Attempts until a send is given up (the core's default). */
const MOST_TRIES = 8;

async function delivery(row: S['DeliveryView']): Promise<Delivery> {
  const made = shaped<Delivery>(row, 'tries');
  if (made) return made;
  const [agent, room, shown] = await Promise.all([
    agentName(row.agent),
    roomName(row.room),
    row.memory ? memoryOf(row.memory) : null,
  ]);
  const state = STATES[row.state] ?? 'waiting';
  return {
    id: row.id,
    at: row.createdAt,
    state,
    platform: row.source,
    roomName: room,
    personName: '',
    text: shown?.text ?? '',
    cause: row.error ?? '',
    code: /GAL-[A-Z0-9-]+/.exec(row.error ?? '')?.[0] ?? '',
    tries: row.attempt,
    maxTries: MOST_TRIES,
    nextAt: state === 'waiting' ? row.notBefore : null,
    attempts: [],
    // Traces are found by the message that was answered.
    turn: shown?.inReplyTo ?? '',
    agentName: agent,
  };
}

async function outbox(asked: Asked) {
  const state = text(asked, 'state');
  const query = {
    state: state && (STORED[state] ?? state),
    before: text(asked, 'before'),
    limit: number(asked, 'limit'),
  };
  return each(await read(api.GET('/api/v1/outbox', { params: { query }, signal: asked.signal })), delivery);
}

/** Counts by the tabs of Delivery. */
async function counts({ signal }: Asked) {
  const all = await read(api.GET('/api/v1/counts', { signal }));
  const made = shaped<Record<string, number>>(all, 'gave-up');
  if (made) return made;
  return {
    'gave-up': all.dead,
    expired: all.expired,
    unsure: all.ambiguous,
    waiting: all.pending,
    sending: all.sending,
  };
}

export const QUEUES: Handlers = {
  'GET outbox': outbox,
  'GET counts': counts,
  'POST outbox/:id/retry': (asked) => read(api.POST('/api/v1/outbox/{id}/retry', byId(asked))),
  'POST outbox/:id/drop': (asked) => read(api.POST('/api/v1/outbox/{id}/drop', byId(asked))),
};
