// A running Galatea with two messages in it, and a client that is signed in as its owner.

// @ts-expect-error The module is plain JavaScript, shared with the console's scripts.
import { programPath, startProgram } from '../../../scripts/program.mjs';
import { createGalatea, type Galatea } from '../src/index.js';

export type Program = {
  url: string;
  folder: string;
  link: () => Promise<string>;
  say: (text: string, name?: string) => Promise<string>;
  command: (...words: string[]) => Promise<{ stdout: string; stderr: string }>;
  stop: (signal?: string) => Promise<unknown>;
  remove: () => void;
};
export type World = { program: Program; galatea: Galatea; token: string; cookie: string };

export const binary: string | null = programPath();
/** Reason to skip what needs the program; false where it is there. */
export const skip = binary ? false : 'no program: build galatea, or name it in GALATEA_BIN';

/** Signs in by the link of the program, as a page does, and gives the cookie of the session. */
export async function cookieOf(url: string, link: string): Promise<string> {
  const answer = await fetch(`${url}/api/v1/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: url },
    body: JSON.stringify({ link: link.split('#')[1] }),
  });
  return answer.headers.get('set-cookie')?.split(';')[0] ?? '';
}

/** Starts the program; `more` are settings. */
export async function world(more: Record<string, string> = {}): Promise<World> {
  const program: Program = await startProgram(binary ?? '', { more });
  await program.say('hello there', 'maria');
  await program.say('what is a tide?', 'jo');
  const cookie = await cookieOf(program.url, await program.link());
  const made = await fetch(`${program.url}/api/v1/tokens`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: program.url, cookie },
    body: JSON.stringify({ name: 'walk', role: 'owner' }),
  });
  const { secret } = (await made.json()) as { secret: string };
  return { program, cookie, token: secret, galatea: createGalatea({ url: program.url, token: secret }) };
}

export async function end(it: World | undefined): Promise<void> {
  await it?.program.stop();
  it?.program.remove();
}
