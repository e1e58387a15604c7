// Requests to the interface: one function, problem details as errors, a deadline on each.
import type { Fault, Fix } from './types';

const DEADLINE_MS = 20_000;

/** An error answer, as problem details (RFC 9457), or a server that cannot be reached (status 0). */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly detail?: string,
    readonly fix?: Fix,
    readonly needs?: string,
  ) {
    super(message);
  }
  get fault(): Fault {
    return { code: this.code, title: this.message, cause: this.detail, fix: this.fix };
  }
}

export type Params = Record<string, string | number | boolean | null | undefined>;

/** Path with those search parameters that have a value. */
export function address(path: string, params: Params = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value !== undefined && value !== null && value !== '') search.set(name, String(value));
  }
  const text = search.toString();
  return `/api/v1/${path}${text ? `?${text}` : ''}`;
}

async function problem(response: Response): Promise<Problem> {
  const body = (await response.json().catch(() => ({}))) as Record<string, unknown>;
  const text = (name: string) => (typeof body[name] === 'string' ? (body[name] as string) : undefined);
  const fix = typeof body.fix === 'string' ? { label: body.fix } : (body.fix as Fix | undefined);
  return new Problem(
    response.status,
    text('code') ?? `HTTP-${response.status}`,
    text('title') ?? response.statusText,
    text('detail'),
    fix,
    text('needs'),
  );
}

export type Options = { signal?: AbortSignal; etag?: string; params?: Params };

/** Sends a request and reads its JSON. Throws `Problem`. */
export async function call<T>(method: string, path: string, body?: unknown, options: Options = {}): Promise<T> {
  const headers: Record<string, string> = { accept: 'application/json' };
  const raw = body instanceof Blob;
  if (body !== undefined && !raw) headers['content-type'] = 'application/json';
  if (method === 'POST') headers['idempotency-key'] = crypto.getRandomValues(new Uint32Array(4)).join('-');
  if (options.etag) headers['if-match'] = options.etag;
  const signals = [AbortSignal.timeout(DEADLINE_MS)];
  if (options.signal) signals.push(options.signal);
  let response: Response;
  try {
    response = await fetch(address(path, options.params), {
      method,
      headers,
      body: body === undefined ? undefined : raw ? body : JSON.stringify(body),
      signal: AbortSignal.any(signals),
      credentials: 'same-origin',
    });
  } catch (cause) {
    if (options.signal?.aborted) throw cause;
    throw new Problem(0, 'GAL-UNREACHABLE', 'Cannot reach Galatea');
  }
  if (!response.ok) throw await problem(response);
  if (response.status === 204) return undefined as T;
  return (await response.json()) as T;
}

/** Sends a message and reads the answer as server-sent events until it is committed. */
export async function stream(
  path: string,
  body: unknown,
  signal: AbortSignal,
  on: (event: string, data: Record<string, unknown>) => void,
): Promise<void> {
  const response = await fetch(address(path), {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
    body: JSON.stringify(body),
    signal,
    credentials: 'same-origin',
  }).catch((cause) => {
    if (signal.aborted) throw cause;
    throw new Problem(0, 'GAL-UNREACHABLE', 'Cannot reach Galatea');
  });
  if (!response.ok) throw await problem(response);
  if (!response.body) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const { events, tail } = parseEvents(rest + value);
    rest = tail;
    for (const [event, data] of events) on(event, data);
  }
}

/** Splits whole events off a text; the tail is an event that has not arrived whole. */
export function parseEvents(text: string): { events: [string, Record<string, unknown>][]; tail: string } {
  const blocks = text.split('\n\n');
  const tail = blocks.pop() ?? '';
  const events: [string, Record<string, unknown>][] = [];
  for (const block of blocks) {
    let name = 'message';
    let data = '';
    for (const line of block.split('\n')) {
      if (line.startsWith('event:')) name = line.slice(6).trim();
      if (line.startsWith('data:')) data += line.slice(5).trim();
    }
    if (data) events.push([name, JSON.parse(data) as Record<string, unknown>]);
  }
  return { events, tail };
}
