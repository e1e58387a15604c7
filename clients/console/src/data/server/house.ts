// Who is signed in, users, tokens, sessions, changes.
import { t } from '../../i18n';
import { api, read } from '../client';
import type { Change, DeviceSession, Session, SignIn, Token, User } from '../types';
import { type Asked, byId, each, type Handlers, number, type S, shaped } from './asked';

async function session({ signal }: Asked): Promise<Session> {
  const found = await read(api.GET('/api/v1/session', { signal }));
  const made = shaped<Session>(found, 'serverTime');
  if (made) return made;
  return {
    user: found.name,
    role: found.role as Session['role'],
    version: '',
    persona: '',
    offline: false,
    serverTime: Date.now(),
  };
}

function user(row: S['UserView'], me: string, owners: number): User {
  const made = shaped<User>(row, 'removable');
  if (made) return made;
  const last = row.role === 'owner' && !row.disabled && owners <= 1;
  return {
    id: row.id,
    name: row.name,
    role: row.role as User['role'],
    agents: 'all',
    lastSeen: null,
    state: row.disabled ? 'off' : 'active',
    you: row.name === me,
    removable: !last,
    why: last ? t('{name} is the last owner', { name: row.name }) : undefined,
  };
}

async function users({ signal }: Asked) {
  const [me, list] = await Promise.all([
    read(api.GET('/api/v1/session', { signal })),
    read(api.GET('/api/v1/users', { signal })),
  ]);
  const owners = list.items.filter((row) => row.role === 'owner' && !row.disabled).length;
  return each(list, (row) => user(row, me.name, owners));
}

async function invite({ body }: Asked) {
  const made = await read(api.POST('/api/v1/users', { body: body as S['InviteUser'] }));
  const given = shaped<{ link: string; expires: number }>(made, 'link');
  return given ?? { link: `${window.location.origin}${made.path}`, expires: made.expiresAt ?? null };
}

function token(row: S['Token']): Token {
  const made = shaped<Token>(row, 'scopes');
  if (made) return made;
  return { id: row.id, name: row.name, scopes: [row.role], lastUsed: row.usedAt ?? null, createdAt: row.createdAt };
}

/** The role that does what the scopes allow. */
export function roleOf(scopes: string[]): string {
  return scopes.includes('own') ? 'owner' : scopes.includes('operate') ? 'operator' : 'viewer';
}

async function makeToken({ body }: Asked) {
  const { name, scopes } = body as { name: string; scopes: string[] };
  return read(api.POST('/api/v1/tokens', { body: { name, role: roleOf(scopes) } }));
}

function device(row: S['Session']): DeviceSession {
  const made = shaped<DeviceSession>(row, 'device');
  if (made) return made;
  return { id: row.id, device: row.browser, from: '', lastSeen: row.usedAt ?? row.createdAt, current: row.current };
}

const written = (value: unknown) =>
  value === undefined || value === null ? '–' : typeof value === 'string' ? value : JSON.stringify(value);

function change(row: S['ChangeView']): Change {
  const made = shaped<Change>(row, 'what');
  if (made) return made;
  return {
    seq: row.id,
    at: row.at,
    who: row.actor,
    what: row.operation,
    target: row.target,
    before: written(row.before),
    after: written(row.after),
    from: row.origin,
  };
}

async function changes(asked: Asked) {
  const query = { before: number(asked, 'before'), limit: number(asked, 'limit') };
  return each(await read(api.GET('/api/v1/changes', { params: { query }, signal: asked.signal })), change);
}

/** Ways to sign in besides a link. The server has none yet. */
async function ways(): Promise<SignIn> {
  return { password: false, oidc: null, dataFolder: '' };
}

export const HOUSE: Handlers = {
  'GET session/ways': ways,
  'GET session': session,
  'POST session': ({ body }) => read(api.POST('/api/v1/session', { body: body as S['SignIn'] })),
  'DELETE session': () => read(api.DELETE('/api/v1/session')),
  'GET users': users,
  'POST users': invite,
  'PATCH users/:id': (asked) =>
    read(api.PATCH('/api/v1/users/{id}', { ...byId(asked), body: asked.body as S['ChangeUser'] })),
  'DELETE users/:id': (asked) => read(api.DELETE('/api/v1/users/{id}', byId(asked))),
  'GET tokens': async ({ signal }) => each(await read(api.GET('/api/v1/tokens', { signal })), token),
  'POST tokens': makeToken,
  'DELETE tokens/:id': (asked) => read(api.DELETE('/api/v1/tokens/{id}', byId(asked))),
  'GET sessions': async ({ signal }) => each(await read(api.GET('/api/v1/sessions', { signal })), device),
  'DELETE sessions/:id': (asked) => read(api.DELETE('/api/v1/sessions/{id}', byId(asked))),
  'GET changes': changes,
};
