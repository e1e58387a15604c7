// Usage: what does it cost, and what stops it?
import { useState } from 'react';
import { Link } from 'wouter';
import { type Budget, call, type Usage as Data, faultOf, type Paged, type UsageRow, useAction, useOne } from '../data';
import { t } from '../i18n';
import { useFilters } from '../lib/filters';
import { count, money, percent } from '../lib/format';
import {
  Bar,
  Button,
  Chart,
  Combobox,
  Dialog,
  ErrorNote,
  Figure,
  PageHead,
  RoleGate,
  Select,
  StateView,
  TextField,
  useOverlay,
} from '../ui';

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
        <Budgets agents={usage?.agents.map((a) => a.name) ?? []} />
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

function Budgets({ agents }: { agents: string[] }) {
  const query = useOne<Paged<Budget>>('budgets');
  const [adding, setAdding] = useState(false);
  const { toast, fail, confirm } = useOverlay();
  const remove = useAction((id: string) => call('DELETE', `budgets/${id}`), ['budgets', 'usage']);
  const items = query.data?.items ?? [];
  return (
    <section className="section" aria-label={t('Budgets')}>
      <div className="buttons">
        <h2>{t('Budgets')}</h2>
        <RoleGate needs="owner">
          <Button onClick={() => setAdding(true)}>{t('Add budget')}</Button>
        </RoleGate>
      </div>
      <StateView
        query={query}
        rows={2}
        empty={items.length === 0}
        nothing={{ text: t('No budget. Nothing stops the cost of models.') }}
      >
        {items.map((b) => (
          <div key={b.id} className="record">
            <div>
              <div className="record-title">
                <strong>{b.scope}</strong>{' '}
                <span className="num">
                  {money(b.used)} / {money(b.limit)} {b.period === 'day' ? t('a day') : t('a month')}
                </span>
              </div>
              <p className="muted">{t('At 80%: {a}. At 100%: {b}.', { a: b.at80, b: b.at100 })}</p>
              <Bar
                share={b.used / b.limit}
                tone={b.used / b.limit >= 0.8 ? 'warn' : 'accent'}
                label={`${b.scope}: ${percent(b.used / b.limit)}`}
              />
            </div>
            <RoleGate needs="owner">
              <Button
                small
                onClick={() =>
                  confirm({
                    title: t('Remove the budget of {scope}?', { scope: b.scope }),
                    text: t('Nothing stops its cost any more.'),
                    action: t('Remove budget'),
                    onConfirm: () =>
                      remove.mutate(b.id, { onSuccess: () => toast(t('The budget is removed.')), onError: fail }),
                  })
                }
              >
                {t('Remove budget')}
              </Button>
            </RoleGate>
          </div>
        ))}
      </StateView>
      {adding && <AddBudget agents={agents} onClose={() => setAdding(false)} />}
    </section>
  );
}

function AddBudget({ agents, onClose }: { agents: string[]; onClose: () => void }) {
  const [scope, setScope] = useState('all agents');
  const [limit, setLimit] = useState('5');
  const [period, setPeriod] = useState('day');
  const [at100, setAt100] = useState('agents pause');
  const make = useAction((body: unknown) => call('POST', 'budgets', body), ['budgets', 'usage']);
  const amount = Number(limit);
  const valid = Number.isFinite(amount) && amount > 0;
  return (
    <Dialog title={t('Add budget')} onClose={onClose}>
      <Combobox label={t('For')} value={scope} onChange={setScope} options={['all agents', ...agents]} />
      <TextField
        label={t('Limit in US dollars')}
        value={limit}
        onChange={setLimit}
        error={valid ? undefined : t('a number above 0')}
      />
      <Select
        label={t('Period')}
        value={period}
        onChange={setPeriod}
        options={[
          { value: 'day', label: t('a day') },
          { value: 'month', label: t('a month') },
        ]}
      />
      <Select
        label={t('At 100%')}
        value={at100}
        onChange={setAt100}
        options={[
          { value: 'agents pause', label: t('agents pause') },
          { value: 'shorter answers', label: t('shorter answers') },
          { value: 'a notice to owners', label: t('a notice to owners') },
        ]}
      />
      <p className="muted">{t('At 80% the owners get a notice.')}</p>
      {make.error && <ErrorNote fault={faultOf(make.error)} />}
      <div className="buttons end">
        <Button onClick={onClose}>{t('Cancel')}</Button>
        <Button
          kind="primary"
          disabled={!valid}
          why={t('The limit is not a number above 0')}
          busy={make.isPending}
          onClick={() =>
            make.mutate({ scope, limit: amount, period, at80: 'a notice to owners', at100 }, { onSuccess: onClose })
          }
        >
          {t('Add budget')}
        </Button>
      </div>
    </Dialog>
  );
}
