// Names for ids, which the server's lists do not carry: each is asked for once.
import type { Params } from './http';

type Get = <T>(path: string, params?: Params) => Promise<T>;
type RoomAnswer = { room?: { name?: string; kind?: string } };
type PersonAnswer = { names?: string[] };
type MemoryAnswer = { text?: string };

const known = new Map<string, Promise<string>>();

/** The first part of an id, where nothing better is known. */
export function short(id: string): string {
  return id.slice(0, 8);
}

function once(key: string, read: () => Promise<string>): Promise<string> {
  const found = known.get(key);
  if (found) return found;
  const made = read().catch(() => {
    known.delete(key);
    return short(key.split('/')[1] ?? key);
  });
  known.set(key, made);
  return made;
}

export function roomName(get: Get, id: string): Promise<string> {
  return once(`rooms/${id}`, async () => {
    const { room } = await get<RoomAnswer>(`rooms/${id}`);
    return room?.name || (room?.kind === 'dm' ? 'DM' : short(id));
  });
}

export function personName(get: Get, id: string): Promise<string> {
  return once(`people/${id}`, async () => (await get<PersonAnswer>(`people/${id}`)).names?.[0] ?? short(id));
}

export function memoryText(get: Get, id: string): Promise<string> {
  return once(`memories/${id}`, async () => (await get<MemoryAnswer>(`memories/${id}`)).text ?? '');
}

export function agentName(get: Get, id: string): Promise<string> {
  return once(`agents/${id}`, async () => {
    const { items } = await get<{ items: { id: string; name: string }[] }>('agents');
    return items.find((agent) => agent.id === id)?.name ?? short(id);
  });
}

/** Forgets the names: another user is signed in. */
export function forgetNames() {
  known.clear();
}
