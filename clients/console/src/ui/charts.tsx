// Charts: uPlot for series (loaded when one is shown) and the 90-cell history of a connector.
import { useEffect, useRef, useState } from 'react';
import { msg, t } from '../i18n';
import { clock, stamp } from '../lib/format';

export type Series = { name: string; unit: string; values: (number | null)[] };
const COLOURS = ['--accent', '--plum', '--info', '--warn', '--ok', '--bad'];

/** Lines over time, with a table of the same numbers. `at` is in milliseconds. */
export function Chart({ title, at, series }: { title: string; at: number[]; series: Series[] }) {
  const [table, setTable] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const place = box.current;
    if (!place || table) return;
    let ended = false;
    let end = () => {};
    void import('./plot').then(({ plot }) => {
      if (!ended) end = plot(place, at, series, COLOURS);
    });
    return () => {
      ended = true;
      end();
    };
  }, [at, series, table]);
  return (
    <figure className="chart">
      <figcaption>
        <strong>{title}</strong>
        <span className="legend">
          {series.map((s, i) => (
            <span key={s.name}>
              <i style={{ background: `var(${COLOURS[i % COLOURS.length]})` }} aria-hidden="true" /> {s.name}
            </span>
          ))}
        </span>
        <button type="button" className="token" aria-pressed={table} onClick={() => setTable(!table)}>
          {t('Show as table')}
        </button>
      </figcaption>
      {table ? (
        <div className="table-scroll" tabIndex={0} role="region" aria-label={title}>
          <table>
            <thead>
              <tr>
                <th>{t('Time')}</th>
                {series.map((s) => (
                  <th key={s.name} className="end">
                    {s.name} ({s.unit})
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {at.map((time, i) => (
                <tr key={time}>
                  <td className="num">{stamp(time)}</td>
                  {series.map((s) => (
                    <td key={s.name} className="num end">
                      {s.values[i] ?? '–'}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ) : (
        <div ref={box} className="plot" role="img" aria-label={title} />
      )}
    </figure>
  );
}

const CELLS: Record<string, string> = {
  ok: msg('connected'),
  degraded: msg('degraded'),
  down: msg('down'),
  unknown: msg('unknown'),
};
const WIDTH = 5;

/** The last 90 minutes, a cell a minute: full, half, gap or dotted. */
export function HistoryBar({ cells, end, label }: { cells: string[]; end: number; label: string }) {
  const bad = cells.filter((c) => c === 'down').length;
  const half = cells.filter((c) => c === 'degraded').length;
  return (
    <svg
      className="history"
      viewBox={`0 0 ${90 * WIDTH} 24`}
      preserveAspectRatio="none"
      role="img"
      aria-label={t('{label}: of 90 minutes {half} degraded, {bad} down', { label, half, bad })}
    >
      {cells.map((cell, i) => (
        <rect
          key={i}
          className={`cell ${cell}`}
          x={i * WIDTH}
          width={WIDTH - 1}
          y={cell === 'ok' ? 0 : cell === 'degraded' ? 12 : 20}
          height={cell === 'ok' ? 24 : cell === 'degraded' ? 12 : 4}
        >
          <title>{`${cell === 'down' ? '✕ ' : ''}${clock(end - (cells.length - 1 - i) * 60_000)} ${t(CELLS[cell] ?? cell)}`}</title>
        </rect>
      ))}
    </svg>
  );
}
