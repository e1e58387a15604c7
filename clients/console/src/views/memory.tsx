// Memory: what does it know, and from where? Facts, people and rooms.
import { useState } from 'react';
import { Link } from 'wouter';
import { call, type Fact, offers, type Person, useAction, useList } from '../data';
import { t } from '../i18n';
import { useFilters } from '../lib/filters';
import { count } from '../lib/format';
import {
  Button,
  DataList,
  DetailPane,
  FilterBar,
  KeyValue,
  PageHead,
  PlatformTag,
  platformName,
  RoleGate,
  StateView,
  Tabs,
  TextField,
  Time,
  useOverlay,
} from '../ui';
import { nextPage, Rooms } from './memory-rooms';

export default function Memory() {
  const [filters, setFilters] = useFilters();
  const tab = filters.tab ?? 'facts';
  return (
    <div className="page">
      <PageHead title={t('Memory')} />
      <Tabs
        label={t('Memory')}
        active={tab}
        onChange={(id) => setFilters({ tab: id, id: null, q: null })}
        tabs={[
          { id: 'facts', label: t('Facts') },
          { id: 'people', label: t('People') },
          { id: 'rooms', label: t('Rooms') },
        ]}
      />
      {tab === 'facts' && <Facts />}
      {tab === 'people' && <People />}
      {tab === 'rooms' && <Rooms />}
    </div>
  );
}

function Facts() {
  const [filters, setFilters] = useFilters();
  const words = filters.q ?? '';
  const query = useList<Fact>('memories', { q: words });
  const selected = query.items.find((fact) => fact.id === filters.id);
  return (
    <>
      <FilterBar value={words} onChange={(q) => setFilters({ q }, true)} placeholder={t('Search facts')} />
      <div className="split">
        <div className="master">
          <StateView
            query={query}
            empty={query.items.length === 0}
            filter={words}
            onClear={() => setFilters({ q: null })}
            nothing={{
              text: t('No facts yet. They are stored after conversations.'),
              actions: (
                <Link href="/chat" className="button primary">
                  {t('Open Chat')}
                </Link>
              ),
            }}
          >
            <DataList
              label={t('Facts')}
              items={query.items}
              id={(fact) => fact.id}
              selected={filters.id}
              onOpen={(fact) => setFilters({ id: fact.id })}
              onEnd={nextPage(query)}
              height={44}
              row={(fact) => (
                <span className="cells fact">
                  <span title={fact.text}>
                    {fact.pinned && (
                      <span className="accent" title={t('pinned')}>
                        ◆{' '}
                      </span>
                    )}
                    {fact.text}
                  </span>
                  <span className="text-2">{fact.aboutName}</span>
                  <span className="num end">{fact.score === null ? '' : fact.score.toFixed(2)}</span>
                  <span className="end">
                    <Time at={fact.at} />
                  </span>
                </span>
              )}
            />
          </StateView>
        </div>
        {selected && <FactPane key={selected.id} fact={selected} onClose={() => setFilters({ id: null })} />}
      </div>
    </>
  );
}

function FactPane({ fact, onClose }: { fact: Fact; onClose: () => void }) {
  const [text, setText] = useState(fact.text);
  const { toast, fail, confirm } = useOverlay();
  const change = useAction((next: Partial<Fact>) => call('PATCH', `memories/${fact.id}`, next), ['memories']);
  const forget = useAction(() => call('DELETE', `memories/${fact.id}`), ['memories']);
  return (
    <DetailPane title={t('Fact about {name}', { name: fact.aboutName })} onClose={onClose}>
      <TextField label={t('Text')} value={text} onChange={setText} lines={3} />
      <RoleGate needs="operator">
        <div className="buttons">
          {offers('PATCH', `memories/${fact.id}`) && (
            <>
              <Button
                kind="primary"
                disabled={text === fact.text}
                why={t('Nothing is changed')}
                onClick={() =>
                  change.mutate(
                    { text },
                    {
                      onSuccess: () => toast(t('The fact is saved.'), () => change.mutate({ text: fact.text })),
                      onError: fail,
                    },
                  )
                }
              >
                {t('Save fact')}
              </Button>
              <Button onClick={() => change.mutate({ pinned: !fact.pinned }, { onError: fail })}>
                {fact.pinned ? t('Unpin fact') : t('Pin fact')}
              </Button>
            </>
          )}
          <Button
            kind="danger"
            onClick={() =>
              confirm({
                title: t('Forget this fact?'),
                text: fact.text,
                action: t('Forget fact'),
                onConfirm: () =>
                  forget.mutate(undefined, {
                    onSuccess: () => {
                      toast(t('The fact is forgotten.'));
                      onClose();
                    },
                    onError: fail,
                  }),
              })
            }
          >
            {t('Forget fact')}
          </Button>
        </div>
      </RoleGate>
      <KeyValue
        rows={[
          [
            t('About'),
            <Link key="p" href={`/memory?tab=people&id=${fact.about}`}>
              {fact.aboutName}
            </Link>,
          ],
          [t('Age'), <Time key="t" at={fact.at} />],
          [
            t('From'),
            fact.turn ? (
              <Link key="m" href={`/traces/${fact.turn}`}>
                {t('the message')}
              </Link>
            ) : (
              '–'
            ),
          ],
        ]}
      />
      <section>
        <h3>{t('Recalled lately')}</h3>
        {fact.recalled.length === 0 && <p className="muted">{t('Not recalled in the last 7 days.')}</p>}
        {fact.recalled.map((r) => (
          <p key={r.turn}>
            <Link href={`/traces/${r.turn}`}>{r.why}</Link>{' '}
            <span className="muted">
              <Time at={r.at} />
            </span>
          </p>
        ))}
      </section>
    </DetailPane>
  );
}

function People() {
  const [filters, setFilters] = useFilters();
  const words = filters.q ?? '';
  const query = useList<Person>('people', { q: words });
  const selected = query.items.find((person) => person.id === filters.id);
  return (
    <>
      <FilterBar value={words} onChange={(q) => setFilters({ q }, true)} placeholder={t('Search people')} />
      <div className="split">
        <div className="master">
          <StateView
            query={query}
            empty={query.items.length === 0}
            filter={words}
            onClear={() => setFilters({ q: null })}
            nothing={{ text: t('No people yet. They appear with their first message.') }}
          >
            <DataList
              label={t('People')}
              items={query.items}
              id={(person) => person.id}
              selected={filters.id}
              onOpen={(person) => setFilters({ id: person.id })}
              onEnd={nextPage(query)}
              height={44}
              row={(person) => (
                <span className="cells person">
                  <span>
                    {person.name}
                    {person.blocked && <span className="chip bad">✕ {t('blocked')}</span>}
                  </span>
                  <span>
                    {person.identities.map((i) => (
                      <PlatformTag key={i.platform + i.handle} platform={i.platform} />
                    ))}
                  </span>
                  <span className="text-2">{person.roles.join(', ')}</span>
                  <span className="end">
                    <Time at={person.lastSeen} />
                  </span>
                </span>
              )}
            />
          </StateView>
        </div>
        {selected && <PersonPane person={selected} onClose={() => setFilters({ id: null })} />}
      </div>
    </>
  );
}

function PersonPane({ person, onClose }: { person: Person; onClose: () => void }) {
  const { toast, fail, confirm } = useOverlay();
  const block = useAction(() => call('POST', `people/${person.id}/block`), ['people', 'blocks']);
  const forget = useAction(() => call('DELETE', `people/${person.id}`), ['people', 'memories', 'rooms']);
  return (
    <DetailPane title={person.name} onClose={onClose}>
      <KeyValue
        rows={[
          ...person.identities.map((i): [string, string] => [platformName(i.platform), i.handle]),
          [t('Roles'), person.roles.join(', ')],
          [t('Last seen'), <Time key="t" at={person.lastSeen} />],
          [
            t('Messages'),
            <Link key="m" href={`/traces?q=${encodeURIComponent(person.name)}`}>
              {count(person.messages)}
            </Link>,
          ],
          [
            t('Facts'),
            <Link key="f" href={`/memory?q=${encodeURIComponent(person.name)}`}>
              {count(person.facts)}
            </Link>,
          ],
        ]}
      />
      <RoleGate needs="operator">
        <div className="buttons">
          <Button
            kind="danger"
            disabled={person.blocked}
            why={t('{name} is blocked already', { name: person.name })}
            onClick={() =>
              block.mutate(undefined, {
                onSuccess: () => toast(t('{name} is blocked.', { name: person.name })),
                onError: fail,
              })
            }
          >
            {t('Block person')}
          </Button>
        </div>
      </RoleGate>
      {offers('DELETE', `people/${person.id}`) && (
        <RoleGate needs="operator">
          <div className="buttons">
            <a className="button" href={`/api/v1/people/${person.id}/export`} download={`${person.id}.json`}>
              {t('Export person')}
            </a>
            <Button
              kind="danger"
              onClick={() =>
                confirm({
                  title: t('Forget everything about {name}?', { name: person.name }),
                  text:
                    person.messages === null
                      ? t('Messages and facts are deleted on all platforms. This cannot be undone.')
                      : t(
                          '{messages, plural, one {# message} other {# messages}} and {facts, plural, one {# fact} other {# facts}} are deleted on all platforms. This cannot be undone.',
                          { messages: person.messages ?? 0, facts: person.facts ?? 0 },
                        ),
                  action: t('Forget everything'),
                  onConfirm: () =>
                    forget.mutate(undefined, {
                      onSuccess: () => {
                        toast(t('{name} is forgotten.', { name: person.name }));
                        onClose();
                      },
                      onError: fail,
                    }),
                })
              }
            >
              {t('Forget everything')}
            </Button>
          </div>
        </RoleGate>
      )}
    </DetailPane>
  );
}
