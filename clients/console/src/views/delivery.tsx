// Delivery: what did not arrive, and will it?
import { useState } from 'react';
import { Link } from 'wouter';
import { call, offers, type Delivery as Send, useAction, useList, useOne } from '../data';
import { t } from '../i18n';
import { useFilters } from '../lib/filters';
import { clock } from '../lib/format';
import { usePhone } from '../lib/prefs';
import {
  Button,
  Countdown,
  DataList,
  DetailPane,
  Dialog,
  KeyValue,
  PageHead,
  PlatformTag,
  platformName,
  RoleGate,
  StateChip,
  StateView,
  stateMark,
  Tabs,
  TextField,
  Time,
  useOverlay,
} from '../ui';
import { nextPage } from './memory-rooms';

type Counts = Record<string, number>;
type Change = { ids: string[]; verb: 'retry' | 'drop' | 'sent' };

export default function Delivery() {
  const [filters, setFilters] = useFilters();
  const tab = filters.tab ?? 'gave-up';
  const counts = useOne<Counts>('counts').data ?? {};
  const query = useList<Send>('outbox', { state: tab });
  const [marked, setMarked] = useState<Set<string>>(new Set());
  const { toast, fail, confirm } = useOverlay();
  const phone = usePhone();
  const change = useAction(
    async ({ ids, verb }: Change) => {
      for (const id of ids) await call('POST', `outbox/${id}/${verb}`);
    },
    ['outbox', 'attention'],
  );
  const selected = query.items.find((send) => send.id === filters.id);
  const chosen = query.items.filter((send) => marked.has(send.id));
  const retry = (sends: Send[]) =>
    change.mutate(
      { ids: sends.map((s) => s.id), verb: 'retry' },
      {
        onSuccess: () => toast(t('{n, plural, one {# send is} other {# sends are}} tried again.', { n: sends.length })),
        onError: fail,
      },
    );
  const drop = (sends: Send[]) =>
    confirm({
      title: t('Drop {n, plural, one {# message} other {# messages}}?', { n: sends.length }),
      text: t('To {rooms}. People will not get them.', {
        rooms: [...new Set(sends.map((s) => s.roomName))].join(', '),
      }),
      action: t('Drop messages'),
      onConfirm: () =>
        change.mutate(
          { ids: sends.map((s) => s.id), verb: 'drop' },
          {
            onSuccess: () => {
              setMarked(new Set());
              setFilters({ id: null });
              toast(t('Dropped.'));
            },
            onError: fail,
          },
        ),
    });
  const mark = (send: Send) =>
    setMarked((old) => {
      const next = new Set(old);
      if (!next.delete(send.id)) next.add(send.id);
      return next;
    });
  return (
    <div className="page">
      <PageHead
        title={t('Delivery')}
        actions={
          <RoleGate needs="operator">
            <Button
              onClick={() =>
                setMarked(new Set(chosen.length === query.items.length ? [] : query.items.map((s) => s.id)))
              }
            >
              {chosen.length > 0 ? t('{n} selected', { n: chosen.length }) : t('Select all')}
            </Button>
            <Button
              kind="primary"
              disabled={chosen.length === 0}
              why={t('Select rows with x')}
              onClick={() => retry(chosen)}
            >
              {t('Retry sends')}
            </Button>
            <Button
              kind="danger"
              disabled={chosen.length === 0}
              why={t('Select rows with x')}
              onClick={() => drop(chosen)}
            >
              {t('Drop messages')}
            </Button>
          </RoleGate>
        }
      />
      <Tabs
        label={t('Delivery')}
        active={tab}
        onChange={(id) => {
          setMarked(new Set());
          setFilters({ tab: id, id: null });
        }}
        tabs={[
          { id: 'gave-up', label: t('Gave up'), count: counts['gave-up'] ?? 0 },
          ...(counts.unsure ? [{ id: 'unsure', label: t('Unsure'), count: counts.unsure }] : []),
          ...(counts.expired ? [{ id: 'expired', label: t('Expired'), count: counts.expired }] : []),
          { id: 'waiting', label: t('Waiting'), count: counts.waiting ?? 0 },
          { id: 'sending', label: t('Sending'), count: counts.sending ?? 0 },
          { id: 'sent', label: t('Sent'), count: counts.sent },
        ]}
      />
      <div className="split">
        <div className="master">
          <StateView
            query={query}
            empty={query.items.length === 0}
            nothing={{
              text:
                tab === 'gave-up'
                  ? t('Everything was delivered.')
                  : tab === 'sent'
                    ? t('Nothing was sent yet.')
                    : t('Nothing is on its way.'),
            }}
          >
            <DataList
              label={t('Sends')}
              items={query.items}
              id={(send) => send.id}
              selected={filters.id}
              onOpen={(send) => setFilters({ id: send.id })}
              onMark={mark}
              onEnd={nextPage(query)}
              height={phone ? 60 : 44}
              row={(send) => (phone ? <PhoneSend send={send} /> : <SendRow send={send} marked={marked.has(send.id)} />)}
            />
          </StateView>
        </div>
        {selected && (
          <SendPane
            key={selected.id}
            send={selected}
            onClose={() => setFilters({ id: null })}
            onRetry={() => retry([selected])}
            onDrop={() => drop([selected])}
            onSent={() => change.mutate({ ids: [selected.id], verb: 'sent' }, { onError: fail })}
          />
        )}
      </div>
    </div>
  );
}

function SendRow({ send, marked }: { send: Send; marked: boolean }) {
  return (
    <span className="cells delivery">
      <span title={marked ? t('selected') : undefined}>
        {marked ? '☑' : stateMark(send.state === 'waiting' ? 'pending' : send.state)}
      </span>
      <PlatformTag platform={send.platform} />
      <span className="text-2">{send.roomName}</span>
      <span title={send.text}>{send.text}</span>
      <span
        className={send.state === 'gave-up' ? 'bad' : 'text-2'}
        title={send.code ? `${send.cause} (${send.code})` : send.cause}
      >
        {send.cause}
      </span>
      <span className="num end">
        {send.state === 'waiting'
          ? t('{a} of {n}', { a: send.tries, n: send.maxTries })
          : t('{n, plural, one {# try} other {# tries}}', { n: send.tries })}
      </span>
      <span className="end">
        {send.nextAt ? <Countdown at={send.nextAt} /> : <span className="num">{clock(send.at)}</span>}
      </span>
    </span>
  );
}

function PhoneSend({ send }: { send: Send }) {
  return (
    <span className="turn-phone">
      <span className="line">
        <PlatformTag platform={send.platform} />
        <span className="who">{send.roomName}</span>
        <StateChip state={send.state === 'waiting' ? 'pending' : send.state} />
      </span>
      <span className="line">
        <span className="text" title={send.text}>
          {send.text}
        </span>
        {send.nextAt ? <Countdown at={send.nextAt} /> : null}
      </span>
    </span>
  );
}

function SendPane({
  send,
  onClose,
  onRetry,
  onDrop,
  onSent,
}: {
  send: Send;
  onClose: () => void;
  onRetry: () => void;
  onDrop: () => void;
  onSent: () => void;
}) {
  const [text, setText] = useState<string | null>(null);
  const { toast, fail } = useOverlay();
  const edit = useAction((next: string) => call('POST', `outbox/${send.id}/edit`, { text: next }), ['outbox']);
  const open = send.state !== 'sent' && send.state !== 'sending';
  return (
    <DetailPane
      title={
        <>
          <PlatformTag platform={send.platform} /> {send.roomName}
        </>
      }
      onClose={onClose}
    >
      <p>
        <StateChip state={send.state === 'waiting' ? 'pending' : send.state} /> {send.cause}{' '}
        {send.code && <code>{send.code}</code>}
      </p>
      {send.state === 'unsure' && <p className="warn">{t('May have arrived; the platform did not confirm.')}</p>}
      <p className="quote">{send.text}</p>
      <RoleGate needs="operator">
        <div className="buttons">
          {send.state === 'unsure' && offers('POST', `outbox/${send.id}/sent`) && (
            <Button kind="primary" onClick={onSent}>
              {t('Mark as sent')}
            </Button>
          )}
          {open && (
            <Button kind={send.state === 'unsure' ? 'plain' : 'primary'} onClick={onRetry}>
              {send.state === 'unsure' ? t('Send again') : t('Retry send')}
            </Button>
          )}
          {open && offers('POST', `outbox/${send.id}/edit`) && (
            <Button onClick={() => setText(send.text)}>{t('Edit text')}</Button>
          )}
          {open && (
            <Button kind="danger" onClick={onDrop}>
              {t('Drop message')}
            </Button>
          )}
        </div>
      </RoleGate>
      <KeyValue
        rows={[
          [t('Platform'), platformName(send.platform)],
          [t('Agent'), send.agentName],
          [t('Tries'), t('{a} of {n}', { a: send.tries, n: send.maxTries })],
          ...(send.nextAt
            ? [[t('Next try'), <Countdown key="c" at={send.nextAt} />] as [string, React.ReactNode]]
            : []),
          [t('Written'), <Time key="t" at={send.at} />],
          ...(send.turn
            ? [
                [
                  t('Why'),
                  <Link key="l" href={`/traces/${send.turn}`}>
                    {t('Open trace')}
                  </Link>,
                ] as [string, React.ReactNode],
              ]
            : []),
        ]}
      />
      <section hidden={send.attempts.length === 0 && send.tries > 0}>
        <h3>{t('Tries')}</h3>
        {send.tries === 0 && <p className="muted">{t('Not tried yet.')}</p>}
        {send.attempts.map((a) => (
          <p key={a.at} className="num">
            {clock(a.at)} · {a.status}
            {a.note && ` · ${a.note}`}
          </p>
        ))}
      </section>
      {text !== null && (
        <Dialog title={t('Edit text')} onClose={() => setText(null)}>
          <TextField label={t('Text')} value={text} onChange={setText} lines={5} autoFocus />
          <div className="buttons end">
            <Button onClick={() => setText(null)}>{t('Cancel')}</Button>
            <Button
              kind="primary"
              busy={edit.isPending}
              onClick={() =>
                edit.mutate(text, {
                  onSuccess: () => {
                    setText(null);
                    toast(t('The text is changed.'));
                  },
                  onError: fail,
                })
              }
            >
              {t('Save text')}
            </Button>
          </div>
        </Dialog>
      )}
    </DetailPane>
  );
}
