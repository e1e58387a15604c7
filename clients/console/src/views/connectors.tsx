// Connectors: is each platform listening, and if not, what is to do?
import { useParams } from 'wouter';
import { type CheckResult, type Connector, call, type Paged, useAction, useOne } from '../data';
import { t } from '../i18n';
import { useFilters } from '../lib/filters';
import { ago, span } from '../lib/format';
import { useNow } from '../lib/prefs';
import {
  Button,
  Countdown,
  ErrorNote,
  HistoryBar,
  PageHead,
  PlatformTag,
  RoleGate,
  StateChip,
  StateView,
  useOverlay,
} from '../ui';
import { Connect } from './connect';

export default function Connectors() {
  const { id } = useParams<{ id?: string }>();
  const [filters, setFilters] = useFilters();
  const query = useOne<Paged<Connector>>('connectors');
  const all = query.data?.items ?? [];
  const items = id ? all.filter((c) => c.id === id) : all;
  const add = (
    <RoleGate needs="owner">
      <Button kind="primary" onClick={() => setFilters({ add: '1' })}>
        {t('Connect a platform')}
      </Button>
    </RoleGate>
  );
  return (
    <div className="page">
      <PageHead title={t('Connectors')} actions={add} />
      <div className="scroll-page">
        <StateView
          query={query}
          empty={items.length === 0}
          nothing={{ text: t('No platform is connected. The web chat works without one.'), actions: add }}
        >
          {items.map((connector) => (
            <Card key={connector.id} connector={connector} />
          ))}
        </StateView>
      </div>
      {filters.add && <Connect kind="platform" onClose={() => setFilters({ add: null })} />}
    </div>
  );
}

type Problem = Connector['problems'][number];

function Card({ connector: c }: { connector: Connector }) {
  const now = useNow(15_000);
  const { toast, fail, confirm } = useOverlay();
  const run = useAction(
    ({ verb, body }: { verb: string; body?: unknown }) => call('POST', `connectors/${c.id}/${verb}`, body),
    ['connectors', 'attention'],
  );
  const look = useAction(() => call<CheckResult>('POST', `connectors/${c.id}/check`), ['connectors', 'attention']);
  const checks = look.data?.checks ?? c.checks;
  const problems = look.data
    ? [...look.data.problems, ...c.problems.filter((p) => !look.data.problems.some((q) => q.code === p.code))]
    : c.problems;
  const check = () =>
    look.mutate(undefined, { onSuccess: () => toast(t('{name} was checked.', { name: c.name })), onError: fail });
  const asked = () =>
    c.paid
      ? confirm({
          title: t('Check {name}?', { name: c.name }),
          text: t('This check costs money: {price}.', { price: c.paid }),
          action: t('Check connector'),
          danger: false,
          onConfirm: check,
        })
      : check();
  const copy = (text: string) => void navigator.clipboard?.writeText(text).then(() => toast(t('The link is copied.')));
  return (
    <article className="connector">
      <div className="record-title">
        <PlatformTag platform={c.platform} />
        <h2>{c.name}</h2>
        <StateChip state={c.state} />
        {c.since > 0 && <span className="muted">{t('since {time}', { time: ago(c.since, now) })}</span>}
        <span>{c.account}</span>
        <span className="muted">{[c.scope, c.agent].filter(Boolean).join(' · ')}</span>
        <span className="page-actions">
          <RoleGate needs="operator">
            <Button onClick={asked} busy={look.isPending}>
              {t('Check connector')}
            </Button>
            <Button
              onClick={() =>
                run.mutate(
                  { verb: 'reconnect' },
                  { onSuccess: () => toast(t('{name} connects again.', { name: c.name })), onError: fail },
                )
              }
            >
              {t('Reconnect')}
            </Button>
          </RoleGate>
        </span>
      </div>
      {c.history.length > 0 && <HistoryBar cells={c.history} end={now} label={c.name} />}
      {problems.map((problem: Problem) => (
        <ErrorNote
          key={problem.code}
          fault={{
            code: problem.code,
            title: problem.title,
            cause: [problem.cause, problem.now].filter(Boolean).join(' '),
          }}
        >
          {problem.fix && !problem.fix.action && <p className="cause">{problem.fix.label}</p>}
          {problem.fix?.action && (
            <RoleGate needs="owner">
              <Button
                small
                onClick={() =>
                  run.mutate(
                    { verb: 'fix', body: { action: problem.fix?.action, code: problem.code } },
                    {
                      onSuccess: () => {
                        look.reset();
                        toast(t('Repaired.'));
                      },
                      onError: fail,
                    },
                  )
                }
              >
                {problem.fix.label}
              </Button>
            </RoleGate>
          )}
          <code>galatea explain {problem.code}</code>
        </ErrorNote>
      ))}
      <div className="checks">
        {checks.map((x) => (
          <span key={x.text} className={x.ok ? 'ok' : 'bad'}>
            {x.ok ? '✓' : '✕'} {x.text}
          </span>
        ))}
        {c.lastEvent > 0 && (
          <span className="text-2">{t('last event {time}', { time: span(Math.max(0, now - c.lastEvent)) })}</span>
        )}
        {c.bucket && (
          <span className="num">
            {t('sends {used}/{limit}', { used: c.bucket.used, limit: c.bucket.limit })}{' '}
            <Countdown at={c.bucket.resetAt} />
          </span>
        )}
        {c.breaker && <span className="text-2">{t('breaker {state}', { state: c.breaker })}</span>}
        {c.history.length > 0 && (
          <span className="text-2">
            {t('{n, plural, one {# reconnect} other {# reconnects}} today', { n: c.reconnects })}
          </span>
        )}
        {c.invite && (
          <Button small onClick={() => copy(c.invite ?? '')}>
            {t('Copy invite link')}
          </Button>
        )}
      </div>
    </article>
  );
}
