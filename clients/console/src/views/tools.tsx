// Tools of an agent: where each comes from, who may use it, and whether it asks first.
import { Link } from 'wouter';
import { call, type Paged, type Tool, useAction, useOne } from '../data';
import { t } from '../i18n';
import { RoleGate, Select, StateView, Switch, useOverlay } from '../ui';

export function Tools() {
  const query = useOne<Paged<Tool>>('tools');
  const { fail } = useOverlay();
  const change = useAction(
    ({ name, next }: { name: string; next: Partial<Tool> }) => call('PATCH', `tools/${encodeURIComponent(name)}`, next),
    ['tools'],
  );
  const items = query.data?.items ?? [];
  const set = (name: string, next: Partial<Tool>) => change.mutate({ name, next }, { onError: fail });
  return (
    <StateView
      query={query}
      empty={items.length === 0}
      nothing={{
        text: t('No tools yet. Plugins and MCP servers bring them.'),
        actions: (
          <Link href="/settings?tab=plugins" className="button">
            {t('Open plugins')}
          </Link>
        ),
      }}
    >
      {items.map((tool) => (
        <div key={tool.name} className="record">
          <div>
            <div className="record-title">
              <code>{tool.name}</code>{' '}
              <span className="chip muted">
                {tool.kind} · {tool.origin}
              </span>
            </div>
            <p>{tool.text}</p>
            {tool.state !== 'ready' && <p className="warn">◐ {tool.state}</p>}
          </div>
          <RoleGate needs="operator">
            <div className="buttons">
              <Select
                label={t('Who may use it')}
                value={tool.from}
                onChange={(from) => set(tool.name, { from: from as Tool['from'] })}
                options={[
                  { value: 'everyone', label: t('everyone') },
                  { value: 'members', label: t('members') },
                  { value: 'admins', label: t('admins') },
                  { value: 'owners', label: t('owners') },
                ]}
              />
              <Switch label={t('Ask first')} checked={tool.ask} onChange={(ask) => set(tool.name, { ask })} />
              <Switch label={t('Enabled')} checked={tool.enabled} onChange={(enabled) => set(tool.name, { enabled })} />
            </div>
          </RoleGate>
        </div>
      ))}
    </StateView>
  );
}
