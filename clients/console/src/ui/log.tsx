// Log lines, as in a step or the Cluster view. Part of CodeBlock's family.
import { Link } from 'wouter';
import type { LogLine } from '../data';
import { t } from '../i18n';
import { clock } from '../lib/format';

const MARKS = { error: '✕', warn: '◐', info: '·', debug: '·' };

export function LogLines({ lines }: { lines: LogLine[] }) {
  if (lines.length === 0) return <p className="muted">{t('No log lines here.')}</p>;
  return (
    <ol className="log">
      {lines.map((line) => (
        <li key={line.seq} className={line.level}>
          <span className="num">{clock(line.at)}</span>
          <span className="level">
            <span aria-hidden="true">{MARKS[line.level]}</span> {line.level}
          </span>
          <span className="log-text">
            {line.text}
            {line.trace && (
              <>
                {' '}
                <Link href={`/traces/${line.trace}`}>{line.trace}</Link>
              </>
            )}
          </span>
        </li>
      ))}
    </ol>
  );
}
