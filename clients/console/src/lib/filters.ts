// The address is the state: filters and selection as search parameters.
import { useCallback } from 'react';
import { useLocation, useSearch } from 'wouter';

export type Filters = Record<string, string>;

/** The search parameters and a function that changes some of them; an empty value removes one. */
export function useFilters(): [Filters, (change: Record<string, string | null>, replace?: boolean) => void] {
  const search = useSearch();
  const [path, navigate] = useLocation();
  const filters = Object.fromEntries(new URLSearchParams(search));
  const set = useCallback(
    (change: Record<string, string | null>, replace = false) => {
      const next = new URLSearchParams(search);
      for (const [name, value] of Object.entries(change)) {
        if (value) next.set(name, value);
        else next.delete(name);
      }
      const text = next.toString();
      navigate(text ? `${path}?${text}` : path, { replace });
    },
    [search, path, navigate],
  );
  return [filters, set];
}

/** Whether a row fits the words of a filter, each anywhere in its texts. */
export function fits(words: string, ...texts: (string | undefined)[]): boolean {
  const all = texts.join(' ').toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word));
}
