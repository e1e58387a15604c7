// Server-sent events (WHATWG HTML §9.2) as an async iteration.

/** An event of a stream. */
export type StreamEvent = { event: string; id?: string; data: string };

/** Splits whole events off a text; `tail` is an event that has not arrived whole. */
export function splitEvents(text: string): { events: StreamEvent[]; tail: string } {
  const blocks = text.split(/\r?\n\r?\n/);
  const tail = blocks.pop() ?? '';
  const events: StreamEvent[] = [];
  for (const block of blocks) {
    let event = 'message';
    let id: string | undefined;
    const data: string[] = [];
    for (const line of block.split(/\r?\n/)) {
      const [, name, value = ''] = /^(event|id|data):? ?(.*)$/.exec(line) ?? [];
      if (name === 'event') event = value;
      if (name === 'id') id = value;
      if (name === 'data') data.push(value);
    }
    if (data.length > 0) events.push({ event, id, data: data.join('\n') });
  }
  return { events, tail };
}

/** Most characters of one event: a stream that never ends an event is broken. */
const MOST = 4_000_000;

/** The events of an answer until it ends. `onBytes` is called with each piece, comments included. */
export async function* streamEvents(response: Response, onBytes?: () => void): AsyncGenerator<StreamEvent> {
  if (!response.body) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      onBytes?.();
      const { events, tail } = splitEvents(rest + value);
      if (tail.length > MOST) throw new Error('an event of the stream is longer than 4 MB');
      rest = tail;
      yield* events;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
