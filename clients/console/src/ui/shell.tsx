// Frame of the page: header, navigation, tab bar, heads, the attention strip and the detail pane.
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { type Agent, type Attention, type Paged, useList, useOne, useSession } from '../data';
import { activate, LOCALES, type Locale, t } from '../i18n';
import { useKeys } from '../lib/keys';
import { applyTheme, usePhone, usePref } from '../lib/prefs';
import { GROUPS, TABBAR, VIEWS, type View, viewOf } from '../lib/views';
import { IconButton, Menu } from './controls';
import { Freshness, StateChip } from './marks';
import { Dialog } from './overlay';
import { Palette } from './palette';
import { roleName } from './states';

/** A link of the navigation; on narrow windows its letter. */
export function NavItem({ view, active, alert }: { view: View; active: boolean; alert?: number }) {
  return (
    <Link
      href={view.path}
      className="nav-item"
      aria-current={active ? 'page' : undefined}
      title={`${t(view.name)} (g ${view.key})`}
    >
      <span className="nav-letter" aria-hidden="true">
        {view.letter}
      </span>
      <span className="nav-name">{t(view.name)}</span>
      {alert ? (
        <span className="nav-alert bad">
          {alert}
          <span className="sr"> {t('gave up')}</span>
        </span>
      ) : null}
    </Link>
  );
}

/** Navigation of phones: four views and the rest behind `More`. */
export function TabBar({ active, onMore }: { active?: string; onMore: () => void }) {
  return (
    <nav className="tabbar" aria-label={t('Main views')}>
      {VIEWS.filter((view) => TABBAR.includes(view.id)).map((view) => (
        <Link key={view.id} href={view.path} aria-current={active === view.id ? 'page' : undefined}>
          {t(view.name)}
        </Link>
      ))}
      <button type="button" onClick={onMore} aria-current={active && !TABBAR.includes(active) ? 'page' : undefined}>
        {t('More')}
      </button>
    </nav>
  );
}

/** The frame around every view. */
export function Shell({ children, onLocale }: { children: ReactNode; onLocale: (locale: Locale) => void }) {
  const [path, navigate] = useLocation();
  const [open, setOpen] = useState<'palette' | 'keys' | 'more' | null>(null);
  const { data: session } = useSession();
  const agents = useOne<Paged<Agent>>('agents');
  const attention = useOne<Paged<Attention>>('attention');
  const active = viewOf(path);
  const items = attention.data?.items ?? [];
  const dead = items.find((item) => item.kind === 'dead')?.count ?? 0;
  const all = agents.data?.items ?? [];
  // An agent with a fault at one of its connectors answers all the same.
  const answering = all.filter((agent) => ['running', 'degraded'].includes(agent.state)).length;
  const well = all.length > 0 && all.every((agent) => agent.state === 'running');
  useKeys({
    'mod k': () => setOpen('palette'),
    '?': () => setOpen('keys'),
    '/': () => document.querySelector<HTMLElement>('[data-filter]')?.focus(),
    ...Object.fromEntries(VIEWS.map((view) => [`g ${view.key}`, () => navigate(view.path)])),
  });
  useEffect(() => {
    const name = active ? t(active.name) : 'Galatea';
    document.title = items.length > 0 ? `(${items.length}) ${name} · Galatea` : `${name} · Galatea`;
    document.querySelector('link[rel=icon]')?.setAttribute('href', dead > 0 ? '/icon-alert.svg' : '/icon.svg');
  }, [active, items.length, dead]);
  return (
    <div className="shell">
      <a href="#main" className="skip">
        {t('Skip to content')}
      </a>
      <header className="header">
        <Link href="/" className="brand">
          Galatea
        </Link>
        {agents.data && (
          <Link href="/agents" className="answering num">
            <StateChip
              state={well ? 'replied' : 'degraded'}
              text={all.length === 0 ? t('no agent') : t('{a} of {n} answering', { a: answering, n: all.length })}
            />
          </Link>
        )}
        <button type="button" className="find" onClick={() => setOpen('palette')}>
          <span className="find-long">{t('Search or do…')}</span>
          <span className="find-short">{t('Find')}</span>
          <kbd aria-hidden="true">Ctrl K</kbd>
        </button>
        <UserMenu
          name={session?.user ?? ''}
          role={session ? roleName(session.role) : ''}
          onLocale={onLocale}
          onKeys={() => setOpen('keys')}
        />
      </header>
      <nav className="nav" aria-label={t('Views')}>
        {GROUPS.map((group) => (
          <div key={group} className="nav-group">
            <h2>{t(group)}</h2>
            {VIEWS.filter((view) => view.group === group).map((view) => (
              <NavItem
                key={view.id}
                view={view}
                active={active?.id === view.id}
                alert={view.id === 'delivery' ? dead : undefined}
              />
            ))}
          </div>
        ))}
      </nav>
      <main id="main" tabIndex={-1}>
        {children}
      </main>
      <TabBar active={active?.id} onMore={() => setOpen('more')} />
      {open === 'palette' && <Palette onClose={() => setOpen(null)} onKeys={() => setOpen('keys')} />}
      {open === 'keys' && <KeySheet onClose={() => setOpen(null)} />}
      {open === 'more' && (
        <Dialog title={t('All views')} onClose={() => setOpen(null)}>
          <div className="more-views">
            {VIEWS.filter((view) => !TABBAR.includes(view.id)).map((view) => (
              <Link key={view.id} href={view.path} className="button" onClick={() => setOpen(null)}>
                {t(view.name)}
              </Link>
            ))}
          </div>
        </Dialog>
      )}
    </div>
  );
}

function UserMenu({
  name,
  role,
  onLocale,
  onKeys,
}: {
  name: string;
  role: string;
  onLocale: (locale: Locale) => void;
  onKeys: () => void;
}) {
  const [, navigate] = useLocation();
  const theme = (value: string) => {
    localStorage.setItem('galatea.theme', value);
    applyTheme(value);
  };
  return (
    <Menu
      label={t('{name}, {role}: settings of this browser', { name, role })}
      items={[
        { label: t('Theme: system'), onSelect: () => theme('') },
        { label: t('Theme: light'), onSelect: () => theme('light') },
        { label: t('Theme: dark'), onSelect: () => theme('dark') },
        ...LOCALES.map((locale) => ({
          label: locale.name,
          onSelect: () => void activate(locale.id).then(() => onLocale(locale.id)),
        })),
        { label: t('Keyboard'), onSelect: onKeys, hotkey: '?' },
        { label: t('My sessions'), onSelect: () => navigate('/users?tab=sessions') },
        { label: t('Sign out'), onSelect: () => navigate('/login?out=1') },
      ]}
    >
      <span className="me">{name || '…'}</span>
    </Menu>
  );
}

function KeySheet({ onClose }: { onClose: () => void }) {
  const [keys, setKeys] = usePref('keys', 'on');
  const rows: [string, string][] = [
    ['Ctrl K', t('Find a view, agent, room, person or action')],
    ['/', t('Filter')],
    ['j k', t('Next and previous row')],
    ['Enter', t('Open')],
    ['Esc', t('Close')],
    ['x', t('Select')],
    ['.', t('Follow')],
    ...VIEWS.map((view): [string, string] => [`g ${view.key}`, t(view.name)]),
  ];
  return (
    <Dialog title={t('Keyboard')} onClose={onClose}>
      <dl className="keys">
        {rows.map(([key, text]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      <label className="check">
        <input
          type="checkbox"
          checked={keys !== 'off'}
          onChange={(event) => setKeys(event.target.checked ? 'on' : 'off')}
        />
        {t('Single keys act (off: only Ctrl K)')}
      </label>
    </Dialog>
  );
}

/** Title of a view with freshness and actions. */
export function PageHead(props: {
  title: string;
  paused?: number;
  onResume?: () => void;
  actions?: ReactNode;
  children?: ReactNode;
}) {
  return (
    <div className="page-head">
      <h1>{props.title}</h1>
      <Freshness paused={props.paused} onResume={props.onResume} />
      {props.children}
      <div className="page-actions">{props.actions}</div>
    </div>
  );
}

const ORDER = ['budget', 'dead', 'connector', 'approval', 'pairing', 'model', 'task', 'disk'];

/** What needs a person, by harm; each with one button. */
export function AttentionStrip({ onApproval }: { onApproval: () => void }) {
  const { items } = useList<Attention>('attention');
  const [, navigate] = useLocation();
  if (items.length === 0) return null;
  const sorted = [...items].sort((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind));
  return (
    <section className="attention" aria-label={t('Needs attention')}>
      {sorted.map((item) => (
        <div
          key={item.id}
          className={
            ['approval', 'pairing', 'disk', 'task'].includes(item.kind) ? 'attention-item warn' : 'attention-item bad'
          }
        >
          <span aria-hidden="true">
            {item.kind === 'approval' || item.kind === 'pairing' ? '◷' : item.kind === 'disk' ? '◐' : '✕'}
          </span>
          <span className="attention-text" title={item.detail ?? item.text}>
            {item.text}
          </span>
          <button
            type="button"
            className="button small"
            onClick={() => (item.kind === 'approval' ? onApproval() : navigate(item.href))}
          >
            {item.action}
          </button>
        </div>
      ))}
    </section>
  );
}

/** The pane beside a list; on phones a page of its own. Its width is dragged and remembered. */
export function DetailPane({
  title,
  onClose,
  children,
  actions,
}: {
  title: ReactNode;
  onClose: () => void;
  children: ReactNode;
  actions?: ReactNode;
}) {
  const [width, setWidth] = usePref('detail', '440');
  const phone = usePhone();
  const pane = useRef<HTMLElement>(null);
  useKeys({ Escape: onClose });
  const resize = (value: number) => setWidth(String(Math.min(800, Math.max(360, value))));
  return (
    <aside
      ref={pane}
      className="detail"
      style={phone ? undefined : { inlineSize: `${width}px` }}
      aria-label={t('Details')}
    >
      {!phone && (
        <div
          className="grip"
          role="separator"
          aria-orientation="vertical"
          aria-label={t('Width of the details')}
          aria-valuenow={Number(width)}
          aria-valuemin={360}
          aria-valuemax={800}
          tabIndex={0}
          onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
          onPointerMove={(event) => {
            const box = pane.current?.getBoundingClientRect();
            if (!event.buttons || !box) return;
            resize(document.documentElement.dir === 'rtl' ? event.clientX - box.left : box.right - event.clientX);
          }}
          onKeyDown={(event) => {
            if (event.key === 'ArrowLeft') resize(Number(width) + 20);
            if (event.key === 'ArrowRight') resize(Number(width) - 20);
          }}
        />
      )}
      <div className="detail-head">
        <h2>{title}</h2>
        {actions}
        <IconButton label={t('Close')} onClick={onClose} hotkey="Esc">
          ✕
        </IconButton>
      </div>
      <div className="detail-body">{children}</div>
    </aside>
  );
}
