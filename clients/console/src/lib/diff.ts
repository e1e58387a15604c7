// Differences of two JSON values, by path.

export type Difference = { path: string; before?: string; after?: string };

const show = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));

/** Leaves that differ, in the order of their paths. */
export function differences(before: unknown, after: unknown, path = ''): Difference[] {
  if (before === after) return [];
  const nested = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
  if (nested(before) && nested(after)) {
    const list = Array.isArray(after);
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    return names.flatMap((name) =>
      differences(before[name], after[name], list ? `${path}[${name}]` : path ? `${path}.${name}` : name),
    );
  }
  return [
    {
      path,
      before: before === undefined ? undefined : show(before),
      after: after === undefined ? undefined : show(after),
    },
  ];
}
