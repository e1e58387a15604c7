// Walks through the console against the real program (GALATEA_BIN, else a debug build) with its offline
// responder: no faults in the browser's console, no foreign request, no answer that says "not there".
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { chromium } from 'playwright-core';
import { programPath, startProgram } from '../../scripts/program.mjs';
import { walk } from './real-walk.mjs';

const binary = programPath();
if (!binary) {
  console.log('no program: build galatea, or name it in GALATEA_BIN; nothing was walked');
  process.exit(0);
}
const FLAGS = ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-sync'];
const PICTURES = new URL('../pictures/real/', import.meta.url).pathname;
const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
  '.webmanifest': 'application/manifest+json',
};
const problems = [];
const complain = (text) => {
  problems.push(text);
  console.log(`✕ ${text}`);
};
mkdirSync(PICTURES, { recursive: true });
const program = await startProgram(binary);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? execFileSync('which', ['chromium'], { encoding: 'utf8' }).trim(),
  args: FLAGS,
});
/** The files of dist in place of those in the program, where the program was built before them. */
const built = (name) => readFileSync(new URL(`../dist${name}`, import.meta.url));
const own = await (await fetch(program.url)).text();
const overlay = own !== built('/index.html').toString();
if (overlay) console.log('the page in the program is older than dist: dist is shown in its place');
const show = async (context) => {
  if (!overlay) return;
  const { headers } = await fetch(program.url);
  await context.route(
    (url) => !/^\/(api|docs|openapi|readyz)/.test(url.pathname),
    (route) => {
      const path = new URL(route.request().url()).pathname;
      const name = extname(path) ? path : '/index.html';
      const contentType = TYPES[extname(name)] ?? 'application/octet-stream';
      const policy = { 'content-security-policy': headers.get('content-security-policy') ?? '' };
      return existsSync(new URL(`../dist${name}`, import.meta.url))
        ? route.fulfill({ body: built(name), contentType, headers: policy })
        : route.fulfill({ status: 404 });
    },
  );
};
/** Answers that are expected in the step that runs now, such as `401`. */
let expected = null;
const expecting = async (status, run) => {
  expected = status;
  await run();
  expected = null;
};
const page = async ({ width = 1440, height = 900, theme = 'light' } = {}) => {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: theme,
    locale: 'en-US',
    reducedMotion: 'reduce',
  });
  await show(context);
  const tab = await context.newPage();
  tab.setDefaultTimeout(30_000);
  tab.on('console', (message) => {
    if (message.type() !== 'error') return;
    const text = `${message.text()} ${message.location().url.replace(program.url, '')}`;
    if (!(expected && text.includes(`status of ${expected}`)) && !/ERR_(CONNECTION|INCOMPLETE|EMPTY)/.test(text))
      complain(`console: ${text} at ${tab.url().replace(program.url, '')}`);
  });
  tab.on('pageerror', (error) => complain(`page: ${error.message}`));
  tab.on('request', (request) => {
    if (!request.url().startsWith(program.url) && !request.url().startsWith('blob:'))
      complain(`foreign request: ${request.url()}`);
  });
  return tab;
};
const visit = async (tab, path) => {
  await tab.goto(path.startsWith('http') ? path : program.url + path);
  await tab.waitForSelector('#root > *');
  await tab.waitForFunction(() => !document.querySelector('.skeleton'), null, { timeout: 10_000 }).catch(() => {});
  await tab.waitForTimeout(200);
};
const picture = (tab, name) => tab.screenshot({ path: `${PICTURES}${name}.png` });
const step = async (name, tab, run) => {
  const from = Date.now();
  try {
    await run();
    console.log(`✓ ${name} (${Date.now() - from} ms)`);
  } catch (error) {
    complain(
      `${name}: ${String(error.message).split('\n').slice(0, 3).join(' ')} at ${tab.url().replace(program.url, '')}`,
    );
    await picture(tab, `failed-${name.replace(/\W+/g, '-')}`).catch(() => {});
  }
};
try {
  await walk({ program, page, visit, picture, step, complain, expecting });
} finally {
  await browser.close();
  await program.stop();
  program.remove();
}
console.log(problems.length === 0 ? 'no fault' : `${problems.length} faults`);
process.exitCode = problems.length === 0 ? 0 : 1;
