// Times, money, sizes and durations as text.
import { intl, t } from '../i18n';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Clock time with seconds, for rows of today. */
export function clock(at: number): string {
  return new Date(at).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
}

/** Clock time of today, else day and month. */
export function stamp(at: number, now = Date.now()): string {
  if (now - at < DAY && new Date(at).getDate() === new Date(now).getDate()) return clock(at);
  return new Date(at).toLocaleDateString(intl(), { day: 'numeric', month: 'short' });
}

/** Relative under an hour, else absolute. */
export function ago(at: number, now = Date.now()): string {
  const past = Math.max(0, now - at);
  if (past < MINUTE) return t('{n} s ago', { n: Math.round(past / 1000) });
  if (past < HOUR) return t('{n} min ago', { n: Math.round(past / MINUTE) });
  return stamp(at, now);
}

/** Local time and UTC, for titles. */
export function both(at: number): string {
  const date = new Date(at);
  return `${date.toLocaleString(intl())} · ${date.toISOString().replace('T', ' ').slice(0, 19)} UTC`;
}

/** A duration in milliseconds: `57 ms`, `1.94 s`, `2 min 4 s`, `3 h 11 min`. */
export function span(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(ms / 1000).toFixed(2)} s`;
  if (ms < MINUTE) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min ${Math.round((ms % MINUTE) / 1000)} s`;
  if (ms < DAY) return `${Math.floor(ms / HOUR)} h ${Math.round((ms % HOUR) / MINUTE)} min`;
  return `${Math.floor(ms / DAY)} d ${Math.round((ms % DAY) / HOUR)} h`;
}

/** Minutes and seconds until a time: `0:42`. */
export function until(at: number, now = Date.now()): string {
  const rest = Math.max(0, Math.ceil((at - now) / 1000));
  const hours = Math.floor(rest / 3600);
  const minutes = Math.floor((rest % 3600) / 60);
  const seconds = String(rest % 60).padStart(2, '0');
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, '0')}:${seconds}` : `${minutes}:${seconds}`;
}

/** `$0.0004`, `<$0.0001`, `$0 local` (a model without a price on this machine), `–` for no price. */
export function money(value: number | null, local = false): string {
  if (value === null) return '–';
  if (value === 0) return local ? '$0 local' : '$0';
  if (value < 0.0001) return '<$0.0001';
  if (value < 0.01) return `$${value.toFixed(4)}`;
  return `$${value.toFixed(2)}`;
}

export function count(value: number): string {
  return value.toLocaleString(intl());
}

/** Bytes as KB, MB or GB (powers of 1,000). */
export function bytes(value: number): string {
  if (value < 1000) return `${value} B`;
  if (value < 1e6) return `${Math.round(value / 1e3)} KB`;
  if (value < 1e9) return `${(value / 1e6).toFixed(1)} MB`;
  return `${(value / 1e9).toFixed(1)} GB`;
}

export function percent(share: number): string {
  return `${Math.round(share * 100)}%`;
}
