// Who may talk to an agent, tasks, and actions that wait for a person.
import { api, read } from '../client';
import type { Approval, Block, Pairing, Task } from '../types';
import { type Asked, byId, each, type Handlers, type S, shaped } from './asked';
import { personName, roomName } from './names';

function pairing(row: S['PairingView']): Pairing {
  const made = shaped<Pairing>(row, 'platform');
  return made ?? { id: row.id, platform: row.source, name: row.name, code: row.code, until: row.until };
}

function block(row: S['NamedBlock']): Block {
  const made = shaped<Block>(row, 'platform');
  return made ?? { id: row.id, name: row.remote, platform: row.source, kind: row.kind, at: row.at, reason: row.reason };
}

function task(row: S['TaskView']): Task {
  const made = shaped<Task>(row, 'agentName') ? null : shaped<Task>(row, 'name');
  if (made) return made;
  return {
    id: row.id,
    name: row.description || row.name,
    agent: row.agentName,
    due: row.due,
    repeat: row.repeat,
    state: row.state,
    lastError: row.lastError ?? undefined,
  };
}

/** Parameters of a tool on one line, such as `order: 4411, reason: "twice"`. */
function words(parameters: unknown): string {
  return Object.entries((parameters ?? {}) as Record<string, unknown>)
    .map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
    .join(', ');
}

async function approval(row: S['ApprovalView']): Promise<Approval> {
  const made = shaped<Approval>(row, 'action');
  if (made) return made;
  const [room, person] = await Promise.all([roomName(row.room), personName(row.person)]);
  return {
    id: row.id,
    until: row.until,
    agent: row.agent,
    action: row.actions.map((one) => one.tool).join(', '),
    text: row.actions.map((one) => `${one.tool}(${words(one.parameters)})`).join('\n'),
    personName: person,
    roomName: room,
  };
}

export async function approvals({ signal }: Asked) {
  return each(await read(api.GET('/api/v1/approvals', { signal })), approval);
}

export async function pairings({ signal }: Asked) {
  return each(await read(api.GET('/api/v1/pairing', { signal })), pairing);
}

export const ACCESS: Handlers = {
  'GET pairing': pairings,
  'POST pairing/:id/approve': (asked) => read(api.POST('/api/v1/pairing/{id}/approve', byId(asked))),
  'POST pairing/:id/refuse': (asked) => read(api.POST('/api/v1/pairing/{id}/refuse', byId(asked))),
  'GET blocks': async ({ signal }) => each(await read(api.GET('/api/v1/blocks', { signal })), block),
  'DELETE blocks/:id': (asked) => read(api.DELETE('/api/v1/blocks/{id}', byId(asked))),
  'POST people/:id/block': (asked) => read(api.POST('/api/v1/people/{id}/block', { ...byId(asked), body: {} })),
  'GET tasks': async ({ signal }) => each(await read(api.GET('/api/v1/tasks', { signal })), task),
  'POST tasks/:id/run': (asked) => read(api.POST('/api/v1/tasks/{id}/run', byId(asked))),
  'POST tasks/:id/pause': (asked) => read(api.POST('/api/v1/tasks/{id}/pause', byId(asked))),
  'DELETE tasks/:id': (asked) => read(api.DELETE('/api/v1/tasks/{id}', byId(asked))),
  'GET approvals': approvals,
  'POST approvals/:id/approve': (asked) => read(api.POST('/api/v1/approvals/{id}/approve', byId(asked))),
  'POST approvals/:id/refuse': (asked) => read(api.POST('/api/v1/approvals/{id}/refuse', byId(asked))),
};
