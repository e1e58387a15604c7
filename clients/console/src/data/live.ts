// Live events: one stream for the page, resumed by number, batched 250 ms. REST stays the truth:
// after a gap every list is read again.
import type { LiveEvent, Missed } from 'galatea-client';
import { galatea } from './client';

const BATCH_MS = 250;
const RETRY_MS = 4_000;

export type LiveState = { state: 'connecting' | 'following' | 'reconnecting'; lastAt: number; skew: number };
type Listener = (events: LiveEvent[], gap: boolean) => void;

let control: AbortController | null = null;
let seq: number | undefined;
let current: LiveState = { state: 'connecting', lastAt: 0, skew: 0 };
let batch: LiveEvent[] = [];
let timer: ReturnType<typeof setTimeout> | null = null;
let retry: ReturnType<typeof setTimeout> | null = null;
let gap = false;
const listeners = new Set<Listener>();
const watchers = new Set<() => void>();

function set(next: Partial<LiveState>) {
  current = { ...current, ...next };
  for (const watch of watchers) watch();
}

function flush() {
  timer = null;
  const [events, missed] = [batch, gap];
  batch = [];
  gap = false;
  for (const listener of listeners) listener(events, missed);
}

function schedule() {
  if (timer === null) timer = setTimeout(flush, BATCH_MS);
}

function arrive(event: LiveEvent | Missed) {
  seq = event.seq;
  if (event.kind === 'missed') gap = true;
  else batch.push(event);
  set({ lastAt: Date.now(), skew: event.at - Date.now() });
  schedule();
}

function moved(state: LiveState['state']) {
  if (state === 'following') {
    // Without a number nothing says what happened before the stream was open.
    if (seq === undefined) {
      gap = true;
      schedule();
    }
    set({ state, lastAt: Date.now() });
  } else if (state !== current.state) set({ state });
}

function open() {
  if (control || document.hidden) return;
  const own = new AbortController();
  control = own;
  const follow = async () => {
    for await (const event of galatea.events({ after: seq, signal: own.signal, onState: moved })) arrive(event);
  };
  follow().catch(() => {
    if (control !== own) return;
    close();
    set({ state: 'reconnecting' });
    retry = setTimeout(open, RETRY_MS);
  });
}

function close() {
  control?.abort();
  control = null;
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

/** Calls a function with each batch of events; `gap`: every list has to be read again. */
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
