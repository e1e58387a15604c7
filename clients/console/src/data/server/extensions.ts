// Plugins, tools with their grants, MCP servers.
import { api, read } from '../client';
import type { McpServer, Plugin, Tool } from '../types';
import { type Asked, each, type Handlers, type S, shaped } from './asked';
import { agentName } from './names';

/** Names of what a plugin brings: `{actions: [...], providers: [...]}` as words. */
function provides(brings: unknown): string {
  const rows = Object.entries((brings ?? {}) as Record<string, unknown>);
  return rows
    .filter(([, names]) => Array.isArray(names) && names.length > 0)
    .map(([kind, names]) => `${kind}: ${(names as unknown[]).map(String).join(', ')}`)
    .join(' · ');
}

async function plugin(row: S['PluginView']): Promise<Plugin> {
  const made = shaped<Plugin>(row, 'provides');
  if (made) return made;
  return {
    id: `${row.agent}/${row.name}`,
    name: row.name,
    version: row.version,
    agent: await agentName(row.agent),
    text: row.description,
    state: row.on ? 'loaded' : 'off',
    provides: provides(row.brings),
    fixed: !row.optional,
  };
}

function changePlugin(asked: Asked) {
  const [id = '', name = ''] = asked.args;
  const body = asked.body as S['ChangePlugin'];
  return read(api.PATCH('/api/v1/agents/{id}/plugins/{name}', { params: { path: { id, name } }, body }));
}

/** Tools with the rule of the grants that counts for each. */
async function tools({ signal }: Asked) {
  const list = await read(api.GET('/api/v1/tools', { signal }));
  const made = list.items[0] && shaped<Tool>(list.items[0], 'from');
  if (made) return list;
  const agents = [...new Set(list.items.map((row) => row.agent))];
  const grants = (
    await Promise.all(
      agents.map((id) => read(api.GET('/api/v1/agents/{id}/grants', { params: { path: { id } }, signal }))),
    )
  ).flatMap((page) => page.items);
  return each(list, async (row): Promise<Tool> => {
    const general = (grant: S['GrantView']) => !grant.world && !grant.room && !grant.person;
    const own = grants.findLast(
      (grant) =>
        grant.agent === row.agent &&
        grant.kind === 'rule' &&
        general(grant) &&
        (grant.tools === row.tool || grant.tools === `${row.owner}/*`),
    );
    return {
      name: row.tool,
      agent: row.agent,
      origin: await agentName(row.agent),
      kind: row.owner.startsWith('mcp') ? 'mcp' : 'plugin',
      text: row.action,
      from: (own?.from ?? '') as Tool['from'],
      scope: row.scope,
      ask: own?.ask ?? '',
      grant: own?.id,
    };
  });
}

function grant(asked: Asked) {
  const [id = ''] = asked.args;
  return read(api.POST('/api/v1/agents/{id}/grants', { params: { path: { id } }, body: asked.body as S['AddGrant'] }));
}

function withdraw(asked: Asked) {
  const [id = '', grant = ''] = asked.args;
  return read(api.DELETE('/api/v1/agents/{id}/grants/{grant}', { params: { path: { id, grant } } }));
}

const SERVER_STATES: Record<string, McpServer['state']> = { ready: 'connected', disabled: 'off', stopped: 'off' };

function server(row: S['ServerView']): McpServer {
  const made = shaped<McpServer>(row, 'tools');
  if (made) return made;
  const state = SERVER_STATES[row.state] ?? (row.state === 'starting' ? 'connecting' : 'failed');
  return {
    id: row.name,
    name: row.name,
    transport: row.command,
    state,
    tools: row.offered,
    waiting: row.waiting,
    fault: state === 'connected' && row.waiting === 0 ? undefined : row.detail || row.state,
  };
}

/** A server from one line: an address, or a command with its arguments. */
export function serverOf(name: string, line: string): S['AddServer'] {
  if (/^https?:\/\//.test(line)) return { name, url: line, args: [], env: {}, headers: {} };
  const [command = '', ...args] = (line.match(/"[^"]*"|'[^']*'|\S+/g) ?? []).map((word) =>
    word.replace(/^(["'])(.*)\1$/, '$2'),
  );
  return { name, command, args, env: {}, headers: {} };
}

async function addServer({ body }: Asked) {
  const { name, transport } = body as { name: string; transport: string };
  return read(api.POST('/api/v1/mcp', { body: serverOf(name, transport) }));
}

const byName = (asked: Asked) => ({ params: { path: { name: asked.args[0] ?? '' } }, signal: asked.signal });

export const EXTENSIONS: Handlers = {
  'GET plugins': async ({ signal }) => each(await read(api.GET('/api/v1/plugins', { signal })), plugin),
  'PATCH agents/:id/plugins/:name': changePlugin,
  'GET tools': tools,
  'POST agents/:id/grants': grant,
  'DELETE agents/:id/grants/:grant': withdraw,
  'GET mcp': async ({ signal }) => each(await read(api.GET('/api/v1/mcp', { signal })), server),
  'POST mcp': addServer,
  'POST mcp/:name/test': (asked) => read(api.POST('/api/v1/mcp/{name}/test', byName(asked))),
  'POST mcp/:name/approve': (asked) => read(api.POST('/api/v1/mcp/{name}/approve', { ...byName(asked), body: {} })),
  'DELETE mcp/:name': (asked) => read(api.DELETE('/api/v1/mcp/{name}', byName(asked))),
};
