// Routes. Live and the shell are in the first load; every other view is loaded when it is opened.
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { Component, lazy, type ReactNode, Suspense, useEffect, useState } from 'react';
import { Link, Redirect, Route, Switch, useLocation } from 'wouter';
import { faultOf, Problem, startLive, useLiveCache, useSession } from './data';
import { type Locale, t } from './i18n';
import { Button, ErrorNote, OverlayProvider, Shell, Skeleton } from './ui';
import { Live } from './views/live';
import { Login } from './views/login';

const Traces = lazy(() => import('./views/traces'));
const Chat = lazy(() => import('./views/chat'));
const Agents = lazy(() => import('./views/agents'));
const Editor = lazy(() => import('./views/editor'));
const Memory = lazy(() => import('./views/memory'));
const Knowledge = lazy(() => import('./views/knowledge'));
const Delivery = lazy(() => import('./views/delivery'));
const Connectors = lazy(() => import('./views/connectors'));
const Usage = lazy(() => import('./views/usage'));
const Settings = lazy(() => import('./views/settings'));
const Cluster = lazy(() => import('./views/cluster'));
const Users = lazy(() => import('./views/users'));
const Design = lazy(() => import('./views/design'));

const RETRIES = 2;
const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      retry: (count, error) =>
        count < RETRIES && error instanceof Problem && (error.status === 0 || error.status === 503),
      retryDelay: (count) => Math.min(8_000, 1000 * 2 ** count),
    },
  },
});

/** Shows an error of a view with a way on; the shell stays. */
class Guard extends Component<{ children: ReactNode; place: string }, { error: Error | null; place: string }> {
  state = { error: null as Error | null, place: this.props.place };
  static getDerivedStateFromError(error: Error) {
    return { error };
  }
  static getDerivedStateFromProps(props: { place: string }, state: { place: string }) {
    return props.place === state.place ? null : { error: null, place: props.place };
  }
  render() {
    if (!this.state.error) return this.props.children;
    return (
      <div className="state">
        <ErrorNote fault={{ code: 'GAL-CONSOLE', title: t('This view stopped.'), cause: this.state.error.message }}>
          <Button onClick={() => this.setState({ error: null })}>{t('Show the view again')}</Button>
        </ErrorNote>
      </div>
    );
  }
}

function Views() {
  return (
    <Switch>
      <Route path="/" component={Live} />
      <Route path="/traces/:id?" component={Traces} />
      <Route path="/chat/:agent?/:room?" component={Chat} />
      <Route path="/agents" component={Agents} />
      <Route path="/agents/:id/edit" component={Editor} />
      <Route path="/memory" component={Memory} />
      <Route path="/knowledge" component={Knowledge} />
      <Route path="/delivery" component={Delivery} />
      <Route path="/connectors/:id?" component={Connectors} />
      <Route path="/usage" component={Usage} />
      <Route path="/settings" component={Settings} />
      <Route path="/cluster" component={Cluster} />
      <Route path="/users" component={Users} />
      <Route path="/design" component={Design} />
      <Route>
        <div className="state">
          <p>{t('No page has this address.')}</p>
          <Link href="/" className="button">
            {t('Open Live')}
          </Link>
        </div>
      </Route>
    </Switch>
  );
}

function SignedIn({ onLocale }: { onLocale: (locale: Locale) => void }) {
  const [path] = useLocation();
  useEffect(startLive, []);
  useLiveCache();
  return (
    <Shell onLocale={onLocale}>
      <Guard place={path}>
        <Suspense fallback={<Skeleton />}>
          <Views />
        </Suspense>
      </Guard>
    </Shell>
  );
}

function Gate({ onLocale }: { onLocale: (locale: Locale) => void }) {
  const [path] = useLocation();
  return path === '/login' ? <Login /> : <Inside onLocale={onLocale} />;
}

function Inside({ onLocale }: { onLocale: (locale: Locale) => void }) {
  const session = useSession();
  if (session.error?.status === 401) {
    return session.data ? <Expired onLocale={onLocale} /> : <Redirect to="/login" />;
  }
  if (session.error && !session.data) {
    return (
      <div className="state">
        <ErrorNote fault={faultOf(session.error)}>
          <Button onClick={() => void session.refetch()}>{t('Try again')}</Button>
        </ErrorNote>
      </div>
    );
  }
  if (!session.data) return <Skeleton />;
  return <SignedIn onLocale={onLocale} />;
}

/** The session ended while the page was open: the page and its drafts stay. */
function Expired({ onLocale }: { onLocale: (locale: Locale) => void }) {
  return (
    <>
      <div className="strip bad" role="alert">
        {t('Your session ended. What you wrote is kept.')} <Link href="/login">{t('Sign in')}</Link>
      </div>
      <SignedIn onLocale={onLocale} />
    </>
  );
}

export function App({ locale }: { locale: Locale }) {
  const [active, setActive] = useState(locale);
  return (
    <QueryClientProvider client={client}>
      <OverlayProvider key={active}>
        <Gate onLocale={setActive} />
      </OverlayProvider>
    </QueryClientProvider>
  );
}
