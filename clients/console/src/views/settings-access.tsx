// Settings → Access and tasks: pairing requests, blocked people, tasks.
import { type Block, call, type Paged, type Pairing, type Task, useAction, useOne } from '../data';
import { t } from '../i18n';
import { Button, Countdown, PlatformTag, RoleGate, StateView, Time, useOverlay } from '../ui';

export function Access() {
  return (
    <>
      <PairingRequests />
      <Blocks />
      <Tasks />
    </>
  );
}

function PairingRequests() {
  const query = useOne<Paged<Pairing>>('pairing');
  const { toast, fail } = useOverlay();
  const decide = useAction(
    ({ id, yes }: { id: string; yes: boolean }) => call('POST', `pairing/${id}/${yes ? 'approve' : 'refuse'}`),
    ['pairing', 'attention'],
  );
  const items = query.data?.items ?? [];
  return (
    <section className="section" aria-label={t('Pairing requests')}>
      <h2>{t('Pairing requests')}</h2>
      <StateView query={query} rows={2} empty={items.length === 0} nothing={{ text: t('Nobody asks to be paired.') }}>
        {items.map((p) => (
          <div key={p.id} className="record">
            <div className="record-title">
              <PlatformTag platform={p.platform} /> <strong>{p.name}</strong> <code>{p.code}</code>{' '}
              <span className="muted">
                {t('until')} <Countdown at={p.until} />
              </span>
            </div>
            <RoleGate needs="operator">
              <div className="buttons">
                <Button
                  small
                  kind="primary"
                  onClick={() =>
                    decide.mutate(
                      { id: p.id, yes: true },
                      { onSuccess: () => toast(t('{name} is paired.', { name: p.name })), onError: fail },
                    )
                  }
                >
                  {t('Pair person')}
                </Button>
                <Button small onClick={() => decide.mutate({ id: p.id, yes: false }, { onError: fail })}>
                  {t('Refuse request')}
                </Button>
              </div>
            </RoleGate>
          </div>
        ))}
      </StateView>
    </section>
  );
}

function Blocks() {
  const query = useOne<Paged<Block>>('blocks');
  const { toast, fail } = useOverlay();
  const lift = useAction((id: string) => call('DELETE', `blocks/${id}`), ['blocks', 'people']);
  const items = query.data?.items ?? [];
  return (
    <section className="section" aria-label={t('Blocked people')}>
      <h2>{t('Blocked people')}</h2>
      <StateView query={query} rows={2} empty={items.length === 0} nothing={{ text: t('Nobody is blocked.') }}>
        {items.map((b) => (
          <div key={b.id} className="record">
            <div className="record-title">
              <PlatformTag platform={b.platform} /> <strong>{b.name}</strong>{' '}
              <span className="muted">
                {[b.kind, b.reason].filter(Boolean).join(' · ')} · <Time at={b.at} />
              </span>
            </div>
            <RoleGate needs="operator">
              <Button
                small
                onClick={() =>
                  lift.mutate(b.id, {
                    onSuccess: () => toast(t('{name} is no longer blocked.', { name: b.name })),
                    onError: fail,
                  })
                }
              >
                {t('Unblock person')}
              </Button>
            </RoleGate>
          </div>
        ))}
      </StateView>
    </section>
  );
}

function Tasks() {
  const query = useOne<Paged<Task>>('tasks');
  const { toast, fail, confirm } = useOverlay();
  const cancel = useAction((id: string) => call('DELETE', `tasks/${id}`), ['tasks']);
  const act = useAction(({ id, verb }: { id: string; verb: string }) => call('POST', `tasks/${id}/${verb}`), ['tasks']);
  const items = query.data?.items ?? [];
  return (
    <section className="section" aria-label={t('Tasks')}>
      <h2>{t('Tasks')}</h2>
      <StateView query={query} rows={2} empty={items.length === 0} nothing={{ text: t('No task is planned.') }}>
        {items.map((task) => (
          <div key={task.id} className="record">
            <div>
              <div className="record-title">
                <strong>{task.name}</strong> <Countdown at={task.due} />
              </div>
              <p className="muted">
                {task.agent} · {task.repeat} · {task.state}
              </p>
              {task.lastError && <p className="bad">✕ {task.lastError}</p>}
            </div>
            <RoleGate needs="operator">
              <Button
                small
                onClick={() =>
                  act.mutate(
                    { id: task.id, verb: 'run' },
                    { onSuccess: () => toast(t('The task runs now.')), onError: fail },
                  )
                }
              >
                {t('Run task now')}
              </Button>
              {task.state !== 'paused' && (
                <Button small onClick={() => act.mutate({ id: task.id, verb: 'pause' }, { onError: fail })}>
                  {t('Pause task')}
                </Button>
              )}
              <Button
                small
                kind="danger"
                onClick={() =>
                  confirm({
                    title: t('Cancel this task?'),
                    text: task.name,
                    action: t('Cancel task'),
                    onConfirm: () =>
                      cancel.mutate(task.id, { onSuccess: () => toast(t('The task is cancelled.')), onError: fail }),
                  })
                }
              >
                {t('Cancel task')}
              </Button>
            </RoleGate>
          </div>
        ))}
      </StateView>
    </section>
  );
}
