// Budgets of the build, in KB after gzip -9: first load 150, each lazy route 100, all 400, fonts 60.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const DIST = fileURLToPath(new URL('../dist', import.meta.url));
const LIMITS = { first: 150, route: 100, all: 400, fonts: 60 };
const manifest = JSON.parse(readFileSync(join(DIST, '.vite/manifest.json'), 'utf8'));
const size = (file) => gzipSync(readFileSync(join(DIST, file)), { level: 9 }).length / 1000;

/** Files that a chunk loads: itself, its static imports, their styles. */
function closure(key, seen = new Set()) {
  const chunk = manifest[key];
  if (!chunk || seen.has(chunk.file)) return seen;
  seen.add(chunk.file);
  for (const css of chunk.css ?? []) seen.add(css);
  for (const next of chunk.imports ?? []) closure(next, seen);
  return seen;
}

const sum = (files) => [...files].reduce((total, file) => total + size(file), 0);
const firstFiles = closure('index.html');
const problems = [];
const check = (name, value, limit) => {
  console.log(`${name.padEnd(28)} ${value.toFixed(1).padStart(7)} KB of ${limit}`);
  if (value > limit) problems.push(name);
};
check('first load', sum(firstFiles), LIMITS.first);
for (const [key, chunk] of Object.entries(manifest)) {
  if (!chunk.isDynamicEntry) continue;
  const own = [...closure(key)].filter((file) => !firstFiles.has(file));
  check(key.replace('src/', ''), sum(own), LIMITS.route);
}
const files = readdirSync(DIST, { recursive: true, encoding: 'utf8' }).filter((name) =>
  statSync(join(DIST, name)).isFile(),
);
check('all scripts and styles', sum(files.filter((name) => /\.(js|css)$/.test(name))), LIMITS.all);
check(
  'fonts',
  files.filter((name) => name.endsWith('.woff2')).reduce((n, name) => n + statSync(join(DIST, name)).size / 1000, 0),
  LIMITS.fonts,
);
if (problems.length > 0) {
  console.error(`over budget: ${problems.join(', ')}`);
  process.exit(1);
}
