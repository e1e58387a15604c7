// Pictures of the README: Live and a trace of a Galatea with demo data, in docs/pictures.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { filled } from '../../scripts/fill.mjs';
import { programPath } from '../../scripts/program.mjs';
import { overlay } from './overlay.mjs';
import { smaller } from './png.mjs';

const MOST = 150_000;
const OUT = fileURLToPath(new URL('../../../docs/pictures/', import.meta.url));
const binary = programPath();
if (!binary) {
  console.error('The program is missing: run `cargo build -p galatea`, or name it in GALATEA_BIN.');
  process.exit(1);
}
mkdirSync(OUT, { recursive: true });
const { program, stop } = await filled(binary, { gaveUp: false });
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? execFileSync('which', ['chromium'], { encoding: 'utf8' }).trim(),
  args: ['--no-sandbox', '--disable-gpu', '--no-first-run'],
});
const context = await browser.newContext({ viewport: { width: 1280, height: 670 }, reducedMotion: 'reduce' });
await overlay(context, program.url);
const tab = await context.newPage();
const take = async (name) => {
  const path = `${OUT}${name}.png`;
  await tab.waitForTimeout(800);
  const picture = smaller(await tab.screenshot());
  writeFileSync(path, picture);
  console.log(`docs/pictures/${name}.png: ${Math.round(picture.length / 1000)} KB`);
  if (picture.length > MOST) process.exitCode = 1;
};
try {
  await tab.goto(await program.link());
  await tab.getByText('following').first().waitFor();
  const dismiss = tab.getByRole('button', { name: 'Dismiss the first steps' });
  if (await dismiss.count()) await dismiss.click();
  await tab.locator('.row', { hasText: 'guided tour on Monday' }).click();
  await tab.locator('.detail .wf-row').first().waitFor();
  await take('live');
  await tab.getByRole('link', { name: 'Open full trace' }).click();
  // The step of the model is open from the start; the list is moved to it.
  await tab.getByRole('tab', { name: 'Prompt' }).waitFor();
  await tab.locator('.wf-row').first().hover();
  await tab.mouse.wheel(0, 360);
  await tab.locator('.wf-row', { hasText: 'model' }).first().waitFor();
  await take('trace');
} finally {
  await browser.close();
  await stop();
  program.remove();
}
