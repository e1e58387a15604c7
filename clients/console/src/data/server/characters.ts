// Characters with their versions, and new agents.
import { pathAt } from '../../lib/json';
import { api, read } from '../client';
import type { Character, CharacterVersion, Remark } from '../types';
import { type Asked, byId, each, type Handlers, type S, shaped } from './asked';

type Body = Record<string, unknown>;

function version(row: S['CharacterVersionView'], i: number, all: S['CharacterVersionView'][]): CharacterVersion {
  const made = shaped<CharacterVersion>(row, 'summary');
  if (made) return made;
  const before = all[i + 1]?.body as Body | undefined;
  const own = row.body as Body;
  const names = [...new Set([...Object.keys(own), ...Object.keys(before ?? {})])];
  const changed = before ? names.filter((n) => JSON.stringify(own[n]) !== JSON.stringify(before[n])) : [];
  return {
    version: row.version,
    at: row.at,
    by: row.by,
    summary: [row.fromFile ? 'file' : '', changed.join(', ')].filter(Boolean).join(' · '),
  };
}

async function versions(asked: Asked) {
  const list = await read(api.GET('/api/v1/characters/{id}/versions', byId(asked)));
  return { ...list, items: list.items.map(version) };
}

async function character(asked: Asked): Promise<Character> {
  return (await read(api.GET('/api/v1/characters/{id}', byId(asked)))) as unknown as Character;
}

async function save(asked: Asked): Promise<Character> {
  const headers = asked.etag ? { 'if-match': asked.etag } : undefined;
  const init = { ...byId(asked), body: asked.body as never, headers };
  return (await read(api.PUT('/api/v1/characters/{id}', init))) as unknown as Character;
}

/** Remarks of the server by line, with the path that stands in that line. */
async function validate({ body, signal }: Asked) {
  const list = await read(api.POST('/api/v1/characters/validate', { body: body as never, signal }));
  const lines = JSON.stringify(body, null, 2);
  return each(list, (row): Remark => {
    const made = shaped<Remark>(row, 'path');
    if (made) return made;
    const text = [row.text, row.help].filter(Boolean).join('. ');
    const path = row.line ? pathAt(lines, row.line) : '';
    return { path, line: row.line ?? undefined, level: row.level as Remark['level'], text };
  });
}

/** A new character from a template. */
export function template(kind: string, name: string): Body {
  const empty = { name, bio: [], style: { all: [], chat: [], post: [] } };
  if (kind === 'helper')
    return {
      ...empty,
      bio: [`${name} answers questions from documents, and says so when they do not say.`],
      style: { all: ['be brief', 'name the document that you quote'], chat: [], post: [] },
    };
  if (kind === 'companion')
    return {
      ...empty,
      bio: [`${name} talks with people and remembers what they tell.`],
      style: { all: ['be warm', 'ask one question at a time'], chat: [], post: [] },
    };
  return empty;
}

async function create({ body }: Asked) {
  const { name, template: kind } = body as { name: string; template: string };
  const made = await read(api.POST('/api/v1/agents', { body: template(kind, name) as never }));
  return shaped<{ id: string }>(made, 'id') ?? made.agent;
}

export const CHARACTERS: Handlers = {
  'GET characters/:id': character,
  'PUT characters/:id': save,
  'GET characters/:id/versions': versions,
  'POST characters/validate': validate,
  'POST characters/preview': ({ body }) => read(api.POST('/api/v1/characters/preview', { body: body as never })),
  'POST characters/:id/revert': (asked) =>
    read(api.POST('/api/v1/characters/{id}/revert', { ...byId(asked), body: asked.body as S['Revert'] })),
  'POST agents': create,
};
