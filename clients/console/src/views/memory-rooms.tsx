// Memory → rooms: where people write, and who is there.
import { Link } from 'wouter';
import { call, offers, type Room, useAction, useList } from '../data';
import { t } from '../i18n';
import { useFilters } from '../lib/filters';
import { count } from '../lib/format';
import {
  DataList,
  DetailPane,
  FilterBar,
  KeyValue,
  PlatformTag,
  platformName,
  RoleGate,
  StateView,
  Switch,
  Time,
  useOverlay,
} from '../ui';

/** Asks for the next page of a list when its end is near. */
export function nextPage(query: {
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  fetchNextPage: () => unknown;
}): () => void {
  return () => {
    if (query.hasNextPage && !query.isFetchingNextPage) query.fetchNextPage();
  };
}

export function Rooms() {
  const [filters, setFilters] = useFilters();
  const words = filters.q ?? '';
  const query = useList<Room>('rooms', { q: words });
  const items = words
    ? query.items.filter((room) => room.name.toLowerCase().includes(words.toLowerCase()))
    : query.items;
  const selected = query.items.find((room) => room.id === filters.id);
  const { fail } = useOverlay();
  const mute = useAction(
    ({ id, muted }: { id: string; muted: boolean }) => call('PATCH', `rooms/${id}`, { muted }),
    ['rooms'],
  );
  return (
    <>
      <FilterBar value={words} onChange={(q) => setFilters({ q }, true)} placeholder={t('Search rooms')} />
      <div className="split">
        <div className="master">
          <StateView
            query={query}
            empty={items.length === 0}
            filter={words}
            onClear={() => setFilters({ q: null })}
            nothing={{ text: t('No rooms yet. They appear with their first message.') }}
          >
            <DataList
              label={t('Rooms')}
              items={items}
              id={(room) => room.id}
              selected={filters.id}
              onOpen={(room) => setFilters({ id: room.id })}
              onEnd={nextPage(query)}
              height={44}
              row={(room) => (
                <span className="cells room">
                  <PlatformTag platform={room.platform} />
                  <span>
                    {room.name}
                    {room.muted && (
                      <>
                        {' '}
                        <span className="chip muted">○ {t('muted')}</span>
                      </>
                    )}
                  </span>
                  <span className="num end">
                    {room.people !== null && t('{n, plural, one {# person} other {# people}}', { n: room.people })}
                  </span>
                  <span className="num end">{room.messages !== null && t('{n} msg', { n: count(room.messages) })}</span>
                  <span className="end">
                    <Time at={room.lastAt} />
                  </span>
                </span>
              )}
            />
          </StateView>
        </div>
        {selected && (
          <DetailPane
            title={
              <>
                <PlatformTag platform={selected.platform} /> {selected.name}
              </>
            }
            onClose={() => setFilters({ id: null })}
          >
            <KeyValue
              rows={[
                [t('Platform'), platformName(selected.platform)],
                [t('Kind'), selected.kind === 'dm' ? t('direct messages') : t('group')],
                [t('People'), count(selected.people)],
                [
                  t('Messages'),
                  <Link key="m" href={`/traces?q=${encodeURIComponent(selected.name)}`}>
                    {count(selected.messages)}
                  </Link>,
                ],
                [t('Last message'), <Time key="t" at={selected.lastAt} />],
              ]}
            />
            {offers('PATCH', `rooms/${selected.id}`) && (
              <RoleGate needs="operator">
                <Switch
                  label={t('Muted: messages are stored, not answered')}
                  checked={selected.muted}
                  onChange={(muted) => mute.mutate({ id: selected.id, muted }, { onError: fail })}
                />
              </RoleGate>
            )}
          </DetailPane>
        )}
      </div>
    </>
  );
}
