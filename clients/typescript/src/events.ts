// Live events that resume by number: a stream that breaks is opened again after the last number that
// was seen, so that no event is lost and none comes twice.
import type { EventData } from './generated/events.js';
import { type Problem, problemOf } from './problem.js';
import { streamEvents } from './sse.js';

/** A live event: ids and figures; what it is about is read from its resource. */
export type LiveEvent = {
  [Kind in keyof EventData]: { seq: number; at: number; agent?: string; kind: Kind; data: EventData[Kind] };
}[keyof EventData];

/** Events up to `seq` are not kept any more: lists have to be read again. */
export type Missed = { kind: 'missed'; seq: number; at: number; data: Record<string, never> };

export type FollowState = 'connecting' | 'following' | 'reconnecting';

export type FollowOptions = {
  /** Number of the last event that was seen; absent: from now on. */
  after?: number;
  /** Only these kinds; absent: all. */
  kinds?: (keyof EventData)[];
  /** Ends the iteration. */
  signal?: AbortSignal;
  /** Called when the stream opens, and when it breaks. */
  onState?: (state: FollowState) => void;
};

/** The server sends a comment every 15 s; three times as long without a byte is a dead connection. */
const SILENCE_MS = 45_000;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 8_000;
/** Refusals that do not end by waiting. */
const FINAL = [400, 401, 403, 404];

type Open = (path: string, signal: AbortSignal) => Promise<Response>;

/** Follows live events until `signal` is aborted. Throws a `Problem` where the program refuses. */
export async function* follow(open: Open, options: FollowOptions = {}): AsyncGenerator<LiveEvent | Missed> {
  let seq = options.after;
  let pause = FIRST_PAUSE_MS;
  options.onState?.('connecting');
  while (!options.signal?.aborted) {
    const own = new AbortController();
    const end = () => own.abort();
    options.signal?.addEventListener('abort', end, { once: true });
    let silence = setTimeout(end, SILENCE_MS);
    try {
      const response = await open(address(seq, options.kinds), own.signal);
      if (!response.ok) throw await problemOf(response);
      options.onState?.('following');
      const alive = () => {
        clearTimeout(silence);
        silence = setTimeout(end, SILENCE_MS);
      };
      for await (const { data } of streamEvents(response, alive)) {
        pause = FIRST_PAUSE_MS;
        const event = JSON.parse(data) as LiveEvent | Missed;
        if (typeof event.seq !== 'number' || (seq !== undefined && event.seq <= seq)) continue;
        seq = event.seq;
        yield event;
      }
    } catch (error) {
      if (FINAL.includes((error as Problem).status)) throw error;
    } finally {
      clearTimeout(silence);
      options.signal?.removeEventListener('abort', end);
      own.abort();
    }
    if (options.signal?.aborted) return;
    options.onState?.('reconnecting');
    await sleep(pause, options.signal);
    pause = Math.min(LONGEST_PAUSE_MS, pause * 2);
  }
}

function address(after: number | undefined, kinds: string[] | undefined): string {
  const search = new URLSearchParams();
  if (after !== undefined) search.set('after', String(after));
  if (kinds) search.set('kinds', kinds.join(','));
  const text = search.toString();
  return `/api/v1/events${text ? `?${text}` : ''}`;
}

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done, { once: true });
  });
}
