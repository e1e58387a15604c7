// A long list: fixed heights, few rows in the document, keys j k Enter x.
import { useVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { t } from '../i18n';
import { useKeys } from '../lib/keys';
import { usePhone } from '../lib/prefs';

export type DataListProps<T> = {
  label: string;
  items: T[];
  id: (item: T) => string;
  row: (item: T) => ReactNode;
  rowLabel?: (item: T) => string;
  selected?: string | null;
  onOpen: (item: T) => void;
  onMark?: (item: T) => void;
  onEnd?: () => void;
  onScrolled?: (away: boolean) => void;
  more?: string;
  height?: number;
};

/** A list of rows that opens one at a time. */
export function DataList<T>(props: DataListProps<T>) {
  const { items } = props;
  const scroll = useRef<HTMLDivElement>(null);
  const [cursor, setCursor] = useState(0);
  const phone = usePhone();
  const height = props.height ?? (phone ? 60 : 36);
  const virtual = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => height,
    overscan: 8,
    getItemKey: (index) => {
      const item = items[index];
      return item === undefined ? index : props.id(item);
    },
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: A new height changes every offset.
  useEffect(() => virtual.measure(), [height, virtual]);
  const rows = virtual.getVirtualItems();
  const last = rows.at(-1)?.index ?? 0;
  const { onEnd } = props;
  useEffect(() => {
    if (items.length > 0 && last >= items.length - 10) onEnd?.();
  }, [last, items.length, onEnd]);
  const move = (to: number) => {
    const next = Math.max(0, Math.min(items.length - 1, to));
    setCursor(next);
    virtual.scrollToIndex(next);
    requestAnimationFrame(() => scroll.current?.querySelector<HTMLElement>(`[data-index="${next}"]`)?.focus());
  };
  const here = items[cursor];
  useKeys({
    j: () => move(cursor + 1),
    k: () => move(cursor - 1),
    x: () => here !== undefined && props.onMark?.(here),
  });
  return (
    <div className="datalist">
      <div
        ref={scroll}
        className="scroll"
        tabIndex={items.length === 0 ? undefined : -1}
        onScroll={(event) => props.onScrolled?.(event.currentTarget.scrollTop > 8)}
      >
        <ul aria-label={props.label} style={{ blockSize: virtual.getTotalSize() }}>
          {rows.map((row) => {
            const item = items[row.index];
            if (item === undefined) return null;
            const id = props.id(item);
            return (
              <li
                key={row.key}
                style={{ transform: `translateY(${row.start}px)`, blockSize: row.size }}
                aria-setsize={items.length}
                aria-posinset={row.index + 1}
              >
                <Row
                  index={row.index}
                  selected={props.selected === id}
                  focusable={row.index === cursor || (cursor === 0 && row.index === 0)}
                  label={props.rowLabel?.(item)}
                  onOpen={() => {
                    setCursor(row.index);
                    props.onOpen(item);
                  }}
                >
                  {props.row(item)}
                </Row>
              </li>
            );
          })}
        </ul>
      </div>
      <p className="more num">{props.more ?? t('{n, plural, one {# row} other {# rows}}', { n: items.length })}</p>
    </div>
  );
}

/** One row: a button over its whole width. */
export function Row(props: {
  index: number;
  selected: boolean;
  focusable: boolean;
  label?: string;
  onOpen: () => void;
  children: ReactNode;
}) {
  return (
    <button
      type="button"
      className="row"
      data-index={props.index}
      aria-current={props.selected || undefined}
      aria-label={props.label}
      tabIndex={props.focusable ? 0 : -1}
      onClick={props.onOpen}
    >
      {props.children}
    </button>
  );
}
