// Users: who may do what, and who did?
import { useState } from 'react';
import {
  type Change,
  call,
  type DeviceSession,
  faultOf,
  type Paged,
  type Role,
  type Token,
  type User,
  useAction,
  useList,
  useOne,
} from '../data';
import { t } from '../i18n';
import { useFilters } from '../lib/filters';
import { both, stamp } from '../lib/format';
import {
  Button,
  CodeBlock,
  Dialog,
  ErrorNote,
  PageHead,
  RoleGate,
  roleName,
  Select,
  StateChip,
  StateView,
  Tabs,
  TextField,
  Time,
  useOverlay,
} from '../ui';

const ROLES: Role[] = ['viewer', 'operator', 'owner'];

export default function Users() {
  const [filters, setFilters] = useFilters();
  const tab = filters.tab ?? 'people';
  return (
    <div className="page">
      <PageHead
        title={t('Users')}
        actions={
          <RoleGate needs="owner">
            <Button kind="primary" onClick={() => setFilters({ invite: '1' })}>
              {t('Invite a person')}
            </Button>
          </RoleGate>
        }
      />
      <Tabs
        label={t('Users')}
        active={tab}
        onChange={(id) => setFilters({ tab: id === 'people' ? null : id })}
        tabs={[
          { id: 'people', label: t('Users') },
          { id: 'tokens', label: t('Tokens') },
          { id: 'sessions', label: t('My sessions') },
          { id: 'audit', label: t('Who did what') },
        ]}
      />
      <div className="scroll-page">
        {tab === 'people' && <PeopleOfHouse />}
        {tab === 'tokens' && <Tokens />}
        {tab === 'sessions' && <Sessions />}
        {tab === 'audit' && <Audit />}
      </div>
      {filters.invite && <Invite onClose={() => setFilters({ invite: null })} />}
    </div>
  );
}

const roleOptions = () => ROLES.map((role) => ({ value: role, label: roleName(role) }));

function PeopleOfHouse() {
  const query = useOne<Paged<User>>('users');
  const { toast, fail, confirm } = useOverlay();
  const change = useAction(
    ({ id, role }: { id: string; role: string }) => call('PATCH', `users/${id}`, { role }),
    ['users'],
  );
  const remove = useAction((id: string) => call('DELETE', `users/${id}`), ['users']);
  const items = query.data?.items ?? [];
  return (
    <StateView
      query={query}
      empty={items.length === 0}
      nothing={{ text: t('No user yet. The first person through the link is owner.') }}
    >
      {items.map((u) => (
        <div key={u.id} className="record">
          <div>
            <div className="record-title">
              <strong>{u.name}</strong>
              {u.you && <span className="chip accent">{t('you')}</span>} <StateChip state={u.state} />
            </div>
            <p className="muted">
              {t('Agents: {agents}', { agents: u.agents })} ·{' '}
              {u.lastSeen ? <Time at={u.lastSeen} /> : t('never signed in')}
            </p>
          </div>
          <RoleGate needs="owner">
            <div className="buttons">
              <Select
                label={t('Role of {name}', { name: u.name })}
                hideLabel
                value={u.role}
                options={roleOptions()}
                onChange={(role) =>
                  change.mutate(
                    { id: u.id, role },
                    {
                      onSuccess: () =>
                        toast(t('{name} is {role} now.', { name: u.name, role: roleName(role as Role) }), () =>
                          change.mutate({ id: u.id, role: u.role }),
                        ),
                      onError: fail,
                    },
                  )
                }
              />
              <Button
                small
                kind="danger"
                disabled={!u.removable}
                why={u.why}
                onClick={() =>
                  confirm({
                    title: t('Remove {name}?', { name: u.name }),
                    text: t('{name} is signed out everywhere.', { name: u.name }),
                    action: t('Remove user'),
                    onConfirm: () =>
                      remove.mutate(u.id, {
                        onSuccess: () => toast(t('{name} is removed.', { name: u.name })),
                        onError: fail,
                      }),
                  })
                }
              >
                {t('Remove user')}
              </Button>
            </div>
          </RoleGate>
          {!u.removable && u.why && <p className="muted wide">{t('Cannot be removed: {why}.', { why: u.why })}</p>}
        </div>
      ))}
    </StateView>
  );
}

function Invite({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState('');
  const [role, setRole] = useState<string>('viewer');
  const invite = useAction(
    (body: { name: string; role: string }) => call<{ link: string; expires: number }>('POST', 'users', body),
    ['users'],
  );
  return (
    <Dialog title={t('Invite a person')} onClose={onClose}>
      {invite.data ? (
        <>
          <p>{t('This link signs {name} in, once, within 24 hours:', { name })}</p>
          <CodeBlock label={t('Invite link')} text={invite.data.link} />
          <div className="buttons end">
            <Button onClick={onClose}>{t('Close')}</Button>
          </div>
        </>
      ) : (
        <>
          <TextField label={t('Name')} value={name} onChange={setName} autoFocus />
          <Select label={t('Role')} value={role} onChange={setRole} options={roleOptions()} />
          {invite.error && <ErrorNote fault={faultOf(invite.error)} />}
          <div className="buttons end">
            <Button onClick={onClose}>{t('Cancel')}</Button>
            <Button
              kind="primary"
              disabled={!name.trim()}
              why={t('The person needs a name')}
              busy={invite.isPending}
              onClick={() => invite.mutate({ name, role })}
            >
              {t('Make invite link')}
            </Button>
          </div>
        </>
      )}
    </Dialog>
  );
}

function Tokens() {
  const query = useOne<Paged<Token>>('tokens');
  const [adding, setAdding] = useState(false);
  const { toast, fail, confirm } = useOverlay();
  const revoke = useAction((id: string) => call('DELETE', `tokens/${id}`), ['tokens']);
  const items = query.data?.items ?? [];
  return (
    <>
      <p className="buttons section">
        <RoleGate needs="owner">
          <Button onClick={() => setAdding(true)}>{t('New token')}</Button>
        </RoleGate>
      </p>
      <StateView
        query={query}
        empty={items.length === 0}
        nothing={{ text: t('No token. Programs use tokens to reach the interface.') }}
      >
        {items.map((k) => (
          <div key={k.id} className="record">
            <div>
              <div className="record-title">
                <strong>{k.name}</strong>{' '}
                {k.scopes.map((s) => (
                  <code key={s}>{s}</code>
                ))}
              </div>
              <p className="muted">
                {k.lastUsed ? t('used {time}', { time: stamp(k.lastUsed) }) : t('never used')} ·{' '}
                {t('made {time}', { time: stamp(k.createdAt) })}
              </p>
            </div>
            <RoleGate needs="owner">
              <Button
                small
                kind="danger"
                onClick={() =>
                  confirm({
                    title: t('Revoke {name}?', { name: k.name }),
                    text: t('Programs with this token are refused at once.'),
                    action: t('Revoke token'),
                    onConfirm: () =>
                      revoke.mutate(k.id, { onSuccess: () => toast(t('The token is revoked.')), onError: fail }),
                  })
                }
              >
                {t('Revoke token')}
              </Button>
            </RoleGate>
          </div>
        ))}
      </StateView>
      {adding && <NewToken onClose={() => setAdding(false)} />}
    </>
  );
}

const SCOPES = ['read', 'chat', 'operate', 'own'];

function NewToken({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState('');
  const [scopes, setScopes] = useState<string[]>(['read']);
  const make = useAction(
    (body: { name: string; scopes: string[] }) => call<{ secret: string }>('POST', 'tokens', body),
    ['tokens'],
  );
  return (
    <Dialog title={t('New token')} onClose={onClose}>
      {make.data ? (
        <>
          <p>{t('The token is shown only now. Copy it.')}</p>
          <CodeBlock label={t('Token')} text={make.data.secret} />
          <div className="buttons end">
            <Button onClick={onClose}>{t('Close')}</Button>
          </div>
        </>
      ) : (
        <>
          <TextField label={t('Name')} value={name} onChange={setName} autoFocus />
          <fieldset className="field">
            <legend className="field-label">{t('Scopes')}</legend>
            {SCOPES.map((s) => (
              <label key={s} className="check">
                <input
                  type="checkbox"
                  checked={scopes.includes(s)}
                  onChange={(event) => setScopes(event.target.checked ? [...scopes, s] : scopes.filter((x) => x !== s))}
                />{' '}
                <code>{s}</code>
              </label>
            ))}
          </fieldset>
          {make.error && <ErrorNote fault={faultOf(make.error)} />}
          <div className="buttons end">
            <Button onClick={onClose}>{t('Cancel')}</Button>
            <Button
              kind="primary"
              disabled={!name.trim() || scopes.length === 0}
              why={t('Name and scope are needed')}
              busy={make.isPending}
              onClick={() => make.mutate({ name, scopes })}
            >
              {t('Make token')}
            </Button>
          </div>
        </>
      )}
    </Dialog>
  );
}

function Sessions() {
  const query = useOne<Paged<DeviceSession>>('sessions');
  const { toast, fail } = useOverlay();
  const end = useAction((id: string) => call('DELETE', `sessions/${id}`), ['sessions', 'session']);
  const items = query.data?.items ?? [];
  return (
    <StateView query={query} empty={items.length === 0} nothing={{ text: t('No session.') }}>
      {items.map((s) => (
        <div key={s.id} className="record">
          <div>
            <div className="record-title">
              <strong>{s.device}</strong>
              {s.current && <span className="chip accent">{t('this browser')}</span>}
            </div>
            <p className="muted">
              {s.from} · <Time at={s.lastSeen} />
            </p>
          </div>
          <Button
            small
            onClick={() => end.mutate(s.id, { onSuccess: () => toast(t('The session is ended.')), onError: fail })}
          >
            {s.current ? t('Sign out') : t('End session')}
          </Button>
        </div>
      ))}
    </StateView>
  );
}

function Audit() {
  const query = useList<Change>('changes');
  return (
    <StateView query={query} empty={query.items.length === 0} nothing={{ text: t('Nothing was changed yet.') }}>
      <div className="table-scroll free" tabIndex={0} role="region" aria-label={t('Who did what')}>
        <table>
          <thead>
            <tr>
              {[t('When'), t('Who'), t('What'), t('Before'), t('After'), t('From')].map((h) => (
                <th key={h}>{h}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {query.items.map((c) => (
              <tr key={c.seq}>
                <td className="num" title={both(c.at)}>
                  {stamp(c.at)}
                </td>
                <td>{c.who}</td>
                <td>
                  <code>{c.what}</code> {c.target}
                </td>
                <td>{c.before}</td>
                <td>{c.after}</td>
                <td className="num">{c.from}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {query.hasNextPage && (
        <p className="buttons section">
          <Button onClick={() => void query.fetchNextPage()}>{t('Load older changes')}</Button>
        </p>
      )}
    </StateView>
  );
}
