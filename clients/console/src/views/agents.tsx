// Agents: who is running, as what?
import { useState } from 'react';
import { Link, useLocation } from 'wouter';
import { type Agent, call, faultOf, type Paged, useAction, useOne } from '../data';
import { t } from '../i18n';
import { count, money } from '../lib/format';
import {
  Button,
  Dialog,
  ErrorNote,
  Figure,
  PageHead,
  PlatformTag,
  RoleGate,
  Select,
  StateChip,
  StateView,
  TextField,
  useOverlay,
} from '../ui';

export default function Agents() {
  const query = useOne<Paged<Agent>>('agents');
  const [, navigate] = useLocation();
  const [adding, setAdding] = useState(false);
  const { toast, fail } = useOverlay();
  const turn = useAction(
    ({ id, on }: { id: string; on: boolean }) => call('POST', `agents/${id}/${on ? 'start' : 'stop'}`),
    ['agents'],
  );
  const items = query.data?.items ?? [];
  const set = (agent: Agent, on: boolean) =>
    turn.mutate(
      { id: agent.id, on },
      {
        onSuccess: () =>
          toast(on ? t('{name} runs again.', { name: agent.name }) : t('{name} is paused.', { name: agent.name }), () =>
            turn.mutate({ id: agent.id, on: !on }),
          ),
        onError: fail,
      },
    );
  return (
    <div className="page">
      <PageHead
        title={t('Agents')}
        actions={
          <RoleGate needs="operator">
            <Button kind="primary" onClick={() => setAdding(true)}>
              {t('New agent')}
            </Button>
          </RoleGate>
        }
      />
      <div className="scroll-page">
        <StateView
          query={query}
          empty={items.length === 0}
          nothing={{
            text: t('No agent yet.'),
            actions: (
              <RoleGate needs="operator">
                <Button kind="primary" onClick={() => setAdding(true)}>
                  {t('Start from a template')}
                </Button>
              </RoleGate>
            ),
          }}
        >
          {items.map((agent) => (
            <article key={agent.id} className="record">
              <div className="record-title">
                <h2>{agent.name}</h2>
                <StateChip state={agent.state} />
                {agent.offline && <span className="chip warn">{t('Offline script, not AI')}</span>}
                {agent.platforms.map((p) => (
                  <PlatformTag key={p} platform={p} />
                ))}
              </div>
              <div className="buttons">
                <Link href={`/agents/${agent.id}/edit`} className="button">
                  {t('Edit character')}
                </Link>
                <Link href={`/chat/${agent.id}`} className="button">
                  {t('Chat')}
                </Link>
                <RoleGate needs="operator">
                  {agent.state === 'paused' ? (
                    <Button onClick={() => set(agent, true)}>{t('Resume agent')}</Button>
                  ) : (
                    <Button onClick={() => set(agent, false)}>{t('Pause agent')}</Button>
                  )}
                </RoleGate>
              </div>
              <div className="record-facts wide">
                {agent.model && (
                  <span>
                    {t('Model')} <span className="num">{agent.model}</span>
                  </span>
                )}
                {agent.version !== null && <span>v{agent.version}</span>}
              </div>
              <div className="figures small wide">
                <Figure
                  value={count(agent.turnsToday)}
                  label={t('answers today')}
                  href={`/traces?q=${encodeURIComponent(agent.name)}`}
                />
                <Figure value={money(agent.costToday)} label={t('cost today')} href="/usage" />
              </div>
              {agent.fault && (
                <div className="wide">
                  <ErrorNote fault={agent.fault} />
                </div>
              )}
            </article>
          ))}
        </StateView>
      </div>
      {adding && <NewAgent onClose={() => setAdding(false)} onMade={(id) => navigate(`/agents/${id}/edit`)} />}
    </div>
  );
}

function NewAgent({ onClose, onMade }: { onClose: () => void; onMade: (id: string) => void }) {
  const [name, setName] = useState('');
  const [template, setTemplate] = useState('helper');
  const make = useAction((body: { name: string; template: string }) => call<Agent>('POST', 'agents', body), ['agents']);
  return (
    <Dialog title={t('New agent')} onClose={onClose}>
      <TextField label={t('Name')} value={name} onChange={setName} autoFocus />
      <Select
        label={t('Template')}
        value={template}
        onChange={setTemplate}
        options={[
          { value: 'helper', label: t('Helper: answers questions from documents') },
          { value: 'companion', label: t('Companion: talks and remembers') },
          { value: 'empty', label: t('Empty') },
        ]}
      />
      {make.error && <ErrorNote fault={faultOf(make.error)} />}
      <div className="buttons end">
        <Button onClick={onClose}>{t('Cancel')}</Button>
        <Button
          kind="primary"
          disabled={!name.trim()}
          why={t('The agent needs a name')}
          busy={make.isPending}
          onClick={() => make.mutate({ name, template }, { onSuccess: (agent) => onMade(agent.id) })}
        >
          {t('Create agent')}
        </Button>
      </div>
    </Dialog>
  );
}
