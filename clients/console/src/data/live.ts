// Live events: one stream for the page, resumed by number, batched 250 ms. REST stays the truth:
// after a gap every list is read again.
import type { LiveEvent } from './types';

const BATCH_MS = 250;
const RETRY_MS = 4_000;

export type LiveState = { state: 'connecting' | 'following' | 'reconnecting'; lastAt: number; skew: number };
type Listener = (events: LiveEvent[], gap: boolean) => void;

let source: EventSource | null = null;
let seq = 0;
let current: LiveState = { state: 'connecting', lastAt: 0, skew: 0 };
let batch: LiveEvent[] = [];
let timer: ReturnType<typeof setTimeout> | null = null;
let retry: ReturnType<typeof setTimeout> | null = null;
let missed = false;
const listeners = new Set<Listener>();
const watchers = new Set<() => void>();

function set(next: Partial<LiveState>) {
  current = { ...current, ...next };
  for (const watch of watchers) watch();
}

function flush() {
  timer = null;
  const events = batch;
  const gap = missed;
  batch = [];
  missed = false;
  for (const listener of listeners) listener(events, gap);
}

function schedule() {
  if (timer === null) timer = setTimeout(flush, BATCH_MS);
}

function arrive(event: LiveEvent) {
  if (event.seq <= seq) return;
  seq = event.seq;
  batch.push(event);
  set({ lastAt: Date.now(), skew: event.at - Date.now() });
  schedule();
}

function open() {
  if (source || document.hidden) return;
  source = new EventSource(`/api/v1/live?after=${seq}`);
  source.onopen = () => set({ state: 'following', lastAt: Date.now() });
  source.addEventListener('live', (message) => arrive(JSON.parse((message as MessageEvent<string>).data) as LiveEvent));
  source.addEventListener('gap', () => {
    missed = true;
    schedule();
  });
  source.onerror = () => {
    close();
    set({ state: 'reconnecting' });
    retry = setTimeout(open, RETRY_MS);
  };
}

function close() {
  source?.close();
  source = null;
  if (retry) clearTimeout(retry);
  retry = null;
}

/** Starts following while the page is visible. Returns the function that ends it. */
export function startLive(): () => void {
  const visibility = () => (document.hidden ? close() : open());
  document.addEventListener('visibilitychange', visibility);
  open();
  return () => {
    document.removeEventListener('visibilitychange', visibility);
    close();
  };
}

/** Calls a function with each batch of events. */
export function onLive(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function watchLive(watch: () => void): () => void {
  watchers.add(watch);
  return () => watchers.delete(watch);
}

export function liveState(): LiveState {
  return current;
}
