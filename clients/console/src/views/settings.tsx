// Settings: what is set, by whom, and is it safe? Also health, plugins, MCP servers, access and backups.

import { useState } from 'react';
import { Link } from 'wouter';
import { type Backup, call, type Finding, offers, type Paged, type Setting, useAction, useOne } from '../data';
import { msg, t } from '../i18n';
import { fits, useFilters } from '../lib/filters';
import { bytes, stamp } from '../lib/format';
import {
  Button,
  FilterBar,
  PageHead,
  RoleGate,
  SecretField,
  Select,
  StateChip,
  StateView,
  Tabs,
  TextField,
  Time,
  useOverlay,
} from '../ui';
import { Connect } from './connect';
import { Access } from './settings-access';
import { Extensions } from './settings-extensions';

const ORIGINS: Record<string, string> = {
  env: msg('environment'),
  file: msg('.env file'),
  toml: msg('galatea.toml'),
  character: msg('character'),
  console: msg('console'),
  default: msg('default'),
};

/** Groups of settings that are about models, as the server names them. */
const MODELS = new Set([
  'Models',
  'OpenAI and compatible servers',
  'Anthropic',
  'OpenRouter',
  'Google',
  'Groq',
  'xAI',
  'Mistral',
  'Ollama',
  'Sampling',
]);

export default function Settings() {
  const [filters, setFilters] = useFilters();
  const tab = filters.tab ?? 'all';
  return (
    <div className="page">
      <PageHead
        title={t('Settings')}
        actions={
          tab === 'models' ? (
            <RoleGate needs="owner">
              <Button kind="primary" onClick={() => setFilters({ connect: '1' })}>
                {t('Connect a model')}
              </Button>
            </RoleGate>
          ) : undefined
        }
      />
      <Tabs
        label={t('Settings')}
        active={tab}
        onChange={(id) => setFilters({ tab: id === 'all' ? null : id, q: null })}
        tabs={[
          { id: 'all', label: t('Values') },
          { id: 'models', label: t('Models') },
          { id: 'health', label: t('Health') },
          { id: 'plugins', label: t('Plugins and MCP') },
          { id: 'access', label: t('Access and tasks') },
          ...(offers('GET', 'backups') ? [{ id: 'backup', label: t('Backup') }] : []),
        ]}
      />
      {filters.connect && <Connect kind="model" onClose={() => setFilters({ connect: null })} />}
      {(tab === 'all' || tab === 'models') && <Values only={tab === 'models' ? MODELS : undefined} />}
      <div className="scroll-page" hidden={tab === 'all' || tab === 'models'}>
        {tab === 'health' && <Health />}
        {tab === 'plugins' && <Extensions />}
        {tab === 'access' && <Access />}
        {tab === 'backup' && <Backups />}
      </div>
    </div>
  );
}

function Values({ only }: { only?: Set<string> }) {
  const [filters, setFilters] = useFilters();
  const query = useOne<Paged<Setting>>('settings');
  const words = filters.q ?? '';
  const items = (query.data?.items ?? []).filter(
    (s) => (!only || only.has(s.group)) && (!words || fits(words, s.key, s.text, s.group)),
  );
  const groups = [...new Set(items.map((s) => s.group))];
  return (
    <>
      <FilterBar value={words} onChange={(q) => setFilters({ q }, true)} placeholder={t('Filter settings')} />
      <div className="scroll-page">
        <StateView
          query={query}
          empty={items.length === 0}
          filter={words}
          onClear={() => setFilters({ q: null })}
          nothing={{ text: t('Nothing can be set here.') }}
        >
          {groups.map((name) => (
            <section key={name} className="section" aria-label={name}>
              <h2>{name}</h2>
              {items
                .filter((s) => s.group === name)
                .map((s) => (
                  <Row key={s.key} setting={s} />
                ))}
            </section>
          ))}
        </StateView>
      </div>
    </>
  );
}

function Row({ setting: s }: { setting: Setting }) {
  const [value, setValue] = useState<string | null>(null);
  const { toast, fail } = useOverlay();
  const save = useAction(
    (next: string | null) => call<Setting>('PATCH', `settings/${s.key}`, { value: next }),
    ['settings', 'checklist', 'agents', 'connectors', 'attention'],
  );
  const store = (next: string | null) => {
    const before = s.origin === 'console' ? s.value : null;
    save.mutate(next, {
      onSuccess: (made) => {
        setValue(null);
        toast(
          made?.restarted
            ? t('{key} is saved. The agents start anew with it.', { key: s.key })
            : s.needsRestart
              ? t('{key} is saved. It acts after a restart.', { key: s.key })
              : t('{key} is saved.', { key: s.key }),
          s.secret ? undefined : () => save.mutate(before),
        );
      },
      onError: fail,
    });
  };
  const secret = s.secret
    ? s.tail
      ? t('set, ends in {tail}{when}', {
          tail: s.tail,
          when: s.changedAt ? t(', changed {date}', { date: stamp(s.changedAt) }) : '',
        })
      : s.isSet
        ? `${t('set')}${s.changedAt ? t(', changed {date}', { date: stamp(s.changedAt) }) : ''}`
        : t('not set')
    : '';
  return (
    <div className="setting">
      <code>{s.key}</code>
      {s.secret && s.editable ? (
        <RoleGate needs="owner">
          <SecretField label={s.key} state={secret} onSave={store} busy={save.isPending} />
        </RoleGate>
      ) : value !== null ? (
        <div className="buttons">
          {s.choices ? (
            <Select
              label={s.key}
              hideLabel
              value={value}
              onChange={setValue}
              options={s.choices.map((c) => ({ value: c, label: c }))}
            />
          ) : (
            <TextField label={s.key} hideLabel value={value} onChange={setValue} mono />
          )}
          <Button kind="primary" small onClick={() => store(value)} busy={save.isPending}>
            {t('Save value')}
          </Button>
          <Button small onClick={() => setValue(null)}>
            {t('Cancel')}
          </Button>
        </div>
      ) : (
        <span className="buttons">
          <span className="mono num">{s.secret ? secret : (s.value ?? t('not set'))}</span>
          {s.editable && (
            <RoleGate needs="owner">
              <Button small onClick={() => setValue(s.value ?? '')}>
                {t('Change')}
                <span className="sr"> {s.key}</span>
              </Button>
              {s.origin === 'console' && (
                <Button small onClick={() => store(null)}>
                  {t('Use the default')}
                  <span className="sr"> {s.key}</span>
                </Button>
              )}
            </RoleGate>
          )}
        </span>
      )}
      <span className="chip muted" title={s.place || undefined}>
        {s.origin === 'file' || s.origin === 'toml' ? s.place : t(ORIGINS[s.origin] ?? s.origin)}
      </span>
      <span className="about">
        {s.text} {!s.editable && t('Set by the environment.')}{' '}
        {s.needsRestart && <span className="warn">◐ {t('needs restart')}</span>}
      </span>
    </div>
  );
}

function Health() {
  const query = useOne<Paged<Finding>>('findings');
  const items = query.data?.items ?? [];
  return (
    <StateView query={query} empty={items.length === 0} nothing={{ text: t('Nothing is wrong.') }}>
      {items.map((f) => (
        <div key={f.id} className="record">
          <div>
            <div className="record-title">
              <StateChip state={f.severity} /> <strong>{f.subject}</strong>
            </div>
            <p>{f.message}</p>
            {f.fix?.command && <code>{f.fix.command}</code>}
          </div>
          {f.fix?.href && (
            <Link href={f.fix.href} className="button">
              {f.fix.label}
            </Link>
          )}
        </div>
      ))}
    </StateView>
  );
}

function Backups() {
  const query = useOne<Paged<Backup>>('backups');
  const { toast, fail } = useOverlay();
  const make = useAction(() => call('POST', 'backups'), ['backups', 'findings']);
  const items = query.data?.items ?? [];
  return (
    <>
      <div className="buttons section">
        <RoleGate needs="owner">
          <Button
            kind="primary"
            busy={make.isPending}
            onClick={() =>
              make.mutate(undefined, { onSuccess: () => toast(t('The backup is written.')), onError: fail })
            }
          >
            {t('Back up now')}
          </Button>
        </RoleGate>
        <a className="button" href="/api/v1/agents/export" download>
          {t('Export agents')}
        </a>
      </div>
      <StateView query={query} empty={items.length === 0} nothing={{ text: t('No backup yet.') }}>
        {items.map((b) => (
          <div key={b.name} className="record">
            <div>
              <code>{b.name}</code> <span className="muted num">{bytes(b.size)}</span>
            </div>
            <Time at={b.at} />
          </div>
        ))}
        <p className="muted">
          {t('To restore one, stop Galatea and run')} <code>galatea db restore NAME</code>.
        </p>
      </StateView>
    </>
  );
}
