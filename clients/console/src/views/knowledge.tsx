// Knowledge: what can it quote?
import { useEffect, useState } from 'react';
import { call, type Document, faultOf, type Paged, type Passage, useAction, useList } from '../data';
import { t } from '../i18n';
import { bytes } from '../lib/format';
import { Bar, Button, ErrorNote, PageHead, RoleGate, StateChip, StateView, TextField, Upload, useOverlay } from '../ui';

const LOOK_MS = 2_000;

export default function Knowledge() {
  const query = useList<Document>('knowledge');
  const { toast, fail, confirm } = useOverlay();
  const { refetch } = query;
  const unfinished = query.items.some((d) => !['ready', 'failed'].includes(d.state));
  // No event says that a document is ready: the list is asked while one is not.
  useEffect(() => {
    if (!unfinished) return;
    const timer = setInterval(() => document.hidden || refetch(), LOOK_MS);
    return () => clearInterval(timer);
  }, [unfinished, refetch]);
  const upload = useAction(
    (file: File) => call('POST', 'knowledge', file, { params: { name: file.name } }),
    ['knowledge'],
  );
  const remove = useAction((id: string) => call('DELETE', `knowledge/${id}`), ['knowledge']);
  const take = (files: File[]) => {
    for (const file of files)
      upload.mutate(file, { onSuccess: () => toast(t('{name} is being read.', { name: file.name })), onError: fail });
  };
  const drop = (d: Document) =>
    confirm({
      title: t('Remove {name}?', { name: d.name }),
      text: t('{n, plural, one {# piece} other {# pieces}} can no longer be quoted.', { n: d.pieces }),
      action: t('Remove document'),
      onConfirm: () =>
        remove.mutate(d.id, { onSuccess: () => toast(t('{name} is removed.', { name: d.name })), onError: fail }),
    });
  return (
    <div className="page">
      <PageHead title={t('Knowledge')} />
      <div className="scroll-page">
        <div className="columns">
          <div className="section">
            <RoleGate needs="operator">
              <Upload
                label={t('Drop documents here, or choose them')}
                hint={t('PDF, DOCX, HTML, Markdown, text, CSV; up to 64 MB each')}
                onFiles={take}
              />
            </RoleGate>
            <StateView
              query={query}
              empty={query.items.length === 0}
              nothing={{ text: t('No documents yet. Drop one above; it can be quoted when it is ready.') }}
            >
              {query.items.map((d) => (
                <article key={d.id} className="record">
                  <div className="record-title">
                    <strong>{d.name}</strong>
                  </div>
                  <StateChip state={d.state} text={progress(d)} />
                  <div className="record-facts wide num">
                    <span>{t('{n, plural, one {# piece} other {# pieces}}', { n: d.pieces })}</span>
                    <span>{bytes(d.size)}</span>
                    {d.usedThisWeek !== null && (
                      <span>
                        {t('quoted {n, plural, one {# time} other {# times}} this week', { n: d.usedThisWeek })}
                      </span>
                    )}
                  </div>
                  {(d.state === 'embedding' || d.state === 'reading') && d.total > 0 && (
                    <div className="wide">
                      <Bar share={d.total ? d.done / d.total : 0} label={progress(d)} />
                    </div>
                  )}
                  {d.fault && <p className="bad wide">✕ {d.fault}</p>}
                  <div className="wide buttons">
                    <RoleGate needs="operator">
                      <Button
                        small
                        disabled={d.removable === false}
                        why={t('It lies in the folder of the character; remove the file there')}
                        onClick={() => drop(d)}
                      >
                        {t('Remove document')}
                      </Button>
                    </RoleGate>
                  </div>
                </article>
              ))}
            </StateView>
          </div>
          <Question />
        </div>
      </div>
    </div>
  );
}

function progress(d: Document): string {
  if (d.state === 'embedding') return t('embedding {a} of {n}', { a: d.done, n: d.total });
  if (d.state === 'reading')
    return d.total ? t('reading {p}%', { p: Math.round((d.done / d.total) * 100) }) : t('reading');
  const words: Record<string, string> = { queued: t('queued'), ready: t('ready'), failed: t('failed') };
  return words[d.state] ?? d.state;
}

/** A question over the documents: passages with score and place. */
function Question() {
  const [text, setText] = useState('');
  const ask = useAction((query: string) => call<Paged<Passage>>('POST', 'knowledge/search', { query }));
  const items = ask.data?.items;
  return (
    <section className="section" aria-label={t('Try a question')}>
      <h2>{t('Try a question')}</h2>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (text.trim()) ask.mutate(text);
        }}
      >
        <TextField label={t('Question')} value={text} onChange={setText} placeholder={t('When does the tour begin?')} />
        <p className="buttons">
          <Button type="submit" kind="primary" busy={ask.isPending}>
            {t('Find passages')}
          </Button>
        </p>
      </form>
      {ask.error && <ErrorNote fault={faultOf(ask.error)} />}
      {items?.length === 0 && <p className="muted">{t('No passage answers this.')}</p>}
      {items?.map((p) => (
        <article key={p.document + p.place} className="record">
          <div className="record-title">
            <strong>{p.name}</strong> <span className="muted">{p.place}</span>
          </div>
          <span className="num">{p.score.toFixed(2)}</span>
          <p className="plain wide">{p.text}</p>
        </article>
      ))}
      {items && items.length > 0 && (
        <p className="muted num">{t('{n, plural, one {# passage} other {# passages}}', { n: items.length })}</p>
      )}
    </section>
  );
}
