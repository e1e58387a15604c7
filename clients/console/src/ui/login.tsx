// The sign-in card: the link signs in; without one it says how to get one.
import { useState } from 'react';
import type { Fault, SignIn } from '../data';
import { t } from '../i18n';
import { Button, TextField } from './controls';
import { ErrorNote } from './states';

type Props = {
  ways?: SignIn;
  fault?: Fault | null;
  busy: boolean;
  onPassword: (name: string, password: string) => void;
};

export function LoginCard({ ways, fault, busy, onPassword }: Props) {
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  return (
    <div className="login">
      <p className="brand">Galatea</p>
      <h1>{t('Sign in')}</h1>
      {busy && <p role="status">{t('Signing in…')}</p>}
      {fault && <ErrorNote fault={fault} />}
      <p>{t('Run this on the machine of Galatea for a link that signs you in:')}</p>
      <pre className="command">galatea dashboard</pre>
      {ways?.password && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            onPassword(name, password);
          }}
        >
          <TextField label={t('Name')} value={name} onChange={setName} />
          <TextField label={t('Password')} value={password} onChange={setPassword} type="password" />
          <Button type="submit" kind="primary" busy={busy}>
            {t('Sign in')}
          </Button>
        </form>
      )}
      {ways?.oidc && (
        <a className="button" href="/api/v1/session/oidc">
          {t('Sign in with your organisation')}
        </a>
      )}
      {ways?.password && (
        <p className="muted">
          {t('Forgotten the password? Run')} <code>galatea user reset {name || 'NAME'}</code>.
        </p>
      )}
    </div>
  );
}
