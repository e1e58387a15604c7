// Checks in a real browser: axe, clipping, reachability, paths of an operator, long lists, hostile texts.
// Arguments: names of parts (axe, flows, long, hostile, keys).
import { readFileSync } from 'node:fs';
import { flows } from './flows.mjs';
import { open, THEMES, VIEWS, visit, WIDTHS } from './page.mjs';
import { payloads } from './payloads.mjs';

const AXE = readFileSync(new URL('../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');
const parts = process.argv.slice(2);
const wanted = (name) => parts.length === 0 || parts.includes(name);
const problems = [];
const complain = (text) => {
  problems.push(text);
  console.log(`✕ ${text}`);
};
const { server, page, set, faults, close } = await open();

/** Elements whose text is cut off without a title, and what of the navigation is missing. */
const LOOK = () => {
  const shown = (e) =>
    e.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && e.getClientRects().length > 0;
  const cut = [...document.querySelectorAll('#root *')].filter((e) => {
    const style = getComputedStyle(e);
    const scrolls =
      style.overflowX === 'auto' ||
      style.overflowX === 'scroll' ||
      e.closest('.tabs, .attention, pre, svg, .sr, .chat-rooms, input, textarea, .nav-name, h2');
    return (
      shown(e) &&
      !scrolls &&
      e.scrollWidth > e.clientWidth + 1 &&
      e.clientWidth > 1 &&
      style.display !== 'inline' &&
      !e.closest('[title]') &&
      !e.querySelector('[title]') &&
      ![...e.children].some((c) => c.scrollWidth > c.clientWidth + 1)
    );
  });
  const wide = document.documentElement.scrollWidth > window.innerWidth;
  const ways = [...document.querySelectorAll('.nav a, .tabbar a, .tabbar button')].filter(shown).length;
  return {
    cut: cut.map((e) => `${e.tagName.toLowerCase()}.${e.className} “${(e.textContent ?? '').slice(0, 40)}”`),
    wide,
    ways,
  };
};

async function axe(tab, name) {
  await tab.evaluate(AXE);
  const result = await tab.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  for (const v of result.violations)
    complain(
      `axe ${name}: ${v.id}: ${v.help}: ${v.nodes
        .slice(0, 3)
        .map((n) => n.target.join(' '))
        .join(' | ')}`,
    );
}

if (wanted('axe')) {
  let count = 0;
  for (const width of Object.keys(WIDTHS).map(Number)) {
    for (const theme of THEMES) {
      const tab = await page({ width, theme });
      for (const mode of ['full', 'empty', 'error']) {
        await set({ mode, role: 'owner', signedIn: true });
        for (const [name, path] of Object.entries(VIEWS)) {
          await visit(tab, server.url + path);
          const place = `${name} ${mode} ${theme} ${width}`;
          await axe(tab, place);
          count += 1;
          const { cut, wide, ways } = await tab.evaluate(LOOK);
          for (const text of cut) complain(`cut off: ${place}: ${text}`);
          if (wide) complain(`wider than the window: ${place}`);
          if (name !== 'login' && ways < (width < 768 ? 5 : 12)) complain(`navigation: ${place}: ${ways} ways`);
        }
      }
      await tab.context().close();
    }
  }
  console.log(`axe, clipping and navigation: ${count} pages`);
  const right = await page({ width: 1440 });
  await right.addInitScript(() => localStorage.setItem('galatea.locale', 'ar-XB'));
  const large = await page({ width: 720, height: 450, zoom: 2 });
  for (const [name, path] of Object.entries(VIEWS)) {
    for (const [kind, tab] of [
      ['right-to-left', right],
      ['200% zoom', large],
    ]) {
      await set({ mode: 'full', role: 'owner', signedIn: true });
      await visit(tab, server.url + path);
      await axe(tab, `${name} ${kind}`);
      if (await tab.evaluate(() => document.documentElement.scrollWidth > window.innerWidth))
        complain(`wider than the window: ${name} ${kind}`);
    }
  }
}

if (wanted('flows')) await flows({ server, page, set, complain });

if (wanted('long')) {
  await set({ mode: 'full', role: 'owner', signedIn: true });
  const tab = await page();
  await visit(tab, server.url);
  for (let i = 0; i < 200; i += 1) {
    await tab.evaluate(() => document.querySelector('.scroll').scrollTo(0, 1e9));
    await tab.waitForTimeout(20);
  }
  await tab.waitForTimeout(500);
  const { rows, text } = await tab.evaluate(() => ({
    rows: document.querySelectorAll('.row').length,
    text: document.querySelector('.more').textContent,
  }));
  console.log(`long list: ${rows} rows in the document, “${text}”`);
  if (rows > 60) complain(`${rows} rows in the document`);
  const from = Date.now();
  await tab.goto(`${server.url}/traces/01JX00009995`);
  await tab.waitForSelector('.wf-row');
  const took = Date.now() - from;
  const steps = await tab.evaluate(() => document.querySelectorAll('.wf-row').length);
  console.log(`5,000 steps: first rows after ${took} ms, ${steps} in the document`);
  if (steps > 80) complain(`${steps} steps in the document`);
}

if (wanted('hostile')) {
  await set({ mode: 'full', role: 'owner', signedIn: true });
  const tab = await page();
  let ran = 0;
  await tab.exposeFunction('executed', () => {
    ran += 1;
  });
  tab.on('dialog', (dialog) => {
    ran += 1;
    void dialog.dismiss();
  });
  await tab.addInitScript(() => {
    window.alert = window.executed;
  });
  const d = server.state.data;
  d.messages['r-web'] = payloads.map((text, i) => ({
    id: `h${i}`,
    room: 'r-web',
    at: Date.now(),
    from: i % 2 ? 'agent' : 'agent',
    name: text,
    text,
    state: 'done',
  }));
  for (const [i, text] of payloads.entries()) {
    Object.assign(d.turns[i], { text, personName: text, roomName: text, reason: text });
    if (d.facts[i]) Object.assign(d.facts[i], { text, aboutName: text });
  }
  for (const document of d.documents) document.name = payloads[0];
  d.characters.eliza.body.bio = payloads;
  for (const path of [
    '/chat/eliza/r-web',
    '/',
    '/traces',
    `/traces/${d.turns[2].id}`,
    '/memory',
    '/knowledge',
    '/agents/eliza/edit',
    '/agents/eliza/edit?form=json',
  ]) {
    await visit(tab, server.url + path);
    await tab.mouse.move(700, 400);
    await tab.waitForTimeout(200);
    const bad = await tab.evaluate(() => ({
      elements: document.querySelectorAll(
        '#root :is(script,img,iframe,object,embed,style,link,video,audio,math,base,meta,marquee)',
      ).length,
      links: [...document.querySelectorAll('#root .markdown a[href]')].filter(
        (a) => !/^https?:\/\//i.test(a.getAttribute('href')),
      ).length,
      handlers: [...document.querySelectorAll('#root *')].filter((e) =>
        e.getAttributeNames().some((n) => n.startsWith('on')),
      ).length,
    }));
    if (bad.elements + bad.links + bad.handlers > 0) complain(`hostile texts left ${JSON.stringify(bad)} on ${path}`);
  }
  console.log(`hostile texts: ${payloads.length}, executed: ${ran}`);
  if (ran > 0) complain(`${ran} hostile texts were executed`);
}

if (wanted('keys')) {
  await set({ mode: 'full', role: 'owner', signedIn: true });
  const tab = await page();
  for (const path of ['/', '/traces/01JX00010000', '/delivery', '/settings', '/chat/eliza']) {
    await visit(tab, server.url + path);
    const seen = new Set();
    for (let i = 0; i < 90; i += 1) {
      await tab.keyboard.press('Tab');
      const at = await tab.evaluate(() => {
        const e = document.activeElement;
        if (!e || e === document.body) return null;
        const box = e.getBoundingClientRect();
        return {
          name: e.outerHTML.slice(0, 80),
          visible: box.width > 0 && box.height > 0,
          label: (e.getAttribute('aria-label') ?? e.textContent ?? e.title ?? '').trim(),
        };
      });
      if (!at) continue;
      seen.add(at.name);
      if (!at.visible) complain(`focus is invisible on ${path}: ${at.name}`);
    }
    if (seen.size < 15) complain(`tab reaches only ${seen.size} elements on ${path}`);
  }
  await visit(tab, server.url);
  for (const [keys, address] of [
    ['gt', '/traces'],
    ['gc', '/chat'],
    ['gd', '/delivery'],
    ['gs', '/settings'],
    ['gp', '/users'],
    ['gl', '/'],
  ]) {
    await tab.locator('#main').focus();
    for (const key of keys) await tab.keyboard.press(key);
    await tab.waitForTimeout(150);
    if (new URL(tab.url()).pathname !== address) complain(`keys ${keys} lead to ${tab.url()}`);
  }
  console.log('keyboard: done');
}

await close();
for (const fault of new Set(faults)) complain(fault);
console.log(problems.length === 0 ? 'no problems' : `${problems.length} problems`);
process.exit(problems.length === 0 ? 0 : 1);
