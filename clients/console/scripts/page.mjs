// A browser over the fixture server, for pictures and checks.
import { chromium } from 'playwright-core';
import { start } from '../fixtures/server.mjs';

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Views with an address that shows each with a selection. */
export const VIEWS = {
  live: '/?turn=01JX00010000',
  traces: '/traces',
  trace: '/traces/01JX00010000',
  ignored: '/traces/01JX00009999?step=2',
  failed: '/traces/01JX00009998',
  chat: '/chat/eliza/r-web',
  agents: '/agents',
  editor: '/agents/eliza/edit',
  memory: '/memory?id=f0',
  people: '/memory?tab=people&id=p-maria',
  rooms: '/memory?tab=rooms',
  knowledge: '/knowledge',
  delivery: '/delivery?id=o1',
  connectors: '/connectors',
  usage: '/usage',
  settings: '/settings',
  health: '/settings?tab=health',
  access: '/settings?tab=access',
  plugins: '/settings?tab=plugins',
  cluster: '/cluster',
  logs: '/cluster?tab=logs',
  users: '/users',
  audit: '/users?tab=audit',
  login: '/login',
  design: '/design',
};
export const THEMES = ['light', 'dark'];
export const WIDTHS = { 1440: 900, 390: 844 };

/** Server, browser and a function that opens a page of a theme and width. */
export async function open() {
  const server = await start();
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: FLAGS });
  const faults = [];
  const page = async ({
    width = 1440,
    height = WIDTHS[width] ?? 900,
    theme = 'light',
    locale = 'en-US',
    zoom = 1,
  } = {}) => {
    const context = await browser.newContext({
      viewport: { width, height },
      colorScheme: theme,
      locale,
      deviceScaleFactor: zoom,
      reducedMotion: 'reduce',
    });
    const tab = await context.newPage();
    tab.on(
      'console',
      (message) =>
        message.type() === 'error' &&
        !/status of (4|5)\d\d/.test(message.text()) &&
        faults.push(`console: ${message.text()}`),
    );
    tab.on('pageerror', (error) => faults.push(`page: ${error.message}`));
    tab.on(
      'request',
      (request) =>
        !request.url().startsWith(server.url) &&
        !request.url().startsWith('blob:') &&
        faults.push(`foreign request: ${request.url()}`),
    );
    return tab;
  };
  const set = (mode) => fetch(`${server.url}/__mode`, { method: 'PUT', body: JSON.stringify(mode) });
  const close = async () => {
    await browser.close();
    server.close();
  };
  return { server, page, set, faults, close };
}

/** Opens an address and waits until nothing is loading. */
export async function visit(tab, url) {
  await tab.goto(url);
  await tab.waitForSelector('#root > *');
  await tab
    .waitForFunction(() => !document.querySelector('.skeleton') && document.fonts.status === 'loaded', null, {
      timeout: 10_000,
    })
    .catch(() => {});
  await tab.waitForTimeout(150);
}
