// Documents and what a question finds in them.
import { api, Problem, read } from '../client';
import type { Document, Passage } from '../types';
import { type Asked, byId, each, type Handlers, type S, shaped, text } from './asked';

/** Bytes of a piece of an upload: the server takes bodies of 4 MB. */
const PIECE = 1 << 20;

/** The name under which the file was given; the title comes from its first heading and changes. */
const fileOf = (source: string) => source.split(/[\\/]/).at(-1) ?? '';

function document(row: S['DocumentView']): Document {
  const made = shaped<Document>(row, 'usedThisWeek');
  if (made) return made;
  return {
    id: row.id,
    name: fileOf(row.source) || row.title,
    pieces: row.pieces,
    size: row.size,
    state: row.state as Document['state'],
    done: 0,
    total: 0,
    fault: row.fault ?? undefined,
    usedThisWeek: null,
    at: 0,
    removable: row.removable,
  };
}

async function firstAgent(asked: Asked): Promise<string> {
  const named = text(asked, 'agent');
  if (named) return named;
  const agent = (await read(api.GET('/api/v1/agents', { signal: asked.signal }))).items[0];
  if (!agent) throw new Problem(409, 'GAL-CONSOLE', 'There is no agent that could know a document');
  return agent.id;
}

/** Sends a file in pieces. A piece that failed is sent again from where the server stands. */
async function upload(asked: Asked): Promise<unknown> {
  const file = asked.body as File;
  const name = text(asked, 'name') ?? file.name;
  const body = { agent: await firstAgent(asked), name, size: file.size, shared: false };
  let now = await read(api.POST('/api/v1/uploads', { body, signal: asked.signal }));
  let again = 0;
  while (now && !now.done) {
    const offset = now.received;
    try {
      now = await read(
        api.PUT('/api/v1/uploads/{id}', {
          params: { path: { id: now.id }, query: { offset } },
          body: file.slice(offset, offset + PIECE) as never,
          bodySerializer: (piece) => piece as unknown as Blob,
          headers: { 'content-type': 'application/octet-stream' },
          signal: asked.signal,
        }),
      );
      again = 0;
    } catch (error) {
      again += 1;
      if (again > 3 || (error instanceof Problem && error.status >= 400 && error.status < 500)) throw error;
      now = await read(api.GET('/api/v1/uploads/{id}', { params: { path: { id: now.id } }, signal: asked.signal }));
    }
  }
  return now;
}

function passage(row: S['PassageView']): Passage {
  const made = shaped<Passage>(row, 'name');
  return made ?? { document: row.document, name: row.title, place: row.place, score: row.score, text: row.text };
}

async function search(asked: Asked) {
  const { query } = asked.body as { query: string };
  const body = { agent: await firstAgent(asked), query };
  return each(await read(api.POST('/api/v1/knowledge/search', { body })), passage);
}

export const KNOWLEDGE: Handlers = {
  'GET knowledge': async ({ signal }) => each(await read(api.GET('/api/v1/knowledge', { signal })), document),
  'POST knowledge': upload,
  'DELETE knowledge/:id': (asked) => read(api.DELETE('/api/v1/knowledge/{id}', byId(asked))),
  'POST knowledge/search': search,
};
