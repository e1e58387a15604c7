// Sign-in: a link with a code behind `#`, a password, or OIDC; and sign-out.
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useLocation, useSearch } from 'wouter';
import { call, type Fault, faultOf, Problem, type SignIn, useOne } from '../data';
import { t } from '../i18n';
import { LoginCard } from '../ui';

export function Login() {
  const client = useQueryClient();
  const [, navigate] = useLocation();
  const out = new URLSearchParams(useSearch()).has('out');
  const ways = useOne<SignIn>('session/ways');
  const [fault, setFault] = useState<Fault | null>(null);
  const [busy, setBusy] = useState(false);
  const enter = async (path: string, body: unknown) => {
    setBusy(true);
    setFault(null);
    try {
      await call('POST', path, body);
      client.clear();
      navigate('/', { replace: true });
    } catch (error) {
      setFault(error instanceof Problem ? faultOf(error) : { code: 'GAL-CONSOLE', title: String(error) });
    } finally {
      setBusy(false);
    }
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: The link is used once, when the page opens.
  useEffect(() => {
    document.title = `${t('Sign in')} · Galatea`;
    const use = () => {
      const code = window.location.hash.slice(1);
      if (!code) return;
      window.history.replaceState(null, '', '/login');
      void enter('session', { link: code });
    };
    if (out) {
      void call('DELETE', 'session').catch(() => {});
      client.clear();
    } else use();
    window.addEventListener('hashchange', use);
    return () => window.removeEventListener('hashchange', use);
  }, []);
  return (
    <main className="login-page">
      <LoginCard
        ways={ways.data}
        fault={fault}
        busy={busy}
        onPassword={(name, password) => void enter('session', { name, password })}
      />
    </main>
  );
}
