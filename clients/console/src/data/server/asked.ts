// What a view asks for, and helpers for what answers it.
import { api, type S } from '../client';
import type { Paged } from '../types';

export type Params = Record<string, string | number | boolean | null | undefined>;
/** A request of a view: parts of its path, search parameters, body. */
export type Asked = {
  args: string[];
  params: Params;
  body: unknown;
  signal?: AbortSignal;
  etag?: string;
};
export type Handler = (asked: Asked) => Promise<unknown>;
/** Handlers by method and path, such as `GET turns/:id`. */
export type Handlers = Record<string, Handler>;

/** The path parameter that most operations have. */
export function byId(asked: Asked, at = 0) {
  return { params: { path: { id: asked.args[at] ?? '' } }, signal: asked.signal };
}

/** A search parameter as text; absent where it has no value. */
export function text(asked: Asked, name: string): string | undefined {
  const value = asked.params[name];
  return value === undefined || value === null || value === '' ? undefined : String(value);
}

/** A search parameter as a number. */
export function number(asked: Asked, name: string): number | undefined {
  const value = text(asked, name);
  return value === undefined ? undefined : Number(value);
}

/** A list with every row changed; `total` stays where the server counts. */
export async function each<R, T>(
  list: { items: R[]; next?: string | null; total?: number },
  change: (row: R) => Promise<T> | T,
): Promise<Paged<T>> {
  return { ...list, items: await Promise.all(list.items.map(change)), next: list.next ?? null };
}

/** A row that has the shape of the view already, as the made-up rows of tests and pictures have. */
export function shaped<T>(row: object, mark: string): T | null {
  return mark in row ? (row as T) : null;
}

/** A request by its path alone, for what the description does not have. */
export async function untyped(method: string, path: string, asked: Asked): Promise<unknown> {
  const send = api.request as unknown as (m: string, p: string, init: object) => Promise<{ data?: unknown }>;
  const query = Object.fromEntries(Object.entries(asked.params).filter(([, value]) => value ?? false));
  const raw = asked.body instanceof Blob;
  const answer = await send(method.toLowerCase(), `/api/v1/${path}`, {
    params: { query },
    signal: asked.signal,
    headers: asked.etag ? { 'if-match': asked.etag } : undefined,
    ...(asked.body === undefined ? {} : { body: asked.body }),
    ...(raw ? { bodySerializer: (body: Blob) => body, headers: { 'content-type': 'application/octet-stream' } } : {}),
  });
  return answer.data;
}

export type { S };
