// The twelve views: address, name, group and key.
import { msg } from '../i18n';

export type View = { id: string; path: string; name: string; group: string; key: string; letter: string };

export const VIEWS: View[] = [
  { id: 'live', path: '/', name: msg('Live'), group: msg('Watch'), key: 'l', letter: 'L' },
  { id: 'traces', path: '/traces', name: msg('Traces'), group: 'Watch', key: 't', letter: 'T' },
  { id: 'chat', path: '/chat', name: msg('Chat'), group: 'Watch', key: 'c', letter: 'C' },
  { id: 'agents', path: '/agents', name: msg('Agents'), group: msg('Mind'), key: 'a', letter: 'A' },
  { id: 'memory', path: '/memory', name: msg('Memory'), group: 'Mind', key: 'm', letter: 'M' },
  { id: 'knowledge', path: '/knowledge', name: msg('Knowledge'), group: 'Mind', key: 'k', letter: 'K' },
  { id: 'delivery', path: '/delivery', name: msg('Delivery'), group: msg('Body'), key: 'd', letter: 'D' },
  { id: 'connectors', path: '/connectors', name: msg('Connectors'), group: 'Body', key: 'o', letter: 'O' },
  { id: 'usage', path: '/usage', name: msg('Usage'), group: 'Body', key: 'u', letter: 'U' },
  { id: 'settings', path: '/settings', name: msg('Settings'), group: msg('House'), key: 's', letter: 'S' },
  { id: 'cluster', path: '/cluster', name: msg('Cluster'), group: 'House', key: 'n', letter: 'N' },
  { id: 'users', path: '/users', name: msg('Users'), group: 'House', key: 'p', letter: 'P' },
];

export const GROUPS = ['Watch', 'Mind', 'Body', 'House'];
export const TABBAR = ['live', 'chat', 'delivery', 'usage'];

/** The view of an address. */
export function viewOf(path: string): View | undefined {
  const first = `/${path.split('/')[1] ?? ''}`;
  return VIEWS.find((view) => view.path === first);
}
