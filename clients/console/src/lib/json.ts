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
