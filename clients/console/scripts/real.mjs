// Walks through the console against the real program (GALATEA_BIN, else a debug build) with its offline
// responder: no faults in the browser's console, no foreign request, no answer that says "not there".
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { fakeModel, fakeTelegram } from '../../scripts/fakes.mjs';
import { programPath, startProgram } from '../../scripts/program.mjs';
import { overlay } from './overlay.mjs';
import { walk } from './real-walk.mjs';

const binary = programPath();
if (!binary) {
  console.log('no program: build galatea, or name it in GALATEA_BIN; nothing was walked');
  process.exit(0);
}
const FLAGS = ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-sync'];
const PICTURES = new URL('../pictures/real/', import.meta.url).pathname;
const problems = [];
const complain = (text) => {
  problems.push(text);
  console.log(`✕ ${text}`);
};
mkdirSync(PICTURES, { recursive: true });
const telegram = await fakeTelegram();
const model = await fakeModel((_asked, prompt) =>
  /open/i.test(prompt.slice(-200)) ? 'We open at nine.' : 'The desk in the entrance hall knows that.',
);
const more = { TELEGRAM_API_ROOT: telegram.url, OPENAI_BASE_URL: `${model.url}/v1` };
let program = await startProgram(binary, { more });
const restart = async () => {
  await program.stop();
  program = await startProgram(binary, { more, folder: program.folder, port: program.port });
};
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? execFileSync('which', ['chromium'], { encoding: 'utf8' }).trim(),
  args: FLAGS,
});
/** Answers that are expected in the step that runs now, such as `401`. */
let expected = null;
let told = false;
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
  if ((await overlay(context, program.url)) && !told) {
    told = true;
    console.log('the page in the program is older than dist: dist is shown in its place');
  }
  const tab = await context.newPage();
  tab.setDefaultTimeout(30_000);
  tab.on('console', (message) => {
    if (message.type() !== 'error') return;
    const text = `${message.text()} ${message.location().url.replace(program.url, '')}`;
    if (
      !(expected && new RegExp(`status of ${expected}`).test(text)) &&
      !/ERR_(CONNECTION|INCOMPLETE|EMPTY)/.test(text)
    )
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
  await walk({ program, telegram, model, page, visit, picture, step, complain, expecting, restart });
} finally {
  await browser.close();
  await program.stop();
  program.remove();
  telegram.close();
  model.close();
}
console.log(problems.length === 0 ? 'no fault' : `${problems.length} faults`);
process.exitCode = problems.length === 0 ? 0 : 1;
