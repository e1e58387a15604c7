// Choices that stay in the browser, and hooks for clock, width and theme.
import { useEffect, useState, useSyncExternalStore } from 'react';

/** A choice that survives the page. */
export function usePref(name: string, initial: string): [string, (value: string) => void] {
  const [value, setValue] = useState(() => localStorage.getItem(`galatea.${name}`) ?? initial);
  return [
    value,
    (next) => {
      localStorage.setItem(`galatea.${name}`, next);
      setValue(next);
    },
  ];
}

/** The time, renewed at an interval (milliseconds). */
export function useNow(every = 1000): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), every);
    return () => clearInterval(timer);
  }, [every]);
  return now;
}

/** Whether a media query holds. */
export function useMedia(query: string): boolean {
  const list = window.matchMedia(query);
  return useSyncExternalStore(
    (change) => {
      list.addEventListener('change', change);
      return () => list.removeEventListener('change', change);
    },
    () => list.matches,
  );
}

export const usePhone = () => useMedia('(max-width: 767px)');

/** Applies the chosen theme; without a choice the system's. */
export function applyTheme(theme: string | null = localStorage.getItem('galatea.theme')) {
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}
