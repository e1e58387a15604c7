// The five states without data, errors with cause and fix, and rights.
import { type ReactNode, useEffect, useState } from 'react';
import { Link } from 'wouter';
import { type Fault, faultOf, neededRole, type Problem, type Query, type Role, useRole, useSession } from '../data';
import { msg, t } from '../i18n';
import { clock } from '../lib/format';
import { Button } from './controls';

/** Grey rows in the form of the real ones, shown after 300 ms. */
export function Skeleton({ rows = 8 }: { rows?: number }) {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 300);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div className="skeleton" role="status" aria-label={t('Loading')}>
      {late && Array.from({ length: rows }, (_, i) => <i key={i} style={{ inlineSize: `${92 - ((i * 17) % 40)}%` }} />)}
    </div>
  );
}

const ROLES: Record<Role, string> = { viewer: msg('viewer'), operator: msg('operator'), owner: msg('owner') };

export function roleName(role: Role): string {
  return t(ROLES[role]);
}

/** An error: code, cause and the next action. */
export function ErrorNote({ fault, children }: { fault: Fault; children?: ReactNode }) {
  return (
    <div className="error-note" role="alert">
      <p>
        <strong>✕ {fault.title}</strong> <code>{fault.code}</code>
      </p>
      {fault.cause && <p className="cause">{fault.cause}</p>}
      <div className="buttons">
        {fault.fix?.href && <Link href={fault.fix.href}>{fault.fix.label}</Link>}
        {fault.fix && !fault.fix.href && <p className="cause">{fault.fix.label}</p>}
        {fault.fix?.command && <code>{fault.fix.command}</code>}
        {children}
      </div>
    </div>
  );
}

type Empty = { text: string; actions?: ReactNode };

/**
 * Shows the content of a query or the state it is in: loading, nothing yet, nothing matches, not
 * allowed, failed. Old data stays visible, dimmed and with its time, while a query fails.
 */
export function StateView(props: {
  query: Query;
  empty?: boolean;
  nothing?: Empty;
  filter?: string;
  onClear?: () => void;
  rows?: number;
  children: ReactNode;
}) {
  const { query } = props;
  if (query.isPending && !query.error) return <Skeleton rows={props.rows} />;
  if (query.error && query.data === undefined) return <Failed error={query.error} onRetry={query.refetch} />;
  const stale = query.error ? (
    <div className="strip bad" role="status">
      {t('{title}. Data from {time}.', { title: query.error.message, time: clock(query.dataUpdatedAt) })}{' '}
      <Button small onClick={() => query.refetch()}>
        {t('Try again')}
      </Button>
    </div>
  ) : null;
  if (props.empty && props.filter) {
    return (
      <div className="state">
        {stale}
        <p>{t('Nothing matches “{filter}”.', { filter: props.filter })}</p>
        {props.onClear && <Button onClick={props.onClear}>{t('Clear filter')}</Button>}
      </div>
    );
  }
  if (props.empty && props.nothing) {
    return (
      <div className="state">
        {stale}
        <p>{props.nothing.text}</p>
        <div className="buttons">{props.nothing.actions}</div>
      </div>
    );
  }
  return (
    <>
      {stale}
      <div className={query.error ? 'content dimmed' : 'content'}>{props.children}</div>
    </>
  );
}

function Failed({ error, onRetry }: { error: Problem; onRetry: () => unknown }) {
  const { data: session } = useSession();
  if (error.status === 403) {
    const needs = neededRole(error);
    return (
      <div className="state">
        <p>
          {t('Needs {needs}; you are {role}.', { needs: roleName(needs), role: roleName(session?.role ?? 'viewer') })}
        </p>
      </div>
    );
  }
  if (error.code === 'GAL-API-ROUTE') {
    return (
      <div className="state">
        <p>{t('This server does not offer this part.')}</p>
      </div>
    );
  }
  return (
    <div className="state">
      <ErrorNote fault={faultOf(error)}>
        <Button onClick={() => onRetry()}>{t('Try again')}</Button>
      </ErrorNote>
    </div>
  );
}

/** Content for a role. Others see it disabled, with the reason. */
export function RoleGate({ needs, children }: { needs: Role; children: ReactNode }) {
  const allowed = useRole(needs);
  if (allowed) return <>{children}</>;
  return (
    <fieldset className="gate" disabled title={t('Needs {needs}', { needs: roleName(needs) })}>
      <legend className="sr">{t('Needs {needs}', { needs: roleName(needs) })}</legend>
      {children}
    </fieldset>
  );
}
