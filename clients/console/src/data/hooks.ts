// Queries and actions for views. Keys are paths of the interface, so that live events find them.
import {
  keepPreviousData,
  type QueryClient,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query';
import { useEffect, useSyncExternalStore } from 'react';
import type { Problem } from './client';
import { type LiveState, liveState, onLive, watchLive } from './live';
import { call, type Params } from './server';
import type { Paged, Role, Session } from './types';

/** Reads one object. */
export function useOne<T>(path: string | null, params: Params = {}) {
  return useQuery<T, Problem>({
    queryKey: [path, params],
    queryFn: ({ signal }) => call<T>('GET', path ?? '', undefined, { signal, params }),
    enabled: path !== null,
    placeholderData: keepPreviousData,
  });
}

/** Reads a list page by page; `items` are the rows of all pages that were read. */
export function useList<T>(path: string | null, params: Params = {}) {
  const query = useInfiniteQuery<Paged<T>, Problem, { pages: Paged<T>[] }, unknown[], string | null>({
    queryKey: [path, params, 'pages'],
    queryFn: ({ signal, pageParam }) =>
      call<Paged<T>>('GET', path ?? '', undefined, { signal, params: { ...params, before: pageParam } }),
    initialPageParam: null,
    getNextPageParam: (page) => page.next,
    enabled: path !== null,
    placeholderData: keepPreviousData,
  });
  const pages = query.data?.pages ?? [];
  return { ...query, items: pages.flatMap((page) => page.items), total: pages[0]?.total };
}

export type Query = {
  isPending: boolean;
  error: Problem | null;
  data?: unknown;
  dataUpdatedAt: number;
  refetch: () => unknown;
};

/** Carries out a change and reads the named paths again. */
export function useAction<V, R = unknown>(run: (value: V) => Promise<R>, reads: string[] = []) {
  const client = useQueryClient();
  return useMutation<R, Problem, V>({ mutationFn: run, onSettled: () => refresh(client, reads) });
}

/** Reads the lists whose path begins with one of these again. */
export function refresh(client: QueryClient, reads: string[]): Promise<void> {
  return client.invalidateQueries({
    predicate: (query) => reads.some((read) => String(query.queryKey[0]).startsWith(read)),
  });
}

/** Which paths an event of this kind changes. */
const CHANGES: Record<string, string[]> = {
  turn: ['turns', 'attention', 'checklist', 'usage', 'approvals'],
  message: ['turns', 'outbox', 'counts', 'rooms', 'attention', 'checklist'],
  messages: ['turns', 'connectors'],
  reaction: ['rooms'],
  entity: ['people'],
  room: ['rooms', 'turns', 'memories'],
  world: ['rooms', 'connectors'],
  connector: ['connectors', 'agents', 'attention', 'checklist'],
  breaker: ['connectors', 'attention'],
  delivery: ['outbox', 'counts', 'attention', 'turns'],
  action: ['turns'],
  evaluator: ['memories', 'people'],
  model: ['usage', 'budgets'],
  agent: ['agents', 'characters', 'attention'],
  plugin: ['plugins', 'tools', 'mcp'],
  service: ['agents', 'connectors', 'plugins', 'mcp', 'knowledge'],
  custom: ['knowledge', 'tasks', 'approvals', 'attention'],
  system: ['attention', 'cluster'],
};

/** Paths to read again after these events. */
export function changedPaths(kinds: string[]): string[] {
  return [...new Set(kinds.flatMap((kind) => CHANGES[kind.split(/[._]/)[0] ?? ''] ?? []))];
}

/** Keeps the cache current while the page is open. */
export function useLiveCache() {
  const client = useQueryClient();
  useEffect(
    () =>
      onLive((events, gap) => {
        if (gap) void client.invalidateQueries();
        else void refresh(client, changedPaths(events.map((event) => event.kind)));
      }),
    [client],
  );
}

export function useLive(): LiveState {
  return useSyncExternalStore(watchLive, liveState);
}

export function useSession() {
  return useQuery<Session, Problem>({
    queryKey: ['session'],
    queryFn: ({ signal }) => call<Session>('GET', 'session', undefined, { signal }),
    staleTime: 60_000,
    retry: (count, error) => error.status === 0 && count < 100,
  });
}

const RANK: Record<Role, number> = { viewer: 0, operator: 1, owner: 2 };

/** Whether the signed-in user has at least this role. */
export function useRole(needed: Role): boolean {
  const { data } = useSession();
  return data !== undefined && RANK[data.role] >= RANK[needed];
}
