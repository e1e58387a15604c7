// Keyboard: one listener, off while typing, and off as a whole if the user wants so (WCAG 2.1.4).
import { useEffect, useRef } from 'react';

export type Keys = Record<string, (event: KeyboardEvent) => void>;

const stack: { current: Keys }[] = [];
let prefix = Number.NEGATIVE_INFINITY;
const PREFIX_MS = 1_500;

export function keysEnabled(): boolean {
  return localStorage.getItem('galatea.keys') !== 'off';
}

/** Whether the event goes to a field that takes text. */
export function typing(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName);
}

/** Name of the pressed key; a second key after `g` is `g x`. */
export function keyName(event: KeyboardEvent, now: number): string {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') return 'mod k';
  if (event.ctrlKey || event.metaKey || event.altKey) return '';
  if (now - prefix < PREFIX_MS) {
    prefix = Number.NEGATIVE_INFINITY;
    return `g ${event.key}`;
  }
  if (event.key === 'g') {
    prefix = now;
    return '';
  }
  return event.key;
}

function press(event: KeyboardEvent) {
  const writes = typing(event.target);
  const global = event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey);
  if (event.defaultPrevented || ((writes || !keysEnabled()) && !global)) return;
  if (document.querySelector('dialog[open]') && !global) return;
  const name = keyName(event, Date.now());
  for (let i = stack.length - 1; i >= 0; i -= 1) {
    const action = stack[i]?.current[name];
    if (action) {
      event.preventDefault();
      action(event);
      return;
    }
  }
}

/** Adds keys while the component is mounted; later ones win. */
export function useKeys(keys: Keys) {
  const ref = useRef(keys);
  ref.current = keys;
  useEffect(() => {
    if (stack.length === 0) document.addEventListener('keydown', press);
    stack.push(ref);
    return () => {
      stack.splice(stack.indexOf(ref), 1);
      if (stack.length === 0) document.removeEventListener('keydown', press);
    };
  }, []);
}
