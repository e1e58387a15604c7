// What a view asks for, by method and path, and the function that answers it from the interface.
import { AGENTS } from './agents';
import { type Asked, type Handlers, type Params, untyped } from './asked';
import { HOUSE } from './house';
import { PLACES } from './places';
import { QUEUES } from './queues';
import { TURNS } from './turns';
import { USAGE } from './usage';

export { forgetNames } from './names';
export type { Params };

const ALL: Handlers = { ...AGENTS, ...HOUSE, ...PLACES, ...QUEUES, ...TURNS, ...USAGE };
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
