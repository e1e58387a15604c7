// A turn beside a list: figures, steps, the reason of silence, and actions on its room and person.
import { useState } from 'react';
import { Link, useLocation } from 'wouter';
import { call, offers, type Rule, type Turn, type TurnDetail, useAction, useLive, useOne } from '../data';
import { t } from '../i18n';
import { count, money, span } from '../lib/format';
import {
  Button,
  DetailPane,
  Dialog,
  ErrorNote,
  Figure,
  PlatformTag,
  RoleGate,
  StateChip,
  StateView,
  TextField,
  Time,
  useOverlay,
  Waterfall,
} from '../ui';

/** The rules that were asked, the deciding one marked. */
export function Rules({ turn }: { turn: TurnDetail }) {
  const rules = turn.rules ?? [];
  const at = rules.findIndex((rule) => rule.decided);
  if (at < 0) return null;
  return (
    <section className="rules" aria-label={t('Rules')}>
      <p>
        <strong>
          {t('{verdict}: {reason} (rule {n} of {total}).', {
            verdict: turn.verdict === 'ignored' ? t('Ignored') : t('Answered'),
            reason: rules[at]?.name ?? '',
            n: at + 1,
            total: rules.length,
          })}
        </strong>{' '}
        {turn.advice}
      </p>
      <ol>
        {rules.map((rule: Rule) => (
          <li key={rule.name} className={rule.decided ? 'decided' : undefined}>
            {rule.decided ? '▸ ' : ''}
            {rule.name}: <span className="muted">{rule.text}</span>
          </li>
        ))}
      </ol>
      <Link href={`/agents/${turn.agent}/edit?tab=rules`}>{t('Change in Agents')}</Link>
    </section>
  );
}

export function TurnPane({ turn, onClose }: { turn: Turn; onClose: () => void }) {
  const query = useOne<TurnDetail>(`turns/${turn.id}`);
  const live = useLive();
  const [, navigate] = useLocation();
  const [reply, setReply] = useState<string | null>(null);
  const { toast, fail, confirm } = useOverlay();
  const mute = useAction((on: boolean) => call('PATCH', `rooms/${turn.room}`, { muted: on }), ['rooms']);
  const pause = useAction((on: boolean) => call('POST', `agents/${turn.agent}/${on ? 'stop' : 'start'}`), ['agents']);
  const block = useAction(() => call('POST', `people/${turn.person}/block`), ['people', 'blocks']);
  const send = useAction(
    (text: string) => call('POST', `rooms/${turn.room}/say`, { agent: turn.agent, text }),
    ['turns', 'outbox'],
  );
  const detail = query.data?.id === turn.id ? query.data : undefined;
  return (
    <DetailPane
      title={
        <>
          <PlatformTag platform={turn.platform} /> {turn.personName} · {turn.roomName}
        </>
      }
      onClose={onClose}
    >
      <p className="quote">{turn.text}</p>
      <p>
        <StateChip state={turn.verdict} />{' '}
        <span className="muted">
          {turn.agentName} · <Time at={turn.at} />
        </span>
      </p>
      <StateView query={query} rows={6}>
        {detail && (
          <>
            <div className="figures small">
              <Figure value={detail.took === undefined ? '–' : span(detail.took)} label={t('Took')} />
              <Figure value={money(detail.cost)} label={t('Cost')} href={`/usage?room=${turn.room}`} />
              <Figure value={count(detail.tokensIn + detail.tokensOut)} label={t('Tokens')} />
            </div>
            {detail.failing && (
              <ErrorNote
                fault={{
                  code: detail.failing.code,
                  title: t('Failed at {step}', {
                    step: detail.steps.find((s) => s.n === detail.failing?.step)?.name ?? '',
                  }),
                  cause: detail.failing.cause,
                }}
              />
            )}
            <Rules turn={detail} />
            <Waterfall
              compact
              steps={detail.steps}
              total={detail.stepsTotal}
              startedAt={detail.at}
              skew={live.skew}
              selected={null}
              onSelect={(n) => navigate(`/traces/${turn.id}?step=${n}`)}
            />
          </>
        )}
      </StateView>
      <div className="buttons">
        <Link href={`/traces/${turn.id}`} className="button primary">
          {t('Open full trace')}
        </Link>
      </div>
      <RoleGate needs="operator">
        <div className="buttons">
          {offers('POST', `rooms/${turn.room}/say`) && (
            <Button small onClick={() => setReply('')}>
              {t('Reply as {name}', { name: turn.agentName })}
            </Button>
          )}
          {offers('PATCH', `rooms/${turn.room}`) && (
            <Button
              small
              onClick={() =>
                mute.mutate(true, {
                  onSuccess: () => toast(t('{room} is muted.', { room: turn.roomName }), () => mute.mutate(false)),
                  onError: fail,
                })
              }
            >
              {t('Mute room')}
            </Button>
          )}
          <Button
            small
            onClick={() =>
              pause.mutate(true, {
                onSuccess: () => toast(t('{name} is paused.', { name: turn.agentName }), () => pause.mutate(false)),
                onError: fail,
              })
            }
          >
            {t('Pause agent')}
          </Button>
          <Button
            small
            kind="danger"
            onClick={() =>
              confirm({
                title: t('Block {name}?', { name: turn.personName }),
                text: t('No agent answers {name} any more, on any platform. Messages are still stored.', {
                  name: turn.personName,
                }),
                action: t('Block person'),
                onConfirm: () =>
                  block.mutate(undefined, {
                    onSuccess: () => toast(t('{name} is blocked.', { name: turn.personName })),
                    onError: fail,
                  }),
              })
            }
          >
            {t('Block person')}
          </Button>
        </div>
      </RoleGate>
      {reply !== null && (
        <Dialog title={t('Reply as {name}', { name: turn.agentName })} onClose={() => setReply(null)}>
          <TextField
            label={t('Message to {room}', { room: turn.roomName })}
            value={reply}
            onChange={setReply}
            lines={4}
            autoFocus
          />
          <div className="buttons end">
            <Button onClick={() => setReply(null)}>{t('Cancel')}</Button>
            <Button
              kind="primary"
              disabled={!reply.trim()}
              why={t('The message is empty')}
              busy={send.isPending}
              onClick={() =>
                send.mutate(reply, {
                  onSuccess: () => {
                    setReply(null);
                    toast(t('The message is on its way.'));
                  },
                  onError: fail,
                })
              }
            >
              {t('Send message')}
            </Button>
          </div>
        </Dialog>
      )}
    </DetailPane>
  );
}
