// Small marks: states, platforms, figures, times.
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { type Platform, useLive } from '../data';
import { msg, t } from '../i18n';
import { ago, both, clock, until } from '../lib/format';
import { useNow } from '../lib/prefs';

export type Tone = 'ok' | 'warn' | 'bad' | 'info' | 'plum' | 'muted' | 'accent';

const STATES: Record<string, [mark: string, tone: Tone, text: string]> = {
  replied: ['✓', 'ok', msg('replied')],
  ignored: ['–', 'muted', msg('ignored')],
  failed: ['✕', 'bad', msg('failed')],
  waiting: ['◷', 'warn', msg('waits for you')],
  running: ['▸', 'info', msg('running')],
  degraded: ['◐', 'warn', msg('degraded')],
  off: ['○', 'muted', msg('off')],
  paused: ['○', 'warn', msg('paused')],
  connected: ['✓', 'ok', msg('connected')],
  connecting: ['▸', 'info', msg('connecting')],
  down: ['✕', 'bad', msg('down')],
  'gave-up': ['✕', 'bad', msg('gave up')],
  pending: ['◷', 'warn', msg('waiting')],
  sending: ['▸', 'info', msg('sending')],
  sent: ['✓', 'ok', msg('sent')],
  unsure: ['◐', 'warn', msg('unsure')],
  ready: ['✓', 'ok', msg('ready')],
  queued: ['◷', 'muted', msg('queued')],
  reading: ['▸', 'info', msg('reading')],
  embedding: ['▸', 'info', msg('embedding')],
  loaded: ['✓', 'ok', msg('loaded')],
  up: ['✓', 'ok', msg('up')],
  draining: ['◐', 'warn', msg('draining')],
  lost: ['✕', 'bad', msg('lost')],
  active: ['✓', 'ok', msg('active')],
  invited: ['◷', 'warn', msg('invited')],
  ok: ['✓', 'ok', msg('fine')],
  warn: ['◐', 'warn', msg('warning')],
  bad: ['✕', 'bad', msg('problem')],
};

/** A state: mark, word and colour, never colour alone. `text` replaces the word. */
export function StateChip({ state, text, title }: { state: string; text?: string; title?: string }) {
  const [mark, tone, word] = STATES[state] ?? ['○', 'muted', state];
  const label = text ?? t(word);
  return (
    <span className={`chip ${tone}`} title={title ?? label}>
      <span aria-hidden="true">{mark}</span> <span className="chip-text">{label}</span>
    </span>
  );
}

/** Full name of a state, for filters. */
export function stateWord(state: string): string {
  return t(STATES[state]?.[2] ?? state);
}
export function stateMark(state: string): string {
  return STATES[state]?.[0] ?? '○';
}

const PLATFORMS: Record<string, [string, string]> = {
  telegram: ['TG', 'Telegram'],
  discord: ['DC', 'Discord'],
  x: ['X', 'X'],
  web: ['WB', 'Web chat'],
  terminal: ['TM', 'Terminal'],
};

export function platformName(platform: Platform): string {
  return PLATFORMS[platform]?.[1] ?? platform;
}

/** Two mono letters for a platform, its full name in the title. */
export function PlatformTag({ platform }: { platform: Platform }) {
  const [letters, name] = PLATFORMS[platform] ?? [platform.slice(0, 2).toUpperCase(), platform];
  return (
    <abbr className="platform" title={name}>
      {letters}
    </abbr>
  );
}

/** Whether the view is current: following, paused with new rows, or reconnecting. */
export function Freshness({ paused = 0, onResume }: { paused?: number; onResume?: () => void }) {
  const live = useLive();
  if (live.state === 'reconnecting') {
    return (
      <span className="fresh warn">
        ◐ {t('reconnecting · last {time}', { time: live.lastAt ? clock(live.lastAt) : '–' })}
      </span>
    );
  }
  if (onResume && paused >= 0) {
    return (
      <button type="button" className="fresh info" onClick={onResume} title={t('Follow again (.)')}>
        ‖ {t('paused · {n} new', { n: paused })}
      </button>
    );
  }
  if (live.state === 'connecting') return <span className="fresh">○ {t('connecting')}</span>;
  return <span className="fresh ok">● {t('following')}</span>;
}

/** A time: relative under an hour, both zones in the title. */
export function Time({ at, plain = false }: { at: number; plain?: boolean }) {
  const now = useNow(15_000);
  return (
    <time dateTime={new Date(at).toISOString()} title={both(at)} className="num">
      {plain ? clock(at) : ago(at, now)}
    </time>
  );
}

/** Counts down to a time; at zero it says `now`. */
export function Countdown({ at }: { at: number }) {
  const now = useNow(1000);
  return <span className="num">{at <= now ? t('now') : t('in {time}', { time: until(at, now) })}</span>;
}

/** A figure with unit and meaning; a link to the rows that it counts. */
export function Figure(props: {
  value: ReactNode;
  unit?: string;
  label: string;
  delta?: string;
  href?: string;
  spark?: number[];
}) {
  const body = (
    <>
      <span className="figure-value">
        {props.value}
        {props.unit && <small> {props.unit}</small>}
      </span>
      <span className="figure-label">{props.label}</span>
      {props.delta && <span className="figure-delta">{props.delta}</span>}
      {props.spark && <Spark values={props.spark} />}
    </>
  );
  return props.href ? (
    <Link href={props.href} className="figure">
      {body}
    </Link>
  ) : (
    <span className="figure">{body}</span>
  );
}

function Spark({ values }: { values: number[] }) {
  const top = Math.max(...values, 1);
  const points = values.map((v, i) => `${(i / Math.max(1, values.length - 1)) * 100},${20 - (v / top) * 18}`).join(' ');
  return (
    <svg className="spark" viewBox="0 0 100 20" preserveAspectRatio="none" aria-hidden="true">
      <polyline points={points} />
    </svg>
  );
}

/** A share of a whole as a bar with its text. */
export function Bar({ share, label, tone = 'accent' }: { share: number; label: string; tone?: Tone }) {
  const percent = Math.min(100, Math.max(0, share * 100));
  return (
    <span
      className={`bar ${tone}`}
      role="meter"
      aria-valuenow={Math.round(percent)}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-label={label}
    >
      <span style={{ inlineSize: `${percent}%` }} />
    </span>
  );
}

/** Names with values; a value may be any content. */
export function KeyValue({ rows }: { rows: [string, ReactNode][] }) {
  return (
    <dl className="kv">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
