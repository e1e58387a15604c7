// What a view asks for, by method and path, and the function that answers it from the interface.
import { ACCESS } from './access';
import { AGENTS } from './agents';
import { type Asked, type Handlers, type Params, untyped } from './asked';
import { CHARACTERS } from './characters';
import { CONNECT } from './connect';
import { EXTENSIONS } from './extensions';
import { HOUSE } from './house';
import { KNOWLEDGE } from './knowledge';
import { PLACES } from './places';
import { QUEUES } from './queues';
import { SETTINGS } from './settings';
import { TURNS } from './turns';
import { USAGE } from './usage';

export { forgetNames } from './names';
export type { Params };

const ALL: Handlers = {
  ...ACCESS,
  ...AGENTS,
  ...CHARACTERS,
  ...CONNECT,
  ...EXTENSIONS,
  ...HOUSE,
  ...KNOWLEDGE,
  ...PLACES,
  ...QUEUES,
  ...SETTINGS,
  ...TURNS,
  ...USAGE,
};
const PATTERNS = Object.entries(ALL).map(([key, handler]) => {
  const [method = '', path = ''] = key.split(' ');
  return { method, pattern: new RegExp(`^${path.replace(/:\w+/g, '([^/]+)')}$`), handler };
});

export type Options = { signal?: AbortSignal; etag?: string; params?: Params };

/** Answers what a view asks for. Throws `Problem`. */
export async function call<T>(method: string, path: string, body?: unknown, options: Options = {}): Promise<T> {
  const asked: Asked = { args: [], params: options.params ?? {}, body, signal: options.signal, etag: options.etag };
  for (const { method: own, pattern, handler } of PATTERNS) {
    const found = own === method ? pattern.exec(path) : null;
    if (found) return (await handler({ ...asked, args: found.slice(1).map(decodeURIComponent) })) as T;
  }
  return (await untyped(method, path, asked)) as T;
}

/** Whether the server offers what a view would ask for. */
export function offers(method: string, path: string): boolean {
  return PATTERNS.some(({ method: own, pattern }) => own === method && pattern.test(path));
}
