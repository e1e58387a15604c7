// The waterfall of a turn: fixed rows, folded waits, growing open steps.
import { useVirtualizer } from '@tanstack/react-virtual';
import { useMemo, useRef, useState } from 'react';
import type { Step } from '../data';
import { msg, t } from '../i18n';
import { count, span } from '../lib/format';
import { useKeys } from '../lib/keys';
import { useNow } from '../lib/prefs';
import { type Axis, axis, endOf, placeOf, visible } from '../lib/waterfall';

const KINDS: Record<string, string> = {
  receive: msg('received'),
  wait: msg('waited'),
  gate: msg('gate'),
  provider: msg('provider'),
  model: msg('model'),
  action: msg('action'),
  send: msg('send'),
  backoff: msg('back-off'),
  evaluate: msg('evaluator'),
  commit: msg('commit'),
};

/** Name of a kind of step in the active locale. */
export function stepKind(kind: string): string {
  return t(KINDS[kind] ?? kind);
}

const NAME = 200;
const HEIGHT = 24;

/** One step: name, bar on the axis, duration. */
export function WaterfallRow(props: {
  step: Step;
  scale: Axis;
  now: number;
  selected: boolean;
  focusable: boolean;
  hasChildren: boolean;
  folded: boolean;
  onSelect: () => void;
  onFold: () => void;
}) {
  const { step, scale } = props;
  const from = placeOf(scale, step.offset);
  const to = Math.max(from + 0.004, placeOf(scale, endOf(step, props.now)));
  const idle = step.kind === 'wait' || step.kind === 'backoff';
  const folded = scale.pieces.some((piece) => piece.folded && piece.from === step.offset && idle);
  const tone = step.state === 'bad' ? 'bad' : idle ? 'hatch' : step.kind;
  return (
    <button
      type="button"
      className="wf-row"
      aria-current={props.selected || undefined}
      tabIndex={props.focusable ? 0 : -1}
      data-step={step.n}
      onClick={props.onSelect}
      onDoubleClick={props.onFold}
      title={step.note}
    >
      <span className="wf-name" style={{ paddingInlineStart: `${step.depth * 14}px` }}>
        {props.hasChildren && <span aria-hidden="true">{props.folded ? '▸ ' : '▾ '}</span>}
        {step.state === 'bad' && <span className="bad">✕ </span>}
        <em>{stepKind(step.kind)}</em> {step.name}
      </span>
      <span className="wf-track" aria-hidden="true">
        <i
          className={`wf-bar ${tone}${folded ? ' zigzag' : ''}${step.width === null ? ' open' : ''}`}
          style={{ insetInlineStart: `${from * 100}%`, inlineSize: `${(to - from) * 100}%` }}
        />
      </span>
      <span className="wf-note num">{step.tokens ? `${count(step.tokens)} tok` : ''}</span>
      <span className="wf-time num">
        {step.width === null ? `${span(props.now - step.offset)}…` : span(step.width)}
      </span>
    </button>
  );
}

/** All steps of a turn. `total` may be larger than what was sent; the difference is stated. */
export function Waterfall(props: {
  steps: Step[];
  total: number;
  startedAt: number;
  skew: number;
  selected: number | null;
  onSelect: (n: number) => void;
  compact?: boolean;
}) {
  const [errors, setErrors] = useState(false);
  const [waits, setWaits] = useState(true);
  const [folded, setFolded] = useState<Set<number>>(new Set());
  const open = props.steps.some((step) => step.width === null);
  const clock = useNow(open ? 200 : 60_000);
  const now = clock + props.skew - props.startedAt;
  const end = open ? now : 0;
  const scale = useMemo(() => axis(props.steps, end), [props.steps, end]);
  const parents = useMemo(
    () => new Set(props.steps.filter((s, i) => (props.steps[i + 1]?.depth ?? 0) > s.depth).map((s) => s.n)),
    [props.steps],
  );
  const shown = useMemo(
    () =>
      visible(props.steps, folded).filter(
        (s) => (!errors || s.state === 'bad') && (waits || (s.kind !== 'wait' && s.kind !== 'backoff')),
      ),
    [props.steps, folded, errors, waits],
  );
  const scroll = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: shown.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => HEIGHT,
    overscan: 10,
  });
  const fold = (n: number, shut: boolean) => {
    const next = new Set(folded);
    if (shut) next.add(n);
    else next.delete(n);
    setFolded(next);
  };
  const at = shown.findIndex((step) => step.n === props.selected);
  const move = (by: number) => {
    const index = Math.max(0, Math.min(shown.length - 1, at + by));
    const step = shown[index];
    if (!step) return;
    props.onSelect(step.n);
    virtual.scrollToIndex(index);
  };
  useKeys({
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    ArrowLeft: () => props.selected !== null && fold(props.selected, true),
    ArrowRight: () => props.selected !== null && fold(props.selected, false),
    e: () => setErrors(!errors),
  });
  return (
    <section className={props.compact ? 'waterfall compact' : 'waterfall'} aria-label={t('Steps')}>
      <div className="wf-head">
        <span>{t('{shown} of {total} steps', { shown: shown.length, total: props.total })}</span>
        <button type="button" className="token" aria-pressed={errors} onClick={() => setErrors(!errors)}>
          {t('errors only')}
        </button>
        <button type="button" className="token" aria-pressed={waits} onClick={() => setWaits(!waits)}>
          {t('waits')}
        </button>
      </div>
      <div ref={scroll} className="wf-scroll" style={{ '--wf-name': `${NAME}px` } as React.CSSProperties}>
        <div style={{ blockSize: virtual.getTotalSize(), position: 'relative' }}>
          {virtual.getVirtualItems().map((row) => {
            const step = shown[row.index];
            return step ? (
              <div key={step.n} className="wf-place" style={{ transform: `translateY(${row.start}px)` }}>
                <WaterfallRow
                  step={step}
                  scale={scale}
                  now={now}
                  selected={step.n === props.selected}
                  focusable={step.n === props.selected || (at < 0 && row.index === 0)}
                  hasChildren={parents.has(step.n)}
                  folded={folded.has(step.n)}
                  onSelect={() => props.onSelect(step.n)}
                  onFold={() => fold(step.n, !folded.has(step.n))}
                />
              </div>
            ) : null;
          })}
        </div>
      </div>
    </section>
  );
}
