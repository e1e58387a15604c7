// Names for ids, which the server's lists do not carry: each is asked for once.
import { api, read, type S } from '../client';

const known = new Map<string, Promise<string>>();

/** The first part of an id, where nothing better is known. */
export function short(id: string): string {
  return id.slice(0, 8);
}

function once(kind: string, id: string, ask: () => Promise<string>): Promise<string> {
  const key = `${kind}/${id}`;
  const found = known.get(key);
  if (found) return found;
  const made = ask().catch(() => {
    known.delete(key);
    return short(id);
  });
  known.set(key, made);
  return made;
}

const by = (id: string) => ({ params: { path: { id } } });

export function roomName(id: string): Promise<string> {
  return once('rooms', id, async () => {
    const { room } = await read(api.GET('/api/v1/rooms/{id}', by(id)));
    return room.name || (room.kind === 'DM' ? 'DM' : short(id));
  });
}

export function personName(id: string): Promise<string> {
  return once('people', id, async () => (await read(api.GET('/api/v1/people/{id}', by(id)))).names[0] ?? short(id));
}

const memories = new Map<string, Promise<S['MemoryView'] | null>>();

/** What a send shows: its text, and the message that it answers. None where it was deleted. */
export function memoryOf(id: string): Promise<S['MemoryView'] | null> {
  const found = memories.get(id);
  if (found) return found;
  const made = read(api.GET('/api/v1/memories/{id}', by(id))).catch(() => {
    memories.delete(id);
    return null;
  });
  memories.set(id, made);
  return made;
}

export function agentName(id: string): Promise<string> {
  return once('agents', id, async () => {
    const { items } = await read(api.GET('/api/v1/agents'));
    return items.find((agent) => agent.id === id)?.name ?? short(id);
  });
}

/** Forgets the names: another user is signed in, or something was renamed. */
export function forgetNames() {
  known.clear();
  memories.clear();
}
