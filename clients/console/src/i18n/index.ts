// Texts of the console. An English text is its own id; catalogues are compiled by the build.

import english from 'virtual:messages/en';
import { i18n } from '@lingui/core';

export const LOCALES = [
  { id: 'en', name: 'English', dir: 'ltr' },
  { id: 'zh-Hans', name: '简体中文', dir: 'ltr' },
  { id: 'es', name: 'Español', dir: 'ltr' },
  { id: 'ar-XB', name: 'Pseudo right-to-left', dir: 'rtl' },
] as const;
export type Locale = (typeof LOCALES)[number]['id'];

type Catalogue = Record<string, string>;
const load: Record<Exclude<Locale, 'en'>, () => Promise<{ default: unknown }>> = {
  'zh-Hans': () => import('virtual:messages/zh-Hans'),
  es: () => import('virtual:messages/es'),
  'ar-XB': () => import('virtual:messages/ar-XB'),
};

/** The locale to begin with: the chosen one, else the browser's, else English. */
export function initialLocale(): Locale {
  const wanted = [localStorage.getItem('galatea.locale') ?? '', ...navigator.languages];
  for (const name of wanted) {
    if (name.startsWith('zh')) return 'zh-Hans';
    const found = LOCALES.find((l) => l.id === name || (l.id !== 'ar-XB' && name.startsWith(`${l.id}-`)));
    if (found) return found.id;
  }
  return 'en';
}

/** Loads and activates a locale; direction and `lang` of the page follow. */
export async function activate(locale: Locale): Promise<void> {
  const messages = locale === 'en' ? english : (await load[locale]()).default;
  i18n.loadAndActivate({ locale, messages: messages as Catalogue });
  document.documentElement.lang = locale === 'ar-XB' ? 'en' : locale;
  document.documentElement.dir = LOCALES.find((l) => l.id === locale)?.dir ?? 'ltr';
  localStorage.setItem('galatea.locale', locale);
}

/** The text in the active locale. The first argument must be a literal: the build collects it. */
export function t(text: string, values?: Record<string, unknown>): string {
  return i18n._(text, values);
}

/** Marks a text for the catalogues that `t` translates later. */
export function msg(text: string): string {
  return text;
}

/** The locale for `Intl`. */
export function intl(): string {
  return i18n.locale === 'ar-XB' || i18n.locale === '' ? 'en' : i18n.locale;
}
