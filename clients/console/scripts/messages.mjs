// Catalogues of the console: English texts are the ids. This module finds them in the source and
// compiles one catalogue a locale, so that no parser of messages is shipped.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { compileMessage } from '@lingui/message-utils/compileMessage';

export const LOCALES = ['en', 'zh-Hans', 'es', 'ar-XB'];
const CALL = /\b(?:t|msg)\(\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1/g;

/** Files below a folder that may contain texts. */
function sources(folder) {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => join(folder, name))
    .sort();
}

/** All English texts of the source, in order. */
export function texts(folder) {
  const found = new Set();
  for (const file of sources(folder)) {
    for (const match of readFileSync(file, 'utf8').matchAll(CALL)) {
      found.add(match[2].replace(/\\(.)/g, '$1'));
    }
  }
  return [...found].sort();
}

/** A right-to-left, longer form of a text that leaves its placeholders alone. */
export function pseudo(text) {
  const wide = { a: 'å', e: 'é', i: 'î', o: 'ø', u: 'ü', A: 'Å', E: 'É', I: 'Î', O: 'Ø', U: 'Ü' };
  let depth = 0;
  const body = [...text].map((c) => {
    if (c === '{') depth += 1;
    if (c === '}') depth -= 1;
    return depth > 0 ? c : (wide[c] ?? c);
  });
  return `\u202e${body.join('')} ~~\u202c`;
}

/** The compiled catalogue of a locale: id to compiled message. */
export function catalogue(folder, locale) {
  const translated = locale === 'en' || locale === 'ar-XB' ? {} : read(folder, locale);
  const out = {};
  for (const id of texts(folder)) {
    const text = locale === 'ar-XB' ? pseudo(id) : (translated[id] ?? id);
    out[id] = compileMessage(text);
  }
  return out;
}

/** The translations of a locale as written. */
export function read(folder, locale) {
  return JSON.parse(readFileSync(join(folder, 'i18n', `${locale}.json`), 'utf8'));
}

/** Serves `virtual:messages/LOCALE` to the bundler. */
export function messagesPlugin(folder) {
  const prefix = 'virtual:messages/';
  return {
    name: 'galatea-messages',
    resolveId: (id) => (id.startsWith(prefix) ? `\0${id}` : undefined),
    load(id) {
      if (!id.startsWith(`\0${prefix}`)) return undefined;
      const locale = id.slice(prefix.length + 1);
      return `export default JSON.parse(${JSON.stringify(JSON.stringify(catalogue(folder, locale)))})`;
    },
  };
}
