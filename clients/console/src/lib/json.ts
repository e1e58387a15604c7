// Place of a fault in JSON. Engines name it in different words or not at all.

/** Index of the first character that cannot be JSON; the length if the text ends too early or is fine. */
export function faultAt(text: string): number {
  let at = 0;
  const space = () => {
    while (/\s/.test(text[at] ?? '')) at += 1;
  };
  const take = (pattern: RegExp): boolean => {
    const found = new RegExp(pattern.source, 'y');
    found.lastIndex = at;
    const match = found.exec(text);
    if (match) at += match[0].length;
    return match !== null;
  };
  const group = (close: string, item: () => boolean): boolean => {
    at += 1;
    space();
    if (text[at] === close) {
      at += 1;
      return true;
    }
    for (;;) {
      if (!item()) return false;
      space();
      if (text[at] === close) {
        at += 1;
        return true;
      }
      if (!take(/,/)) return false;
      space();
    }
  };
  const string = () => take(/"(?:[^"\\\n]|\\.)*"/);
  const value = (): boolean => {
    space();
    if (text[at] === '{') return group('}', pair);
    if (text[at] === '[') return group(']', value);
    return string() || take(/-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/);
  };
  const pair = (): boolean => {
    space();
    if (!string()) return false;
    space();
    return take(/:/) && value();
  };
  if (!value()) return at;
  space();
  return at;
}

/** Path of what stands in a line of JSON that is indented by two, such as `style.all[2]`. Lines count from 1. */
export function pathAt(text: string, line: number): string {
  const at: (string | number)[] = [];
  for (const row of text.split('\n').slice(0, line)) {
    const inside = row.trimStart();
    const depth = (row.length - inside.length) / 2;
    if (/^[}\]]/.test(inside)) continue;
    const key = /^("(?:[^"\\]|\\.)*"):/.exec(inside)?.[1];
    const before = at[depth];
    at.length = depth;
    at.push(key !== undefined ? (JSON.parse(key) as string) : typeof before === 'number' ? before + 1 : 0);
  }
  return at
    .slice(1)
    .reduce<string>(
      (whole, part) => (typeof part === 'number' ? `${whole}[${part}]` : whole ? `${whole}.${part}` : part),
      '',
    );
}
