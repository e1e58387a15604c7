// Catalogues: every text is translated, with the same placeholders; the words of the glossary.
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
// @ts-expect-error The module is plain JavaScript.
import { catalogue, pseudo, read, texts } from '../scripts/messages.mjs';

const SRC = fileURLToPath(new URL('../src', import.meta.url));
const ids = texts(SRC) as string[];
const names = (text: string) => [...new Set([...text.matchAll(/\{(\w+)/g)].map((m) => m[1]))].sort();

describe.each(['zh-Hans', 'es'])('%s', (locale) => {
  const translated = read(SRC, locale) as Record<string, string>;
  it('translates every text', () => {
    expect(ids.filter((id) => !translated[id])).toEqual([]);
  });
  it('has no text that the console no longer shows', () => {
    expect(Object.keys(translated).filter((id) => !ids.includes(id))).toEqual([]);
  });
  it('keeps placeholders', () => {
    for (const [id, text] of Object.entries(translated)) {
      const kept = names(text).filter((name) => names(id).includes(name));
      expect(kept, id).toEqual(
        names(id)
          .filter((name) => !/^(one|other)$/.test(name ?? ''))
          .filter((name) => kept.includes(name)),
      );
      for (const name of [...id.matchAll(/\{(\w+)[,}]/g)].map((m) => m[1])) expect(text, id).toContain(`{${name}`);
    }
  });
  it('compiles', () => {
    expect(Object.keys(catalogue(SRC, locale))).toHaveLength(ids.length);
  });
});

it('finds texts of the source', () => {
  expect(ids).toContain('Nothing matches “{filter}”.');
  expect(ids).toContain('gave up');
});

it('changes letters of the pseudo locale, never its placeholders', () => {
  expect(pseudo('Retry {n} sends')).toContain('{n}');
  expect(pseudo('Retry {n} sends')).not.toContain('Retry');
});

it('uses the words of the glossary', () => {
  const banned = /\b(user agent|dead letter|workflow|something went wrong|oops|please)\b/i;
  expect(ids.filter((id) => banned.test(id))).toEqual([]);
});
