// Settings → Plugins and MCP: what is loaded, what failed, and new MCP servers.
import { useState } from 'react';
import { Link } from 'wouter';
import { call, faultOf, type McpServer, type Paged, type Plugin, useAction, useOne } from '../data';
import { t } from '../i18n';
import { Button, Dialog, ErrorNote, RoleGate, StateChip, StateView, TextField, useOverlay } from '../ui';

export function Extensions() {
  const plugins = useOne<Paged<Plugin>>('plugins');
  const servers = useOne<Paged<McpServer>>('mcp');
  const [adding, setAdding] = useState(false);
  const { toast, fail, confirm } = useOverlay();
  const reconnect = useAction((id: string) => call('POST', `mcp/${id}/reconnect`), ['mcp', 'tools']);
  const remove = useAction((id: string) => call('DELETE', `mcp/${id}`), ['mcp', 'tools']);
  const loaded = plugins.data?.items ?? [];
  const items = servers.data?.items ?? [];
  return (
    <>
      <section className="section" aria-label={t('Plugins')}>
        <h2>{t('Plugins')}</h2>
        <StateView query={plugins} rows={3} empty={loaded.length === 0} nothing={{ text: t('No plugin is loaded.') }}>
          {loaded.map((p) => (
            <div key={p.id} className="record">
              <div>
                <div className="record-title">
                  <strong>{p.name}</strong> <span className="num">{p.version}</span>
                </div>
                <p className="muted">{p.provides}</p>
                {p.fault && <p className="bad">✕ {p.fault}</p>}
              </div>
              <StateChip state={p.state} />
            </div>
          ))}
        </StateView>
      </section>
      <section className="section" aria-label={t('MCP servers')}>
        <div className="buttons">
          <h2>{t('MCP servers')}</h2>
          <RoleGate needs="owner">
            <Button onClick={() => setAdding(true)}>{t('Add server')}</Button>
          </RoleGate>
        </div>
        <StateView
          query={servers}
          rows={3}
          empty={items.length === 0}
          nothing={{ text: t('No MCP server. Its tools would appear in Agents → Tools.') }}
        >
          {items.map((s) => (
            <div key={s.id} className="record">
              <div>
                <div className="record-title">
                  <strong>{s.name}</strong> <StateChip state={s.state} />{' '}
                  <Link href="/agents">{t('{n, plural, one {# tool} other {# tools}}', { n: s.tools })}</Link>
                </div>
                <p>
                  <code>{s.transport}</code>
                </p>
                {s.fault && <p className="bad">✕ {s.fault}</p>}
              </div>
              <RoleGate needs="operator">
                <div className="buttons">
                  <Button
                    small
                    onClick={() =>
                      reconnect.mutate(s.id, {
                        onSuccess: () => toast(t('{name} connects again.', { name: s.name })),
                        onError: fail,
                      })
                    }
                  >
                    {t('Reconnect')}
                  </Button>
                  <Button
                    small
                    kind="danger"
                    onClick={() =>
                      confirm({
                        title: t('Remove {name}?', { name: s.name }),
                        text: t('{n, plural, one {# tool} other {# tools}} can no longer be used.', { n: s.tools }),
                        action: t('Remove server'),
                        onConfirm: () => remove.mutate(s.id, { onError: fail }),
                      })
                    }
                  >
                    {t('Remove server')}
                  </Button>
                </div>
              </RoleGate>
            </div>
          ))}
        </StateView>
      </section>
      {adding && <AddServer onClose={() => setAdding(false)} />}
    </>
  );
}

function AddServer({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState('');
  const [transport, setTransport] = useState('');
  const add = useAction((body: { name: string; transport: string }) => call('POST', 'mcp', body), ['mcp', 'tools']);
  return (
    <Dialog title={t('Add server')} onClose={onClose}>
      <TextField label={t('Name')} value={name} onChange={setName} autoFocus />
      <TextField
        label={t('Command or address')}
        value={transport}
        onChange={setTransport}
        mono
        placeholder="https://tools.example/mcp"
        hint={t('A command is started in a sandbox. Its tools ask first until you allow them.')}
      />
      {add.error && <ErrorNote fault={faultOf(add.error)} />}
      <div className="buttons end">
        <Button onClick={onClose}>{t('Cancel')}</Button>
        <Button
          kind="primary"
          disabled={!name || !transport}
          why={t('Name and command are needed')}
          busy={add.isPending}
          onClick={() => add.mutate({ name, transport }, { onSuccess: onClose })}
        >
          {t('Connect and list tools')}
        </Button>
      </div>
    </Dialog>
  );
}
