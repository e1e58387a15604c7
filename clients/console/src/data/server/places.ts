// Rooms, people, memories.
import { api, read } from '../client';
import type { Fact, Message, Person, Room } from '../types';
import { type Asked, byId, each, type Handlers, number, type S, shaped, text } from './asked';
import { agentName, personName } from './names';

async function person(row: S['PersonView']): Promise<Person> {
  const made = shaped<Person>(row, 'identities');
  if (made) return made;
  const about = row.metadata as Record<string, { userName?: string; name?: string } | undefined>;
  return {
    id: row.id,
    name: row.names[0] ?? row.id,
    identities: Object.entries(about).flatMap(([platform, who]) =>
      who?.userName || who?.name ? [{ platform, handle: who.userName ?? who.name ?? '' }] : [],
    ),
    roles: [],
    lastSeen: 0,
    messages: null,
    facts: null,
    blocked: false,
  };
}

async function room(row: S['RoomView']): Promise<Room> {
  const made = shaped<Room>(row, 'platform');
  if (made) return made;
  return {
    id: row.id,
    name: row.name || row.id.slice(0, 8),
    platform: row.source,
    kind: row.kind === 'DM' ? 'dm' : 'group',
    agent: await agentName(row.agent),
    people: null,
    messages: null,
    lastAt: row.lastAt ?? 0,
    muted: false,
  };
}

async function fact(row: S['MemoryView']): Promise<Fact> {
  const made = shaped<Fact>(row, 'recalled');
  if (made) return made;
  const about = row.metadata as { pinned?: unknown };
  return {
    id: row.id,
    text: row.text,
    about: row.author,
    aboutName: row.own ? await agentName(row.agent) : await personName(row.author),
    kind: row.kind === 'messages' ? 'message' : row.kind === 'profiles' ? 'profile' : 'fact',
    score: null,
    at: row.at,
    pinned: about.pinned === true,
    recalled: [],
  };
}

async function message(row: S['MemoryView']): Promise<Message> {
  const made = shaped<Message>(row, 'from');
  if (made) return made;
  return {
    id: row.id,
    room: row.room,
    at: row.at,
    from: row.own ? 'agent' : 'person',
    name: row.own ? await agentName(row.agent) : await personName(row.author),
    text: row.text,
    state: 'done',
    turn: row.inReplyTo ?? undefined,
  };
}

async function people(asked: Asked) {
  const query = {
    agent: text(asked, 'agent'),
    name: text(asked, 'q'),
    after: text(asked, 'before'),
    limit: number(asked, 'limit'),
  };
  return each(await read(api.GET('/api/v1/people', { params: { query }, signal: asked.signal })), person);
}

async function rooms(asked: Asked) {
  const query = {
    agent: text(asked, 'agent'),
    source: text(asked, 'source'),
    after: text(asked, 'before'),
    limit: number(asked, 'limit'),
  };
  const page = await read(api.GET('/api/v1/rooms', { params: { query }, signal: asked.signal }));
  // A room without a platform is the agent's own, for what belongs to no conversation.
  return each({ ...page, items: page.items.filter((row) => row.kind !== 'SELF') }, room);
}

/** Memories of an agent, a room or a person; of the first agent where none is named. */
async function memories(asked: Asked) {
  const [inRoom, of] = [text(asked, 'room'), text(asked, 'person')];
  const agent = text(asked, 'agent') ?? (inRoom || of ? undefined : await firstAgent(asked));
  const query = {
    agent,
    room: inRoom,
    person: of,
    kind: text(asked, 'kind'),
    before: text(asked, 'before'),
    limit: number(asked, 'limit'),
  };
  return each(await read(api.GET('/api/v1/memories', { params: { query }, signal: asked.signal })), fact);
}

async function firstAgent({ signal }: Asked): Promise<string | undefined> {
  return (await read(api.GET('/api/v1/agents', { signal }))).items[0]?.id;
}

async function messages(asked: Asked) {
  const page = await read(api.GET('/api/v1/rooms/{id}/messages', byId(asked)));
  // The newest come first. An answer may have the time of its question: the order of the list decides then.
  const list = await each({ ...page, items: [...page.items].reverse() }, message);
  return { ...list, items: list.items.sort((a, b) => a.at - b.at) };
}

export const PLACES: Handlers = {
  'GET people': people,
  'GET rooms': rooms,
  'GET rooms/:id/messages': messages,
  'GET memories': memories,
  'DELETE memories/:id': (asked) => read(api.DELETE('/api/v1/memories/{id}', byId(asked))),
};
