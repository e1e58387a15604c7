// Chat: what would it say?
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { Link, useLocation, useParams } from 'wouter';
import {
  type Agent,
  faultOf,
  type Heard,
  type Message,
  type Paged,
  Problem,
  type Room,
  refresh,
  say,
  type Turn,
  useOne,
} from '../data';
import { t } from '../i18n';
import { useFilters } from '../lib/filters';
import { Button, Composer, MessageBubble, PageHead, Select, StateView } from '../ui';
import { TurnPane } from './turn-pane';

const NEAR_END_PX = 80;
const NEW_ROOM = 'new';

export default function Chat() {
  const params = useParams<{ agent?: string; room?: string }>();
  const [, navigate] = useLocation();
  const agents = useOne<Paged<Agent>>('agents');
  const rooms = useOne<Paged<Room>>('chat/rooms', { limit: 100 });
  const all = agents.data?.items ?? [];
  const agent = all.find((a) => a.id === params.agent) ?? all[0];
  const room = params.room ?? NEW_ROOM;
  // A new room has an id once its first message is stored; the conversation goes on in its place.
  const [fresh, setFresh] = useState<{ n: number; room?: string }>({ n: 0 });
  const current = room === NEW_ROOM ? (fresh.room ?? NEW_ROOM) : room;
  return (
    <div className="page">
      <PageHead
        title={t('Chat')}
        actions={
          all.length > 1 && agent ? (
            <Select
              label={t('Agent')}
              value={agent.id}
              onChange={(id) => navigate(`/chat/${id}`)}
              options={all.map((a) => ({ value: a.id, label: a.name }))}
            />
          ) : null
        }
      />
      <StateView
        query={agents}
        empty={all.length === 0}
        nothing={{
          text: t('No agent yet. An agent answers here as soon as it exists.'),
          actions: (
            <Link href="/agents" className="button primary">
              {t('Open Agents')}
            </Link>
          ),
        }}
      >
        {agent && (
          <div className="chat">
            <nav className="chat-rooms" aria-label={t('Rooms')}>
              <Link
                href={`/chat/${agent.id}`}
                aria-current={current === NEW_ROOM ? 'page' : undefined}
                onClick={() => setFresh(({ n }) => ({ n: n + 1 }))}
              >
                + {t('New room')}
              </Link>
              {(rooms.data?.items ?? [])
                .filter((r) => r.platform === 'web')
                .map((r) => (
                  <Link
                    key={r.id}
                    href={`/chat/${agent.id}/${r.id}`}
                    aria-current={current === r.id ? 'page' : undefined}
                    title={r.name}
                  >
                    {r.name}
                  </Link>
                ))}
            </nav>
            <Conversation
              key={`${agent.id}/${room}/${room === NEW_ROOM ? fresh.n : ''}`}
              agent={agent}
              room={room}
              onStored={(id) => room === NEW_ROOM && setFresh(({ n }) => ({ n, room: id }))}
            />
          </div>
        )}
      </StateView>
    </div>
  );
}

/** The rows of a conversation after an event of the answer. */
export function hear(rows: Message[], heard: Heard, mine: string, theirs: string): Message[] {
  const change = (id: string, next: Partial<Message>) => rows.map((m) => (m.id === id ? { ...m, ...next } : m));
  switch (heard.event) {
    case 'accepted':
      // The stored message has this id: the history replaces the row in its place.
      return rows.map((m) =>
        m.id === mine
          ? { ...m, id: heard.id, room: heard.room, state: 'done' }
          : m.id === theirs
            ? { ...m, turn: heard.id }
            : m,
      );
    case 'step':
      return change(theirs, { step: heard.step });
    case 'draft':
      return change(theirs, { state: 'streaming', text: heard.text });
    case 'message': {
      const id = heard.memory ?? heard.id;
      const done = rows.find((m) => m.id === id);
      // A long answer comes in parts of one memory.
      if (done) return change(id, { text: `${done.text}\n\n${heard.text}` });
      const waits = rows.find((m) => m.id === theirs);
      const first: Message | undefined = waits && {
        ...waits,
        id,
        text: heard.text,
        state: 'done',
        took: heard.at > waits.at ? heard.at - waits.at : undefined,
      };
      if (first) return rows.map((m) => (m.id === theirs ? first : m));
      const model = rows.at(-1);
      return model ? [...rows, { ...model, id, at: heard.at, text: heard.text, state: 'done', from: 'agent' }] : rows;
    }
    case 'silent': {
      const failed = heard.decision === 'failed' || heard.decision === 'expired';
      const text = failed ? '' : t('No answer: {reason}', { reason: heard.reason });
      const fix = { label: t('Check the models'), href: '/settings?tab=models' };
      const fault = failed ? { code: 'GAL-TURN', title: heard.reason, fix } : undefined;
      return change(theirs, { state: failed ? 'failed' : 'done', text, fault });
    }
    case 'error':
      return change(theirs, { state: 'failed', fault: { code: heard.code, title: heard.detail || heard.title } });
    default:
      return rows;
  }
}

type ConversationProps = { agent: Agent; room: string; onStored: (room: string) => void };

function Conversation({ agent, room, onStored }: ConversationProps) {
  const client = useQueryClient();
  const [filters, setFilters] = useFilters();
  const history = useOne<Paged<Message>>(room === NEW_ROOM ? null : `rooms/${room}/messages`);
  const [roomId] = useState(() =>
    room === NEW_ROOM ? `web-${crypto.getRandomValues(new Uint32Array(2)).join('')}` : room,
  );
  const [sent, setSent] = useState<Message[]>([]);
  const [unseen, setUnseen] = useState(0);
  const abort = useRef<AbortController | null>(null);
  const log = useRef<HTMLDivElement>(null);
  const near = useRef(true);
  const known = new Set((history.data?.items ?? []).flatMap((m) => [m.id, m.clientId ?? m.id]));
  const rows = [
    ...(history.data?.items ?? []),
    ...sent.filter((m) => !known.has(m.id) && !known.has(m.clientId ?? m.id)),
  ];
  const busy = sent.some((m) => m.state === 'thinking' || m.state === 'streaming');
  const last = rows.findLast((m) => m.from === 'person')?.text;
  const open = useOne<Turn>(filters.turn ? `turns/${filters.turn}` : null).data;
  const tail = rows.at(-1);
  // biome-ignore lint/correctness/useExhaustiveDependencies: The log follows whenever its last row changes.
  useEffect(() => {
    const box = log.current;
    if (!box) return;
    if (near.current) box.scrollTop = box.scrollHeight;
    else setUnseen((n) => n + 1);
  }, [rows.length, tail?.text, tail?.state]);
  const change = (id: string, next: Partial<Message>) =>
    setSent((all) => all.map((m) => (m.id === id ? { ...m, ...next } : m)));
  const send = async (text: string, files: File[]) => {
    const clientId = crypto.getRandomValues(new Uint32Array(3)).join('-');
    const mine = `${clientId}-me`;
    const theirs = `${clientId}-answer`;
    near.current = true;
    setSent((all) => [
      ...all,
      {
        id: mine,
        clientId,
        room: roomId,
        at: Date.now(),
        from: 'person',
        name: t('You'),
        text,
        state: 'sending',
        attachments: files.map((f) => f.name),
      },
      {
        id: theirs,
        room: roomId,
        at: Date.now(),
        from: 'agent',
        name: agent.name,
        text: '',
        state: 'thinking',
        offline: agent.offline,
      },
    ]);
    const control = new AbortController();
    abort.current = control;
    try {
      const attachments = await Promise.all(files.map(attachment));
      await say({ agent: agent.id, room: roomId, text, clientId, attachments }, control.signal, (heard) => {
        if (heard.event === 'accepted') onStored(heard.room);
        setSent((all) => hear(all, heard, mine, theirs));
      });
      setSent((all) =>
        all.map((m) =>
          m.from === 'agent' && (m.state === 'thinking' || m.state === 'streaming') ? { ...m, state: 'done' } : m,
        ),
      );
      void refresh(client, ['chat/rooms', 'rooms', 'turns', 'checklist']);
    } catch (error) {
      const fault = control.signal.aborted
        ? { code: 'GAL-STOPPED', title: t('You stopped this answer.') }
        : error instanceof Problem
          ? faultOf(error)
          : { code: 'GAL-CONSOLE', title: String(error) };
      change(mine, { state: 'done' });
      change(theirs, { state: 'failed', fault });
    }
    abort.current = null;
  };
  const stop = () => abort.current?.abort();
  return (
    <div className="chat-main">
      <div className="chat-column">
        <div
          ref={log}
          className="chat-log"
          role="log"
          aria-label={t('Conversation with {name}', { name: agent.name })}
          tabIndex={0}
          onScroll={(event) => {
            const box = event.currentTarget;
            near.current = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_END_PX;
            if (near.current) setUnseen(0);
          }}
        >
          {rows.length === 0 && !history.isFetching && (
            <div className="state">
              <p>{t('Ask {name} something. The room is stored with its first message.', { name: agent.name })}</p>
              {agent.offline && (
                <p>
                  <span className="chip warn">{t('Offline script, not AI')}</span>{' '}
                  <Link href="/settings?tab=models">{t('Connect a model')}</Link>
                </p>
              )}
              <div className="buttons">
                {agent.greetings.slice(0, 3).map((text) => (
                  <Button key={text} onClick={() => void send(text, [])}>
                    {text}
                  </Button>
                ))}
              </div>
            </div>
          )}
          {rows.map((m) => (
            <MessageBubble
              key={m.clientId ?? m.id}
              message={m}
              model={agent.model}
              onWhy={() => setFilters({ turn: m.turn ?? null })}
              onStop={m.state === 'thinking' || m.state === 'streaming' ? stop : undefined}
            />
          ))}
        </div>
        {unseen > 0 && (
          <button
            type="button"
            className="button pill"
            onClick={() => {
              setUnseen(0);
              log.current?.scrollTo({ top: log.current.scrollHeight });
            }}
          >
            ↓ {t('{n} new', { n: unseen })}
          </button>
        )}
        <Composer
          draftKey={`${agent.id}/${room}`}
          label={t('Message to {room}', { room: agent.name })}
          busy={busy}
          last={last}
          onSend={(text, files) => void send(text, files)}
          onStop={stop}
        >
          <small className="muted">{agent.offline ? t('Offline script, not AI') : agent.model}</small>
        </Composer>
      </div>
      {open && <TurnPane turn={open} onClose={() => setFilters({ turn: null })} />}
    </div>
  );
}

/** A file as the interface takes it: name, type, base64. */
async function attachment(file: File): Promise<{ name: string; type: string; data: string }> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return { name: file.name, type: file.type, data: btoa(text) };
}
