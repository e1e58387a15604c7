// The character editor: form and JSON over one draft, remarks by place, preview, changes, history.
import { useEffect, useMemo, useState } from 'react';
import { Link, useParams } from 'wouter';
import {
  type Character,
  type CharacterVersion,
  call,
  faultOf,
  type Paged,
  type Problem,
  type Remark,
  useAction,
  useOne,
} from '../data';
import { t } from '../i18n';
import { differences } from '../lib/diff';
import { useFilters } from '../lib/filters';
import { ago, stamp } from '../lib/format';
import { faultAt } from '../lib/json';
import { Button, Dialog, Diff, ErrorNote, PageHead, RoleGate, StateView, Tabs, useOverlay } from '../ui';
import { Basics, type Draft, Examples, Rules, Style } from './editor-form';
import { Tools } from './tools';

const CHECK_MS = 400;

export default function Editor() {
  const { id = '' } = useParams<{ id: string }>();
  const query = useOne<Character>(`characters/${id}`);
  return (
    <div className="page">
      {!query.data && <PageHead title={t('Agents')} />}
      <StateView query={query}>
        {query.data && <Form key={`${id}-${query.data.version}`} id={id} character={query.data} />}
      </StateView>
    </div>
  );
}

/** Parses JSON; a fault names its line. */
export function parse(text: string): { body?: Draft; fault?: string } {
  try {
    const body = JSON.parse(text) as unknown;
    if (typeof body !== 'object' || body === null || Array.isArray(body))
      return { fault: t('line 1: expected an object') };
    return { body: body as Draft };
  } catch (error) {
    const message = (error as Error).message.replace(/ in JSON.*| \(line .*|, ".*/s, '');
    const line = text.slice(0, faultAt(text)).split('\n').length;
    return { fault: t('line {line}: {message}', { line, message }) };
  }
}

/** Line of a path like `style.all[2]` in formatted JSON: the line of its last key that is found. */
export function lineOf(text: string, path: string): number {
  const lines = text.split('\n');
  let at = 0;
  for (const part of path.split(/[.[\]]+/).filter(Boolean)) {
    if (/^\d+$/.test(part)) at += Number(part) + 1;
    else {
      const found = lines.findIndex((line, i) => i >= at && line.includes(`"${part}":`));
      if (found >= 0) at = found;
    }
  }
  return at + 1;
}

function useRemarks(body: Draft): Remark[] {
  const [remarks, setRemarks] = useState<Remark[]>([]);
  useEffect(() => {
    const timer = setTimeout(() => {
      call<Paged<Remark>>('POST', 'characters/validate', body).then(
        (r) => setRemarks(r.items),
        () => {},
      );
    }, CHECK_MS);
    return () => clearTimeout(timer);
  }, [body]);
  return remarks;
}

function Form({ id, character }: { id: string; character: Character }) {
  const [filters, setFilters] = useFilters();
  const [draft, setDraft] = useState<Draft>(character.body as Draft);
  const [text, setText] = useState(() => JSON.stringify(character.body, null, 2));
  const [bad, setBad] = useState<string>();
  const [history, setHistory] = useState(false);
  const [saving, setSaving] = useState(false);
  const { toast } = useOverlay();
  const remarks = useRemarks(draft);
  const changes = useMemo(() => differences(character.body, draft), [character.body, draft]);
  // The form is made anew for the saved version, so the message does not wait for the form.
  const save = useAction(
    async (body: Draft) => {
      const saved = await call<Character>('PUT', `characters/${id}`, body, { etag: character.etag });
      toast(t('Saved v{n}. The next turn uses it.', { n: saved.version }));
      return saved;
    },
    ['characters', 'agents'],
  );
  const json = filters.form === 'json';
  const tab = filters.tab ?? 'basics';
  const change = (next: Draft) => {
    setDraft(next);
    setText(JSON.stringify(next, null, 2));
    setBad(undefined);
  };
  const write = (value: string) => {
    setText(value);
    const result = parse(value);
    setBad(result.fault);
    if (result.body) setDraft(result.body);
  };
  const errors = remarks.filter((r) => r.level === 'error');
  const blocked = bad !== undefined || errors.length > 0;
  const errorOf = (path: string) => remarks.find((r) => r.path === path || r.path.startsWith(`${path}[`))?.text;
  return (
    <>
      <div className="page-head">
        <Link href="/agents" className="button quiet">
          ‹ {t('Agents')}
        </Link>
        <h1>{draft.name || id}</h1>
        <span className="fresh">
          {changes.length === 0
            ? t('saved v{n}', { n: character.version })
            : t('{n, plural, one {# change} other {# changes}} on v{v}', { n: changes.length, v: character.version })}
        </span>
        <button type="button" className="token" aria-pressed={!json} onClick={() => setFilters({ form: null })}>
          {t('Form')}
        </button>
        <button type="button" className="token" aria-pressed={json} onClick={() => setFilters({ form: 'json' })}>
          JSON
        </button>
        <div className="page-actions">
          <Button onClick={() => setHistory(true)}>{t('History')}</Button>
          <Button
            disabled={changes.length === 0}
            why={t('Nothing is changed')}
            onClick={() => change(character.body as Draft)}
          >
            {t('Discard changes')}
          </Button>
          <RoleGate needs="operator">
            <Button
              kind="primary"
              disabled={changes.length === 0 || blocked}
              why={blocked ? t('The draft has errors') : t('Nothing is changed')}
              onClick={() => setSaving(true)}
            >
              {t('Save v{v} ({n})', { v: character.version + 1, n: changes.length })}
            </Button>
          </RoleGate>
        </div>
      </div>
      {!json && (
        <Tabs
          label={t('Character')}
          active={tab}
          onChange={(next) => setFilters({ tab: next }, true)}
          tabs={[
            { id: 'basics', label: t('Basics') },
            { id: 'style', label: t('Style') },
            { id: 'examples', label: t('Examples') },
            { id: 'rules', label: t('Rules') },
            { id: 'tools', label: t('Tools') },
          ]}
        />
      )}
      <div className="editor">
        <form onSubmit={(event) => event.preventDefault()}>
          {json ? (
            <div className="field">
              <label htmlFor="json">{t('Character as JSON')}</label>
              <textarea
                id="json"
                className="mono"
                rows={28}
                spellCheck={false}
                value={text}
                onChange={(event) => write(event.target.value)}
                aria-invalid={blocked || undefined}
              />
            </div>
          ) : (
            <>
              {tab === 'basics' && <Basics draft={draft} onChange={change} errorOf={errorOf} />}
              {tab === 'style' && <Style draft={draft} onChange={change} errorOf={errorOf} />}
              {tab === 'examples' && <Examples draft={draft} onChange={change} />}
              {tab === 'rules' && <Rules draft={draft} onChange={change} />}
              {tab === 'tools' && <Tools agent={id} />}
            </>
          )}
          <div className="remarks" role="status">
            {bad && <p className="bad">✕ {bad}</p>}
            {remarks.map((r) => (
              <p key={r.path + r.text} className={r.level === 'error' ? 'bad' : 'warn'}>
                {r.level === 'error' ? '✕' : '◐'} <code>{r.path}</code>: {r.text}
                {json && <span className="muted"> {t('line {n}', { n: r.line ?? lineOf(text, r.path) })}</span>}
              </p>
            ))}
          </div>
        </form>
        <div className="side">
          <Preview id={id} draft={draft} />
          <h2>{t('Changes ({n})', { n: changes.length })}</h2>
          <Diff rows={changes} />
        </div>
      </div>
      {saving && (
        <Dialog
          title={t('Save v{v} ({n})', { v: character.version + 1, n: changes.length })}
          onClose={() => setSaving(false)}
          wide
        >
          <Diff rows={changes} />
          {save.error && (
            <Conflict
              error={save.error}
              onShow={() => {
                setSaving(false);
                setHistory(true);
              }}
            />
          )}
          <div className="buttons end">
            <Button onClick={() => setSaving(false)} autoFocus>
              {t('Cancel')}
            </Button>
            <Button
              kind="primary"
              busy={save.isPending}
              onClick={() => save.mutate(draft, { onSuccess: () => setSaving(false) })}
            >
              {t('Save character')}
            </Button>
          </div>
        </Dialog>
      )}
      {history && <History id={id} onClose={() => setHistory(false)} />}
    </>
  );
}

function Conflict({ error, onShow }: { error: Problem; onShow: () => void }) {
  return (
    <ErrorNote fault={faultOf(error)}>
      {(error.status === 412 || error.status === 409) && (
        <Button small onClick={onShow}>
          {t('See changes')}
        </Button>
      )}
    </ErrorNote>
  );
}

/** A conversation with the unsaved draft. Nothing of it is stored. */
function Preview({ id, draft }: { id: string; draft: Draft }) {
  const [text, setText] = useState('');
  const [said, setSaid] = useState<{ me: boolean; text: string }[]>([]);
  const ask = useAction((question: string) =>
    call<{ text: string }>('POST', 'characters/preview', { character: draft, agent: id, text: question }),
  );
  return (
    <section aria-label={t('Preview')}>
      <h2>{t('Preview on the unsaved draft')}</h2>
      <div className="preview" role="log">
        {said.map((line, i) => (
          <p key={i} className="plain">
            <strong>{line.me ? t('You') : draft.name}:</strong> {line.text}
          </p>
        ))}
        {ask.isPending && <p className="info">▸ {t('thinking')}</p>}
        {ask.error && <ErrorNote fault={faultOf(ask.error)} />}
      </div>
      <div className="field">
        <label htmlFor="preview">{t('Ask the draft')}</label>
        <input
          id="preview"
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || !text.trim()) return;
            event.preventDefault();
            setSaid((all) => [...all, { me: true, text }]);
            setText('');
            ask.mutate(text, { onSuccess: (answer) => setSaid((all) => [...all, { me: false, text: answer.text }]) });
          }}
        />
      </div>
    </section>
  );
}

function History({ id, onClose }: { id: string; onClose: () => void }) {
  const query = useOne<Paged<CharacterVersion>>(`characters/${id}/versions`);
  const { toast, fail } = useOverlay();
  const revert = useAction(
    (version: number) => call('POST', `characters/${id}/revert`, { version }),
    ['characters', 'agents'],
  );
  const items = query.data?.items ?? [];
  return (
    <Dialog title={t('History')} onClose={onClose} wide>
      <StateView query={query} empty={items.length === 0} nothing={{ text: t('No versions yet.') }}>
        {items.map((v, i) => (
          <div key={v.version} className="record">
            <div>
              <strong>v{v.version}</strong>{' '}
              <span className="muted" title={stamp(v.at)}>
                {v.by} · {ago(v.at)}
              </span>
              <p>{v.summary}</p>
            </div>
            {i > 0 && (
              <RoleGate needs="operator">
                <Button
                  small
                  onClick={() =>
                    revert.mutate(v.version, {
                      onSuccess: () => {
                        toast(t('v{n} is active again, as a new version.', { n: v.version }));
                        onClose();
                      },
                      onError: fail,
                    })
                  }
                >
                  {t('Use v{n} again', { n: v.version })}
                </Button>
              </RoleGate>
            )}
          </div>
        ))}
      </StateView>
    </Dialog>
  );
}
