// Users → my sessions: where the user is signed in, and a password of one's own.
import { useState } from 'react';
import { call, type DeviceSession, faultOf, type Paged, useAction, useOne } from '../data';
import { t } from '../i18n';
import { Button, Dialog, ErrorNote, StateView, TextField, Time, useOverlay } from '../ui';

/** A password for browsers that have no link at hand. */
function SetPassword({ onClose }: { onClose: () => void }) {
  const [current, setCurrent] = useState('');
  const [password, setPassword] = useState('');
  const { toast } = useOverlay();
  const save = useAction(
    (body: { current?: string; password: string }) => call('PUT', 'session/password', body),
    ['session', 'sessions'],
  );
  const short = password.length < SHORTEST;
  return (
    <Dialog title={t('Set my password')} onClose={onClose}>
      <TextField label={t('Present password, if there is one')} value={current} onChange={setCurrent} type="password" />
      <TextField
        label={t('New password')}
        value={password}
        onChange={setPassword}
        type="password"
        hint={t('At least {n} characters', { n: SHORTEST })}
      />
      {save.error && <ErrorNote fault={faultOf(save.error)} />}
      <div className="buttons end">
        <Button onClick={onClose}>{t('Cancel')}</Button>
        <Button
          kind="primary"
          disabled={short}
          why={t('At least {n} characters', { n: SHORTEST })}
          busy={save.isPending}
          onClick={() =>
            save.mutate(
              { ...(current ? { current } : {}), password },
              {
                onSuccess: () => {
                  toast(t('The password is set.'));
                  onClose();
                },
              },
            )
          }
        >
          {t('Set password')}
        </Button>
      </div>
    </Dialog>
  );
}

/** Fewest characters of a password that the server takes. */
const SHORTEST = 12;

export function Sessions() {
  const [setting, setSetting] = useState(false);
  const query = useOne<Paged<DeviceSession>>('sessions');
  const { toast, fail } = useOverlay();
  const end = useAction((id: string) => call('DELETE', `sessions/${id}`), ['sessions', 'session']);
  const items = query.data?.items ?? [];
  return (
    <>
      <p className="buttons section">
        <Button onClick={() => setSetting(true)}>{t('Set my password')}</Button>
      </p>
      {setting && <SetPassword onClose={() => setSetting(false)} />}
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
    </>
  );
}
