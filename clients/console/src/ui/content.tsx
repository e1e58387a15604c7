// Texts: code, JSON, differences, markdown.
import { useEffect, useState } from 'react';
import { t } from '../i18n';
import type { Difference } from '../lib/diff';
import { bytes } from '../lib/format';
import { Button } from './controls';

const SHOWN = 4_096;
const LARGE = 32_768;
const REDACTED = /(•{3,}(?: redacted)?|\[redacted\])/g;

/** Text in mono with copy and wrap. Above 32 KB the first 4 KB are shown; redacted parts are marked. */
export function CodeBlock({ text, label }: { text: string; label: string }) {
  const [all, setAll] = useState(false);
  const [wrap, setWrap] = useState(true);
  const [copied, setCopied] = useState(false);
  const cut = text.length > LARGE && !all;
  const parts = (cut ? text.slice(0, SHOWN) : text).split(REDACTED);
  return (
    <div className="code">
      <div className="code-tools">
        <button type="button" className="token" aria-pressed={wrap} onClick={() => setWrap(!wrap)}>
          {t('wrap')}
        </button>
        <button
          type="button"
          className="token"
          onClick={() => {
            void navigator.clipboard?.writeText(text).then(() => setCopied(true));
            setTimeout(() => setCopied(false), 2000);
          }}
        >
          {copied ? t('copied') : t('copy')}
        </button>
      </div>
      <pre className={wrap ? 'wrap' : undefined} tabIndex={0} role="region" aria-label={label}>
        {parts.map((part, i) =>
          i % 2 === 1 ? (
            <mark key={i} className="redacted">
              {part}
            </mark>
          ) : (
            part
          ),
        )}
        {cut && '…'}
      </pre>
      {cut && (
        <Button small onClick={() => setAll(true)}>
          {t('Show all ({size})', { size: bytes(text.length) })}
        </Button>
      )}
    </div>
  );
}

/** A JSON value as a tree that opens by level. */
export function JsonTree({ value, name, open = true }: { value: unknown; name?: string; open?: boolean }) {
  if (typeof value !== 'object' || value === null) {
    return (
      <div className="json-leaf">
        {name !== undefined && <span className="json-key">{name}: </span>}
        <span className={`json-${value === null ? 'null' : typeof value}`}>{JSON.stringify(value) ?? 'undefined'}</span>
      </div>
    );
  }
  const entries = Object.entries(value);
  return (
    <details className="json" open={open}>
      <summary>
        {name !== undefined && <span className="json-key">{name}: </span>}
        {Array.isArray(value) ? `[${entries.length}]` : `{${entries.length}}`}
      </summary>
      {entries.map(([key, child]) => (
        <JsonTree key={key} name={key} value={child} open={entries.length < 12} />
      ))}
    </details>
  );
}

/** Changed places of a document: before and after. */
export function Diff({ rows }: { rows: Difference[] }) {
  if (rows.length === 0) return <p className="muted">{t('No changes.')}</p>;
  return (
    <dl className="diff">
      {rows.map((row) => (
        <div key={row.path}>
          <dt>{row.path}</dt>
          {row.before !== undefined && <dd className="before">− {row.before}</dd>}
          {row.after !== undefined && <dd className="after">+ {row.after}</dd>}
        </div>
      ))}
    </dl>
  );
}

/** Text of a model or person as markdown: parsed, then cleaned. Plain until the parser is loaded. */
export function Markdown({ text }: { text: string }) {
  const [html, setHtml] = useState<string | null>(null);
  useEffect(() => {
    let ended = false;
    void import('./markdown').then(({ toHtml }) => {
      if (!ended) setHtml(toHtml(text));
    });
    return () => {
      ended = true;
    };
  }, [text]);
  if (html === null)
    return (
      <div className="markdown">
        <p>{text}</p>
      </div>
    );
  // biome-ignore lint/security/noDangerouslySetInnerHtml: DOMPurify has cleaned it (markdown.ts).
  return <div className="markdown" dangerouslySetInnerHTML={{ __html: html }} />;
}
