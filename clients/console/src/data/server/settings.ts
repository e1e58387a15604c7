// Settings, findings, limits, processes, log lines.
import { t } from '../../i18n';
import { api, read } from '../client';
import type { Budget, Cluster, Finding, LogLine, Paged, Setting } from '../types';
import { type Asked, each, type Handlers, number, type S, shaped, text } from './asked';

const ORIGINS: Record<string, Setting['origin']> = {
  environment: 'env',
  file: 'file',
  character: 'character',
  flag: 'env',
  console: 'console',
  default: 'default',
};

export function setting(row: S['SettingView']): Setting {
  const made = shaped<Setting>(row, 'key');
  if (made) return made;
  return {
    key: row.name,
    value: row.secret || (!row.isSet && row.origin === 'default' && !row.value) ? null : (row.value ?? null),
    isSet: row.isSet,
    origin: ORIGINS[row.origin] ?? 'default',
    place: row.place,
    secret: row.secret,
    group: row.group,
    needsRestart: false,
    editable: row.editable,
    text: row.help,
    changedAt: row.changedAt ?? undefined,
  };
}

async function settings(asked: Asked): Promise<Paged<Setting>> {
  const query = { agent: text(asked, 'agent') };
  return each(await read(api.GET('/api/v1/settings', { params: { query }, signal: asked.signal })), setting);
}

async function change(asked: Asked) {
  const name = asked.args[0] ?? '';
  const { value } = asked.body as { value: string | null };
  const body = value === null ? {} : { value };
  const init = { params: { path: { name }, query: { agent: text(asked, 'agent') } }, body };
  const made = await read(api.PATCH('/api/v1/settings/{name}', init));
  return shaped<Setting>(made, 'key') ?? { ...setting(made.setting), restarted: made.restarted };
}

type Condition = { code?: string; message?: string; cause?: string; fix?: string; subject?: string; agent?: string };

/** What keeps the program from working, and what to look at although it works. */
async function findings({ signal }: Asked): Promise<Paged<Finding>> {
  const system = await read(api.GET('/api/v1/system', { signal }));
  const made = shaped<Paged<Finding>>(system, 'items');
  if (made) return made;
  const of =
    (severity: Finding['severity']) =>
    (raw: unknown, i: number): Finding => {
      const row = (typeof raw === 'object' && raw !== null ? raw : { message: String(raw) }) as Condition;
      const message = [row.message, row.cause].filter(Boolean).join('. ');
      const fix = row.fix ? { label: row.fix } : undefined;
      return {
        id: `${severity}-${i}`,
        severity,
        subject: [row.agent, row.subject].filter(Boolean).join(' · ') || (row.code ?? ''),
        message: message || JSON.stringify(raw),
        fix,
      };
    };
  const items = [...(system.reasons as unknown[]).map(of('bad')), ...(system.remarks as unknown[]).map(of('warn'))];
  const ready = { id: 'ready', severity: 'ok' as const, subject: `Galatea ${system.version}`, message: '' };
  return { items: items.length > 0 ? items : [{ ...ready, message: t('Nothing is wrong.') }], next: null };
}

function budget(row: S['BudgetView']): Budget {
  const made = shaped<Budget>(row, 'scope');
  if (made) return made;
  const scope = [row.agent, row.whose].filter(Boolean).join(' · ');
  return { id: `${row.agent}/${row.setting}`, scope, setting: row.setting, percent: row.percent };
}

export async function budgets({ signal }: Asked): Promise<Paged<Budget>> {
  return each(await read(api.GET('/api/v1/budgets', { signal })), budget);
}

async function cluster({ signal }: Asked): Promise<Cluster> {
  const found = await read(api.GET('/api/v1/cluster', { signal }));
  const first = found.nodes[0];
  if (first && shaped(first, 'lag')) return found as unknown as Cluster;
  if (found.nodes.length > 0)
    return {
      store: found.store as Cluster['store'],
      behind: found.behind ?? null,
      nodes: found.nodes.map((n) => ({ ...n, state: n.state as 'up', lag: null, rate: null, memory: null })),
    };
  // One process that shares nothing is in no list: it answers itself.
  const system = await read(api.GET('/api/v1/system', { signal }));
  return {
    store: found.store as Cluster['store'],
    behind: found.behind ?? null,
    nodes: [
      {
        id: 'self',
        name: t('this process'),
        role: 'all',
        version: system.version,
        upSince: system.serverTime - system.uptime * 1000,
        lag: null,
        rooms: null,
        rate: null,
        memory: null,
        skew: 0,
        state: 'up',
      },
    ],
  };
}

/** Lines of the log, the newest first; the server gives the newest, oldest first. */
async function logs(asked: Asked): Promise<Paged<LogLine>> {
  const query = { level: text(asked, 'level'), limit: number(asked, 'limit') ?? 200 };
  const list = await read(api.GET('/api/v1/logs', { params: { query }, signal: asked.signal }));
  const trace = text(asked, 'trace');
  const items = (list.items as unknown as LogLine[]).filter((line) => !trace || line.trace === trace);
  return { items: items.sort((a, b) => b.seq - a.seq), next: list.next ?? null };
}

export const SETTINGS: Handlers = {
  'GET settings': settings,
  'PATCH settings/:name': change,
  'GET findings': findings,
  'GET budgets': budgets,
  'GET cluster': cluster,
  'GET logs': logs,
};
