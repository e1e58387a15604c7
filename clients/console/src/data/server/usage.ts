// Sums of the ledger's rows for the Usage view.
import { api, read } from '../client';
import type { Usage, UsageRow } from '../types';
import { type Asked, type Handlers, type S, shaped, text } from './asked';
import { agentName, roomName } from './names';

type UsageLine = S['UsageLine'];
type Names = { room: (id: string) => Promise<string>; agent: (id: string) => Promise<string> };

const DAY_MS = 86_400_000;
const DAYS: Record<string, number> = { today: 1, '7d': 7, '30d': 30 };
const dollars = (micros: number) => micros / 1e6;

async function group(
  lines: UsageLine[],
  key: (line: UsageLine) => string,
  name: (id: string) => Promise<string>,
): Promise<UsageRow[]> {
  const sums = new Map<string, UsageLine[]>();
  for (const line of lines) sums.set(key(line), [...(sums.get(key(line)) ?? []), line]);
  const all = lines.reduce((sum, line) => sum + line.micros, 0);
  const rows = [...sums].map(async ([id, own]): Promise<UsageRow> => {
    const sum = (field: 'micros' | 'input' | 'output' | 'cached' | 'answers' | 'unpriced' | 'calls') =>
      own.reduce((n, line) => n + line[field], 0);
    const priced = sum('unpriced') < sum('calls') || sum('micros') > 0;
    return {
      id,
      name: await name(id),
      cost: priced ? dollars(sum('micros')) : null,
      share: all > 0 ? sum('micros') / all : 0,
      turns: sum('answers'),
      tokens: sum('input') + sum('output'),
      cached: sum('input') > 0 ? sum('cached') / sum('input') : 0,
    };
  });
  return (await Promise.all(rows)).sort((a, b) => (b.cost ?? 0) - (a.cost ?? 0) || b.tokens - a.tokens);
}

/** The view's sums of a range (`today`, `7d`, `30d`). */
export async function usageOf(lines: UsageLine[], range: string, now: number, names: Names): Promise<Usage> {
  const days = DAYS[range] ?? 1;
  const today = Math.floor(now / DAY_MS);
  const at = Array.from({ length: days }, (_, i) => (today - days + 1 + i) * DAY_MS);
  const agents = await group(lines, (line) => line.agent, names.agent);
  const of = (day: number, wanted: (line: UsageLine) => boolean, value: (line: UsageLine) => number) =>
    lines.filter((line) => line.day === day && wanted(line)).reduce((n, line) => n + value(line), 0);
  const perDay = (wanted: (line: UsageLine) => boolean, value: (line: UsageLine) => number) =>
    at.map((time) => of(Math.floor(time / DAY_MS), wanted, value));
  return {
    from: at[0] ?? now,
    to: now,
    cost: dollars(lines.reduce((n, line) => n + line.micros, 0)),
    limit: null,
    used: 0,
    at,
    series: agents.map((agent) => ({
      name: agent.name,
      unit: '$',
      values: perDay(
        (line) => line.agent === agent.id,
        (line) => dollars(line.micros),
      ),
    })),
    answers: [
      {
        name: 'answers',
        unit: 'per day',
        values: perDay(
          () => true,
          (line) => line.answers,
        ),
      },
    ],
    agents,
    rooms: await group(lines, (line) => line.room, names.room),
    models: await group(
      lines,
      (line) => line.model,
      async (id) => id,
    ),
    unpriced: new Set(lines.filter((line) => line.unpriced > 0).map((line) => line.model)).size,
  };
}

async function usage(asked: Asked): Promise<Usage> {
  const range = text(asked, 'range') ?? 'today';
  const query = { days: DAYS[range] ?? 1 };
  const list = await read(api.GET('/api/v1/usage', { params: { query }, signal: asked.signal }));
  return shaped<Usage>(list, 'series') ?? usageOf(list.items, range, Date.now(), { room: roomName, agent: agentName });
}

export const USAGE: Handlers = { 'GET usage': usage };
