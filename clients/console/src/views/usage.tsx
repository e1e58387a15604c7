// Usage: what does it cost, and what stops it?
import { Link } from 'wouter';
import { type Budget, type Usage as Data, type Paged, type UsageRow, useOne } from '../data';
import { t } from '../i18n';
import { useFilters } from '../lib/filters';
import { count, money, percent } from '../lib/format';
import { Bar, Chart, Figure, PageHead, StateView } from '../ui';

export default function Usage() {
  const [filters, setFilters] = useFilters();
  const range = filters.range ?? 'today';
  const query = useOne<Data>('usage', { range });
  const usage = query.data;
  const ranges: [string, string][] = [
    ['today', t('today')],
    ['7d', t('7 days')],
    ['30d', t('30 days')],
  ];
  return (
    <div className="page">
      <PageHead
        title={t('Usage')}
        actions={ranges.map(([id, name]) => (
          <button
            key={id}
            type="button"
            className="token"
            aria-pressed={range === id}
            onClick={() => setFilters({ range: id === 'today' ? null : id })}
          >
            {name}
          </button>
        ))}
      />
      <div className="scroll-page">
        <StateView
          query={query}
          empty={usage !== undefined && usage.cost === 0 && usage.agents.length === 0}
          nothing={{
            text: t('Nothing was spent yet.'),
            actions: (
              <Link href="/chat" className="button primary">
                {t('Open Chat')}
              </Link>
            ),
          }}
        >
          {usage && (
            <>
              <div className="figures small">
                <Figure
                  value={money(usage.cost)}
                  label={t('spent, {range}', { range: ranges.find(([id]) => id === range)?.[1] ?? range })}
                  href="/traces"
                />
                {usage.limit !== null && (
                  <Figure value={percent(usage.used)} label={t('of {limit} a day', { limit: money(usage.limit) })} />
                )}
              </div>
              {usage.limit !== null && (
                <Bar
                  share={usage.used}
                  tone={usage.used >= 0.8 ? 'warn' : 'accent'}
                  label={t('{p} of the budget of today', { p: percent(usage.used) })}
                />
              )}
              {usage.unpriced > 0 && (
                <p className="muted">
                  {t(
                    '{n, plural, one {# model has} other {# models have}} no price; their calls count as tokens only.',
                    { n: usage.unpriced },
                  )}
                </p>
              )}
              <div className="columns section">
                <Chart title={t('Cost by agent, $')} at={usage.at} series={usage.series} />
                <Chart title={t('Answers per hour and seconds to answer')} at={usage.at} series={usage.answers} />
              </div>
              <div className="columns section">
                <Rows title={t('By room')} rows={usage.rooms} href={(row) => `/memory?tab=rooms&id=${row.id}`} />
                <Rows title={t('By model')} rows={usage.models} href={() => '/settings?tab=models'} cached />
                <Rows title={t('By agent')} rows={usage.agents} href={(row) => `/agents/${row.id}/edit`} />
              </div>
            </>
          )}
        </StateView>
        <Budgets />
      </div>
    </div>
  );
}

function Rows({
  title,
  rows,
  href,
  cached,
}: {
  title: string;
  rows: UsageRow[];
  href: (row: UsageRow) => string;
  cached?: boolean;
}) {
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      <table>
        <tbody>
          {rows.map((row) => (
            <tr key={row.id}>
              <td>
                <Link href={href(row)}>{row.name}</Link>
                {cached && row.cached > 0 && (
                  <small className="muted"> {t('{p} cached', { p: percent(row.cached) })}</small>
                )}
              </td>
              <td className="num end">
                {row.cost === null ? t('{n} tok', { n: count(row.tokens) }) : money(row.cost)}
              </td>
              <td className="num end">{row.cost === null ? '–' : percent(row.share)}</td>
              <td>
                <Bar share={row.share} label={`${row.name}: ${percent(row.share)}`} tone={cached ? 'plum' : 'accent'} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** Limits of money and tokens that are nearly used up. All limits are settings. */
function Budgets() {
  const query = useOne<Paged<Budget>>('budgets');
  const items = query.data?.items ?? [];
  const change = (
    <Link href="/settings?q=budget" className="button">
      {t('Change budgets in Settings')}
    </Link>
  );
  return (
    <section className="section" aria-label={t('Budgets')}>
      <div className="buttons">
        <h2>{t('Budgets')}</h2>
        {change}
      </div>
      <StateView
        query={query}
        rows={2}
        empty={items.length === 0}
        nothing={{ text: t('No budget is nearly used up.') }}
      >
        {items.map((b) => (
          <div key={b.id} className="record">
            <div>
              <div className="record-title">
                <strong>{b.scope}</strong> <span className="num">{percent(b.percent / 100)}</span>
              </div>
              <p className="muted">
                <code>{b.setting}</code>
              </p>
              <Bar
                share={Math.min(1, b.percent / 100)}
                tone={b.percent >= 80 ? 'warn' : 'accent'}
                label={`${b.scope}: ${percent(b.percent / 100)}`}
              />
            </div>
          </div>
        ))}
      </StateView>
    </section>
  );
}
