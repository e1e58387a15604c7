// Connectors: is each platform listening, and if not, what is to do?
import { useState } from 'react';
import { useParams } from 'wouter';
import { type Connector, call, faultOf, type LoginStep, type Paged, useAction, useOne } from '../data';
import { t } from '../i18n';
import { useFilters } from '../lib/filters';
import { ago, span } from '../lib/format';
import { useNow } from '../lib/prefs';
import {
  Button,
  Countdown,
  Dialog,
  ErrorNote,
  HistoryBar,
  PageHead,
  PlatformTag,
  platformName,
  RoleGate,
  StateChip,
  StateView,
  Stepper,
  useOverlay,
} from '../ui';

const PLATFORMS = ['telegram', 'discord', 'x'];

export default function Connectors() {
  const { id } = useParams<{ id?: string }>();
  const [filters, setFilters] = useFilters();
  const query = useOne<Paged<Connector>>('connectors');
  const all = query.data?.items ?? [];
  const items = id ? all.filter((c) => c.id === id) : all;
  const add = (
    <RoleGate needs="operator">
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
      {filters.add && <Add onClose={() => setFilters({ add: null })} />}
    </div>
  );
}

function Card({ connector: c }: { connector: Connector }) {
  const now = useNow(15_000);
  const { toast, fail, confirm } = useOverlay();
  const run = useAction(
    ({ verb, body }: { verb: string; body?: unknown }) => call('POST', `connectors/${c.id}/${verb}`, body),
    ['connectors', 'attention'],
  );
  const check = () =>
    run.mutate(
      { verb: 'check' },
      { onSuccess: () => toast(t('{name} was checked.', { name: c.name })), onError: fail },
    );
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
            <Button onClick={asked} busy={run.isPending}>
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
      {c.problems.map((problem) => (
        <ErrorNote
          key={problem.code}
          fault={{
            code: problem.code,
            title: problem.title,
            cause: [problem.cause, problem.now].filter(Boolean).join(' '),
          }}
        >
          {problem.fix && (
            <RoleGate needs="operator">
              <Button
                small
                onClick={() =>
                  run.mutate(
                    { verb: 'fix', body: { action: problem.fix?.action, code: problem.code } },
                    { onSuccess: () => toast(t('Repaired.')), onError: fail },
                  )
                }
              >
                {problem.fix.label}
              </Button>
            </RoleGate>
          )}
          <a href={`/docs/errors/${problem.code}`} target="_blank" rel="noopener noreferrer">
            {t('Explain {code}', { code: problem.code })}
          </a>
        </ErrorNote>
      ))}
      <div className="checks">
        {c.checks.map((x) => (
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

/** A new connection: the platform, then the steps of the server with a check after each. */
function Add({ onClose }: { onClose: () => void }) {
  const [platform, setPlatform] = useState<string | null>(null);
  const next = useAction(
    ({ name, fields, step }: { name: string; fields?: Record<string, string>; step?: string }) =>
      call<LoginStep>('POST', `connectors/${name}/login`, { fields, step }),
    ['connectors', 'checklist', 'attention'],
  );
  const step = next.data;
  return (
    <Dialog
      title={platform ? t('Connect {name}', { name: platformName(platform) }) : t('Connect a platform')}
      onClose={onClose}
    >
      {!platform && (
        <div className="buttons">
          {PLATFORMS.map((name, i) => (
            <Button
              key={name}
              autoFocus={i === 0}
              onClick={() => {
                setPlatform(name);
                next.mutate({ name });
              }}
            >
              {platformName(name)}
            </Button>
          ))}
        </div>
      )}
      {next.error && (
        <ErrorNote fault={faultOf(next.error)}>
          {platform && (
            <Button small onClick={() => next.mutate({ name: platform })}>
              {t('Try again')}
            </Button>
          )}
        </ErrorNote>
      )}
      {platform && !step && next.isPending && <p role="status">▸ {t('Checking…')}</p>}
      {platform && step && (
        <Stepper
          step={step}
          busy={next.isPending}
          onSubmit={(fields) => next.mutate({ name: platform, fields, step: step.id })}
          onDone={onClose}
        />
      )}
    </Dialog>
  );
}
