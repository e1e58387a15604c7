// The client: every operation with its types, a deadline on each, problems as exceptions.
import createClient, { type Client } from 'openapi-fetch';
import { type FollowOptions, follow, type LiveEvent, type Missed } from './events.js';
import type { paths } from './generated/schema.js';
import { Problem, problemOf, UNREACHABLE } from './problem.js';
import { type StreamEvent, streamEvents } from './sse.js';

export type Options = {
  /** Address of the program, such as `http://127.0.0.1:3000`. In a page: where the page came from. */
  url?: string;
  /** A token of `POST /api/v1/tokens`. In a page the session's cookie signs in. */
  token?: string;
  /** Milliseconds until an answer has to be there; 20,000. Streams have no such limit. */
  deadline?: number;
  /** Another `fetch`, for tests. */
  fetch?: (request: Request) => Promise<Response>;
};

export type Galatea = {
  /** `GET`, `POST`, `PUT`, `PATCH` and `DELETE` with the paths of `/openapi.json`. */
  api: Client<paths>;
  /** Live events that resume by number after a break. */
  events: (options?: FollowOptions) => AsyncGenerator<LiveEvent | Missed>;
  /** Sends a body and reads the answer as events until it ends. */
  stream: (path: string, body: unknown, signal?: AbortSignal) => AsyncGenerator<StreamEvent>;
};

const DEADLINE_MS = 20_000;

/** Makes a client. It keeps no connection open until it is used. */
export function createGalatea(options: Options = {}): Galatea {
  const url = (options.url ?? globalThis.location?.origin ?? 'http://127.0.0.1:3000').replace(/\/$/, '');
  const authorization: Record<string, string> = options.token ? { authorization: `Bearer ${options.token}` } : {};
  const send = async (request: Request): Promise<Response> => {
    try {
      return await (options.fetch ?? ((asked) => fetch(asked)))(request);
    } catch (cause) {
      if (request.signal.aborted && !(request.signal.reason instanceof DOMException)) throw cause;
      if (request.signal.aborted && request.signal.reason.name === 'AbortError') throw cause;
      throw new Problem(0, UNREACHABLE, `Cannot reach Galatea at ${url}`);
    }
  };
  const guarded = async (request: Request): Promise<Response> => {
    const signal = AbortSignal.any([request.signal, AbortSignal.timeout(options.deadline ?? DEADLINE_MS)]);
    const response = await send(new Request(request, { signal }));
    if (!response.ok && response.status !== 304) throw await problemOf(response);
    return response;
  };
  const api = createClient<paths>({ baseUrl: url, fetch: guarded, headers: authorization });
  api.use({
    onRequest({ request }) {
      // A repeated POST with the same key is carried out once: the key makes a retry harmless.
      if (request.method === 'POST' && !request.headers.has('idempotency-key'))
        request.headers.set('idempotency-key', crypto.getRandomValues(new Uint32Array(4)).join('-'));
      return request;
    },
  });
  const open = (path: string, signal: AbortSignal) =>
    send(new Request(`${url}${path}`, { signal, headers: { ...authorization, accept: 'text/event-stream' } }));
  async function* stream(path: string, body: unknown, signal?: AbortSignal): AsyncGenerator<StreamEvent> {
    const headers = { ...authorization, 'content-type': 'application/json', accept: 'text/event-stream' };
    const text = JSON.stringify(body);
    const response = await send(new Request(`${url}${path}`, { method: 'POST', headers, body: text, signal }));
    if (!response.ok) throw await problemOf(response);
    yield* streamEvents(response);
  }
  return { api, stream, events: (following) => follow(open, following) };
}

/** The data of an answer. Failures were thrown as `Problem` before. */
export async function read<T>(answer: Promise<{ data?: T }>): Promise<T> {
  return (await answer).data as T;
}

/** All rows of a list, page after page. */
export async function* rows<T>(
  page: (cursor: string | undefined) => Promise<{ data?: { items: T[]; next?: string | null } }>,
): AsyncGenerator<T> {
  let cursor: string | undefined;
  do {
    const list = await read(page(cursor));
    yield* list.items;
    cursor = list.next ?? undefined;
  } while (cursor !== undefined);
}
