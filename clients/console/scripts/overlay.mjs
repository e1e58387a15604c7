// The files of dist in place of those in the program, where the program was built before them.
import { existsSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';

const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
  '.webmanifest': 'application/manifest+json',
};
const place = (name) => new URL(`../dist${name}`, import.meta.url);

/** Shows dist in pages of the context if the program's page is another one. */
export async function overlay(context, url) {
  const answer = await fetch(url);
  const policy = { 'content-security-policy': answer.headers.get('content-security-policy') ?? '' };
  if ((await answer.text()) === readFileSync(place('/index.html'), 'utf8')) return false;
  await context.route(
    (asked) => !/^\/(api|docs|openapi|readyz)/.test(asked.pathname),
    (route) => {
      const path = new URL(route.request().url()).pathname;
      const name = extname(path) ? path : '/index.html';
      if (!existsSync(place(name))) return route.fulfill({ status: 404 });
      const contentType = TYPES[extname(name)] ?? 'application/octet-stream';
      return route.fulfill({ body: readFileSync(place(name)), contentType, headers: policy });
    },
  );
  return true;
}
