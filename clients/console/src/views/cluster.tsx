// Cluster: which process does what; can one be lost? And the log.
import { useState } from 'react';
import { type Cluster as Data, type LogLine, useList, useOne } from '../data';
import { t } from '../i18n';
import { fits, useFilters } from '../lib/filters';
import { bytes, span } from '../lib/format';
import { useNow } from '../lib/prefs';
import { Button, FilterBar, LogLines, PageHead, StateChip, StateView, Tabs } from '../ui';

const SKEW_MS = 1000;
const LEVELS = ['error', 'warn', 'info', 'debug'];

export default function Cluster() {
  const [filters, setFilters] = useFilters();
  const tab = filters.tab ?? 'nodes';
  return (
    <div className="page">
      <PageHead title={t('Cluster')} />
      <Tabs
        label={t('Cluster')}
        active={tab}
        onChange={(id) => setFilters({ tab: id === 'nodes' ? null : id })}
        tabs={[
          { id: 'nodes', label: t('Processes') },
          { id: 'logs', label: t('Log') },
        ]}
      />
      {tab === 'nodes' ? <Nodes /> : <Logs />}
    </div>
  );
}

function Nodes() {
  const query = useOne<Data>('cluster');
  const now = useNow(15_000);
  const cluster = query.data;
  return (
    <div className="scroll-page">
      <StateView query={query} rows={3}>
        {cluster && (
          <>
            <div className="table-scroll free" tabIndex={0} role="region" aria-label={t('Processes')}>
              <table>
                <thead>
                  <tr>
                    {[t('Process'), t('State'), t('Role'), t('Version')].map((h) => (
                      <th key={h}>{h}</th>
                    ))}
                    {[t('Up'), t('Lag'), t('Rooms owned'), t('Answers/s'), t('Memory')].map((h) => (
                      <th key={h} className="end">
                        {h}
                      </th>
                    ))}
                  </tr>
                </thead>
                <tbody>
                  {cluster.nodes.map((n) => (
                    <tr key={n.id}>
                      <td>
                        <strong>{n.name}</strong>
                        {Math.abs(n.skew) > SKEW_MS && (
                          <p className="warn">◐ {t('clock is off by {time}', { time: span(Math.abs(n.skew)) })}</p>
                        )}
                      </td>
                      <td>
                        <StateChip state={n.state} />
                      </td>
                      <td>{n.role}</td>
                      <td className="num">{n.version}</td>
                      <td className="num end">{span(now - n.upSince)}</td>
                      <td className="num end">{n.lag === null ? '–' : span(n.lag)}</td>
                      <td className="num end">{n.rooms ?? '–'}</td>
                      <td className="num end">{n.rate === null ? '–' : n.rate.toFixed(1)}</td>
                      <td className="num end">{n.memory === null ? '–' : bytes(n.memory)}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
            {cluster.behind ? (
              <p className="section">{t('The oldest message waits for {time}.', { time: span(cluster.behind) })}</p>
            ) : null}
            {cluster.nodes.length === 1 && (
              <p className="section">
                {cluster.store === 'sqlite'
                  ? t('One process on SQLite. For more, use PostgreSQL.')
                  : t('One process. Start another with the same POSTGRES_URL to survive the loss of one.')}
              </p>
            )}
          </>
        )}
      </StateView>
    </div>
  );
}

function Logs() {
  const [filters, setFilters] = useFilters();
  const [paused, setPaused] = useState<number | null>(null);
  const query = useList<LogLine>('logs', { level: filters.level, trace: filters.trace });
  const words = filters.q ?? '';
  const items = query.items.filter(
    (line) => (paused === null || line.seq <= paused) && (!words || fits(words, line.text, line.target, line.trace)),
  );
  const copy = () => void navigator.clipboard?.writeText(JSON.stringify(items, null, 2));
  return (
    <>
      <FilterBar
        value={words}
        onChange={(q) => setFilters({ q }, true)}
        placeholder={t('Filter by words or trace id')}
        tokens={LEVELS.map((level) => ({ id: level, label: level, on: filters.level === level }))}
        onToken={(level) => setFilters({ level: filters.level === level ? null : level })}
      >
        <Button small onClick={() => setPaused(paused === null ? (query.items[0]?.seq ?? 0) : null)}>
          {paused === null ? t('Pause log') : t('Follow log')}
        </Button>
        <Button small onClick={copy}>
          {t('Copy as JSON')}
        </Button>
      </FilterBar>
      <div className="scroll-page">
        <StateView
          query={query}
          empty={items.length === 0}
          filter={[words, filters.level].filter(Boolean).join(' · ')}
          onClear={() => setFilters({ q: null, level: null, trace: null })}
          nothing={{ text: t('No log lines here.') }}
        >
          <LogLines lines={items} />
          {query.hasNextPage && (
            <p className="buttons">
              <Button busy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
                {t('Load older lines')}
              </Button>
            </p>
          )}
        </StateView>
      </div>
    </>
  );
}
