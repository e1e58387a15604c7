// Tools of an agent: where each comes from, who may use it, and whether it asks first.
import { Link } from 'wouter';
import { call, type Paged, type Tool, useAction, useOne } from '../data';
import { msg, t } from '../i18n';
import { RoleGate, Select, StateView, useOverlay } from '../ui';

/** Who may use a tool, from the widest to nobody. */
const FROM: Record<string, string> = {
  member: msg('members'),
  admin: msg('admins'),
  owner: msg('owners of the place'),
  'agent-owner': msg('owners of the agent'),
  nobody: msg('nobody'),
};
const ASK: Record<string, string> = {
  never: msg('never'),
  'others-words': msg("where others' words are in the prompt"),
  always: msg('always'),
};

export function Tools({ agent }: { agent: string }) {
  const query = useOne<Paged<Tool>>('tools', { agent });
  const { fail } = useOverlay();
  const rule = useAction(
    ({ tool, from, ask }: { tool: Tool; from: string; ask: string }) =>
      call('POST', `agents/${tool.agent}/grants`, { tools: tool.name, from, ask }),
    ['tools'],
  );
  const lift = useAction((tool: Tool) => call('DELETE', `agents/${tool.agent}/grants/${tool.grant ?? ''}`), ['tools']);
  const items = query.data?.items ?? [];
  const set = (tool: Tool, from: string, ask: string) => {
    if (from === '') lift.mutate(tool, { onError: fail });
    else rule.mutate({ tool, from, ask: ask || 'others-words' }, { onError: fail });
  };
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
        <div key={tool.agent + tool.name} className="record">
          <div>
            <div className="record-title">
              <code>{tool.name}</code>{' '}
              <span className="chip muted">
                {tool.kind} · {tool.origin}
              </span>
            </div>
            <p>{tool.text}</p>
          </div>
          <RoleGate needs="owner">
            <div className="buttons wide">
              <Select
                label={t('Who may use it')}
                value={tool.from}
                onChange={(from) => set(tool, from, tool.ask)}
                options={[
                  { value: '', label: t('as its author says ({scope})', { scope: tool.scope }) },
                  ...Object.entries(FROM).map(([value, label]) => ({ value, label: t(label) })),
                ]}
              />
              {tool.from !== '' && tool.from !== 'nobody' && (
                <Select
                  label={t('Ask first')}
                  value={tool.ask}
                  onChange={(ask) => set(tool, tool.from, ask)}
                  options={Object.entries(ASK).map(([value, label]) => ({ value, label: t(label) }))}
                />
              )}
            </div>
          </RoleGate>
        </div>
      ))}
    </StateView>
  );
}
