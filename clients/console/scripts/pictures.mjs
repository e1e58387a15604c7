// Pictures of every view in both themes and widths, in pictures/. Arguments: names of views.
import { mkdirSync } from 'node:fs';
import { open, THEMES, VIEWS, visit, WIDTHS } from './page.mjs';

const wanted = process.argv.slice(2);
mkdirSync('pictures', { recursive: true });
const { server, page, set, faults, close } = await open();
for (const width of Object.keys(WIDTHS).map(Number)) {
  for (const theme of THEMES) {
    const tab = await page({ width, theme });
    for (const [name, path] of Object.entries(VIEWS)) {
      if (wanted.length > 0 && !wanted.includes(name)) continue;
      await set({ mode: 'full', role: 'owner', signedIn: true });
      const shown =
        width < 768 && (name === 'live' || name === 'memory' || name === 'delivery' || name === 'people')
          ? path.split('?')[0]
          : path;
      await visit(tab, server.url + shown);
      await tab.screenshot({ path: `pictures/${name}-${theme}-${width}.png` });
    }
    await tab.context().close();
  }
}
await close();
for (const fault of new Set(faults)) console.log(fault);
