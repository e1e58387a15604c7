// Galatea itself, started in a folder of its own with its offline responder: for walks of the console
// and of the typed client against the real program. GALATEA_BIN names it; else a debug build is taken.
import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const START_MS = 30_000;
const STOP_MS = 10_000;

/** Path of the program; none where it was not built. */
export function programPath() {
  const name = process.platform === 'win32' ? 'galatea.exe' : 'galatea';
  const folder = process.env.CARGO_TARGET_DIR ?? fileURLToPath(new URL('../../target', import.meta.url));
  const path = process.env.GALATEA_BIN ?? join(folder, 'debug', name);
  return existsSync(path) ? path : null;
}

/** Port that is free now. */
export function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

/** Settings of this machine do not reach the program: only PATH, HOME and what the walk sets. */
function environment(port, folder, more) {
  return { PATH: process.env.PATH, HOME: folder, SERVER_PORT: String(port), NO_COLOR: '1', ...more };
}

/** Starts the program `binary`; `more` are further settings, `folder` an existing data folder. */
export async function startProgram(binary, { more = {}, folder, port, args = [] } = {}) {
  const own = folder ?? mkdtempSync(join(tmpdir(), 'galatea-walk-'));
  const at = port ?? (await freePort());
  const env = environment(at, own, more);
  const child = spawn(binary, ['start', ...args], { cwd: own, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  const collect = (chunk) => {
    output = (output + chunk).slice(-200_000);
  };
  child.stdout.on('data', collect);
  child.stderr.on('data', collect);
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const url = `http://127.0.0.1:${at}`;
  await ready(url, child, () => output);
  const command = (...words) => run(binary, words, { cwd: own, env, timeout: START_MS });
  return {
    url,
    port: at,
    folder: own,
    output: () => output,
    command,
    /** A login link that works once. */
    link: async () => (await command('login')).stdout.trim().split('\n').at(-1),
    /** Says a text in the terminal under a name and gives the answer. */
    say: async (text, name = 'maria') =>
      (await command('chat', '-m', text, '--as', name, '--no-input')).stdout.trim(),
    /** Ends the program as an operator would (`SIGTERM`), or at once (`SIGKILL`). */
    stop: async (signal = 'SIGTERM') => {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
      await ended;
      clearTimeout(late);
      return child.signalCode ?? child.exitCode;
    },
    remove: () => rmSync(own, { recursive: true, force: true }),
  };
}

async function ready(url, child, output) {
  const end = Date.now() + START_MS;
  while (Date.now() < end) {
    if (child.exitCode !== null) throw new Error(`the program ended with ${child.exitCode}:\n${output()}`);
    const answer = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(1000) }).catch(() => null);
    if (answer?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`the program is not ready after ${START_MS / 1000} s:\n${output()}`);
}
