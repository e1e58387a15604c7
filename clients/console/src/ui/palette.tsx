// The command palette: views, agents, rooms, people, traces and actions in one list.
import { useMemo, useState } from 'react';
import { useLocation } from 'wouter';
import { type Agent, type Paged, type Person, type Room, useOne } from '../data';
import { msg, t } from '../i18n';
import { fits } from '../lib/filters';
import { VIEWS } from '../lib/views';
import { Dialog } from './overlay';

type Entry = { id: string; text: string; kind: string; key?: string; run: () => void };

const ACTIONS: [string, string][] = [
  [msg('Connect a platform'), '/connectors?add=1'],
  [msg('Connect a model'), '/settings?tab=models'],
  [msg('Upload a document'), '/knowledge'],
  [msg('Retry sends that gave up'), '/delivery?tab=gave-up'],
  [msg('Back up now'), '/settings?tab=backup'],
  [msg('Invite a person'), '/users?invite=1'],
  [msg('Show health findings'), '/settings?tab=health'],
  [msg('Read the log'), '/cluster?tab=logs'],
];
const SHOWN = 30;

/** A dialog with a combobox over everything that has an address. */
export function Palette({ onClose, onKeys }: { onClose: () => void; onKeys: () => void }) {
  const [, navigate] = useLocation();
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const agents = useOne<Paged<Agent>>('agents').data;
  const rooms = useOne<Paged<Room>>('rooms', { limit: 100 }).data;
  const people = useOne<Paged<Person>>('entities', { limit: 100 }).data;
  const entries = useMemo<Entry[]>(() => {
    const go = (path: string) => () => navigate(path);
    const list: Entry[] = [
      ...VIEWS.map((v) => ({ id: v.id, text: t(v.name), kind: t('view'), key: `g ${v.key}`, run: go(v.path) })),
      ...ACTIONS.map(([name, path]) => ({ id: path, text: t(name), kind: t('action'), run: go(path) })),
      { id: 'keys', text: t('Keyboard'), kind: t('action'), key: '?', run: onKeys },
      ...(agents?.items ?? []).map((a) => ({
        id: a.id,
        text: a.name,
        kind: t('agent'),
        run: go(`/agents/${a.id}/edit`),
      })),
      ...(rooms?.items ?? []).map((r) => ({
        id: r.id,
        text: r.name,
        kind: t('room'),
        run: go(`/memory?tab=rooms&id=${r.id}`),
      })),
      ...(people?.items ?? []).map((p) => ({
        id: p.id,
        text: p.name,
        kind: t('person'),
        run: go(`/memory?tab=people&id=${p.id}`),
      })),
    ];
    const found = text ? list.filter((entry) => fits(text, entry.text, entry.kind)) : list;
    if (/^[\w-]{6,}$/.test(text)) {
      found.push({
        id: 'trace',
        text: t('Open trace {id}', { id: text }),
        kind: t('trace'),
        run: go(`/traces/${text}`),
      });
    }
    return found.slice(0, SHOWN);
  }, [text, agents, rooms, people, navigate, onKeys]);
  const run = (entry: Entry | undefined) => {
    if (!entry) return;
    onClose();
    entry.run();
  };
  return (
    <Dialog title={t('Search or do')} onClose={onClose}>
      <input
        className="palette-input"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={entries[at] ? `palette-${at}` : undefined}
        aria-label={t('Search or do')}
        placeholder={t('A view, agent, room, person, trace id or action')}
        value={text}
        data-autofocus
        onChange={(event) => {
          setText(event.target.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
          if (step) {
            event.preventDefault();
            setAt((at + step + entries.length) % Math.max(1, entries.length));
          }
          if (event.key === 'Enter') run(entries[at]);
        }}
      />
      <div id="palette-list" role="listbox" aria-label={t('Results')} className="palette-list">
        {entries.map((entry, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: Keys act in the field; the option is its active descendant.
          // biome-ignore lint/a11y/useFocusableInteractive: Focus stays in the field.
          <div
            key={`${entry.kind}${entry.id}`}
            id={`palette-${index}`}
            role="option"
            aria-selected={index === at}
            onClick={() => run(entry)}
            onMouseMove={() => setAt(index)}
          >
            <span>{entry.text}</span>
            <small>{entry.kind}</small>
            {entry.key && <kbd>{entry.key}</kbd>}
          </div>
        ))}
      </div>
      {entries.length === 0 && <p className="state">{t('Nothing matches “{filter}”.', { filter: text })}</p>}
    </Dialog>
  );
}
