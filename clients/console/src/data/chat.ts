// What is said to an agent, and the events of its answer in the order of their arrival.
import { galatea } from './client';

export type Said = {
  agent: string;
  /** Id of the room, or the name of a new one. */
  room: string;
  text: string;
  clientId: string;
  attachments: { name: string; type: string; data: string }[];
};
export type Heard =
  /** The message is stored under this id. */
  | { event: 'accepted'; id: string; room: string }
  /** What the agent does now. */
  | { event: 'step'; step: string }
  /** The answer so far; the committed one replaces it. */
  | { event: 'draft'; turn: string; text: string }
  /** A committed part of the answer. */
  | { event: 'message'; id: string; memory?: string; turn: string; text: string; at: number }
  /** No answer comes, for this reason. */
  | { event: 'silent'; decision: string; reason: string }
  /** The stream broke on the server's side. */
  | { event: 'error'; code: string; title: string; detail: string }
  | { event: 'end' };

/** Sends a message and follows its answer until it is committed. */
export async function say(said: Said, signal: AbortSignal, on: (heard: Heard) => void): Promise<void> {
  for await (const { event, data } of galatea.stream('/api/v1/messages', said, signal)) {
    on({ event, ...(JSON.parse(data) as object) } as Heard);
    if (event === 'end') return;
  }
}
