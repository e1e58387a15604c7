// Live: is the persona answering, and does anything need a person?
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { Link, useLocation } from 'wouter';
import {
  type Agent,
  type Approval,
  call,
  type Paged,
  type Turn,
  useAction,
  useList,
  useLive,
  useOne,
  useRole,
} from '../data';
import { t } from '../i18n';
import { fits, useFilters } from '../lib/filters';
import { clock, money, span } from '../lib/format';
import { useKeys } from '../lib/keys';
import { usePhone } from '../lib/prefs';
import {
  AttentionStrip,
  Button,
  Checklist,
  Countdown,
  DataList,
  Dialog,
  FilterBar,
  PageHead,
  PlatformTag,
  RoleGate,
  StateChip,
  StateView,
  stateMark,
  stateWord,
  useOverlay,
} from '../ui';
import { TurnPane } from './turn-pane';

const VERDICTS = ['replied', 'ignored', 'failed', 'waiting'] as const;
const ANNOUNCE_MS = 10_000;

export function Live() {
  const [filters, setFilters] = useFilters();
  const [, navigate] = useLocation();
  const phone = usePhone();
  const query = useList<Turn>('turns', { verdict: filters.verdict, platform: filters.platform });
  const [frozen, setFrozen] = useState<number | null>(null);
  const [asking, setAsking] = useState(false);
  const words = filters.q ?? '';
  const all = useMemo(
    () =>
      words
        ? query.items.filter((turn) =>
            fits(words, turn.text, turn.roomName, turn.personName, turn.reason, turn.agentName),
          )
        : query.items,
    [query.items, words],
  );
  const shown = useMemo(() => (frozen === null ? all : all.filter((turn) => turn.seq <= frozen)), [all, frozen]);
  const newest = all[0]?.seq ?? 0;
  const selected = shown.find((turn) => turn.id === filters.turn);
  const pause = useCallback((away: boolean) => away && setFrozen((old) => old ?? newest), [newest]);
  const resume = () => setFrozen(null);
  const open = (turn: Turn) => {
    pause(true);
    if (phone) navigate(`/traces/${turn.id}`);
    else setFilters({ turn: turn.id === filters.turn ? null : turn.id });
  };
  const { fetchNextPage, hasNextPage, isFetchingNextPage } = query;
  const more = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  useKeys({ '.': resume, a: () => setAsking(true), p: () => navigate('/agents') });
  return (
    <div className="page">
      <PageHead
        title={t('Live')}
        paused={frozen === null ? undefined : all.length - shown.length}
        onResume={frozen === null ? undefined : resume}
      >
        <FilterBar
          value={words}
          onChange={(q) => setFilters({ q }, true)}
          placeholder={t('Filter by room, person, words')}
          tokens={VERDICTS.map((v) => ({ id: v, label: stateWord(v), mark: stateMark(v), on: filters.verdict === v }))}
          onToken={(id) => setFilters({ verdict: filters.verdict === id ? null : id })}
        />
      </PageHead>
      <AttentionStrip onApproval={() => setAsking(true)} />
      <Checklist />
      <Announcer turns={query.items} />
      <div className="split">
        <div className="master">
          <StateView
            query={query}
            empty={shown.length === 0}
            filter={[words, filters.verdict && stateWord(filters.verdict)].filter(Boolean).join(' · ')}
            onClear={() => setFilters({ q: null, verdict: null, platform: null })}
            nothing={{
              text: t('No messages yet. Say hello in Chat, or connect Telegram.'),
              actions: (
                <>
                  <Link href="/chat" className="button primary">
                    {t('Open Chat')}
                  </Link>
                  <Link href="/connectors?add=1" className="button">
                    {t('Connect a platform')}
                  </Link>
                </>
              ),
            }}
          >
            <DataList
              label={t('Turns')}
              items={shown}
              id={(turn) => turn.id}
              selected={filters.turn}
              onOpen={open}
              onEnd={more}
              onScrolled={pause}
              row={(turn) => (phone ? <PhoneRow turn={turn} /> : <TurnRow turn={turn} />)}
              more={
                query.hasNextPage
                  ? t('{n} loaded, older on scroll', { n: shown.length })
                  : t('{n, plural, one {# turn, all} other {# turns, all}}', { n: shown.length })
              }
            />
          </StateView>
        </div>
        {selected && !phone && <TurnPane turn={selected} onClose={() => setFilters({ turn: null })} />}
      </div>
      {asking && <Approvals onClose={() => setAsking(false)} />}
    </div>
  );
}

/** Reason or seconds, as the row's verdict. */
export function verdictText(turn: Turn): string {
  if (turn.verdict === 'replied') return turn.took === undefined ? stateWord('replied') : span(turn.took);
  return turn.reason ?? stateWord(turn.verdict);
}

export function TurnRow({ turn }: { turn: Turn }) {
  return (
    <span className="turn-row">
      <span className="num text-2">{clock(turn.at)}</span>
      <PlatformTag platform={turn.platform} />
      <span className="who" title={`${turn.personName} · ${turn.roomName} · ${turn.agentName}`}>
        {turn.personName} · {turn.roomName}
      </span>
      <span className="text" title={turn.text}>
        {turn.text}
      </span>
      <span>
        <StateChip
          state={turn.verdict}
          text={verdictText(turn)}
          title={`${stateWord(turn.verdict)}: ${verdictText(turn)}`}
        />
      </span>
      <span className="num cost end">{money(turn.cost)}</span>
    </span>
  );
}

function PhoneRow({ turn }: { turn: Turn }) {
  return (
    <span className="turn-phone">
      <span className="line">
        <PlatformTag platform={turn.platform} />
        <span className="who">
          {turn.personName} · {turn.roomName}
        </span>
        <span className="num text-2">{clock(turn.at)}</span>
      </span>
      <span className="line">
        <span className="text" title={turn.text}>
          {turn.text}
        </span>
        <StateChip state={turn.verdict} text={verdictText(turn)} />
      </span>
    </span>
  );
}

/** Tells screen readers about new turns, at most every ten seconds. */
function Announcer({ turns }: { turns: Turn[] }) {
  const [text, setText] = useState('');
  const seen = useRef({ seq: turns[0]?.seq ?? 0, at: Date.now() });
  useLive();
  useEffect(() => {
    const now = Date.now();
    const fresh = turns.filter((turn) => turn.seq > seen.current.seq);
    if (fresh.length === 0 || now - seen.current.at < ANNOUNCE_MS) return;
    seen.current = { seq: turns[0]?.seq ?? 0, at: now };
    const failed = fresh.filter((turn) => turn.verdict === 'failed').length;
    setText(t('{n, plural, one {# new turn} other {# new turns}}, {failed} failed', { n: fresh.length, failed }));
  }, [turns]);
  return (
    <p className="sr" role="status" aria-live="polite">
      {text}
    </p>
  );
}

/** Actions that wait for a decision. */
function Approvals({ onClose }: { onClose: () => void }) {
  const query = useOne<Paged<Approval>>('approvals');
  const agents = useOne<Paged<Agent>>('agents').data?.items ?? [];
  const { toast, fail } = useOverlay();
  const may = useRole('operator');
  const decide = useAction(
    ({ id, yes }: { id: string; yes: boolean }) => call('POST', `approvals/${id}/${yes ? 'approve' : 'refuse'}`),
    ['approvals', 'attention', 'turns'],
  );
  const act = (id: string, yes: boolean) =>
    decide.mutate(
      { id, yes },
      {
        onSuccess: () => toast(yes ? t('Approved. The agent carries it out now.') : t('Refused. The agent says so.')),
        onError: fail,
      },
    );
  const items = query.data?.items ?? [];
  return (
    <Dialog title={t('Actions that wait for you')} onClose={onClose} wide>
      <StateView query={query} empty={items.length === 0} nothing={{ text: t('Nothing waits for a decision.') }}>
        {items.map((item) => (
          <div key={item.id} className="section">
            <p>
              <strong>{item.action}</strong> · {agents.find((a) => a.id === item.agent)?.name ?? item.agent} ·{' '}
              {item.personName} · {item.roomName}
            </p>
            <p className="plain">{item.text}</p>
            <RoleGate needs="operator">
              <div className="buttons">
                <Button kind="primary" onClick={() => act(item.id, true)} disabled={!may} busy={decide.isPending}>
                  {t('Approve action')}
                </Button>
                <Button kind="danger" onClick={() => act(item.id, false)} disabled={!may} busy={decide.isPending}>
                  {t('Refuse action')}
                </Button>
                <span className="muted">
                  {t('until')} <Countdown at={item.until} />
                </span>
              </div>
            </RoleGate>
          </div>
        ))}
      </StateView>
    </Dialog>
  );
}
