// Parts of a conversation: bubbles and the composer.
import { type ReactNode, useEffect, useRef, useState } from 'react';
import type { Message } from '../data';
import { t } from '../i18n';
import { count, money, span, stamp } from '../lib/format';
import { useNow } from '../lib/prefs';
import { Markdown } from './content';
import { Button } from './controls';
import { ErrorNote } from './states';

const PATIENCE_MS = 20_000;

/** A message with its state; an answer has a foot with time, tokens, cost and its trace. */
export function MessageBubble({
  message,
  onWhy,
  onStop,
  model,
}: {
  message: Message;
  onWhy?: () => void;
  onStop?: () => void;
  model?: string;
}) {
  const busy = message.state === 'thinking' || message.state === 'streaming';
  return (
    <article
      className={`bubble ${message.from}${message.state === 'failed' ? ' failed' : ''}`}
      data-state={message.state}
    >
      <header>
        <strong>{message.name}</strong>
        {message.offline && <span className="chip warn">{t('Offline script, not AI')}</span>}
        <span className="num muted">{stamp(message.at)}</span>
      </header>
      {message.text &&
        (message.from === 'agent' ? <Markdown text={message.text} /> : <p className="plain">{message.text}</p>)}
      {message.attachments?.map((name) => (
        <p key={name} className="muted">
          ▤ {name}
        </p>
      ))}
      {busy && (
        <Thinking
          since={message.at}
          step={message.step}
          model={model}
          streaming={message.state === 'streaming'}
          onStop={onStop}
        />
      )}
      {message.state === 'sending' && <footer className="muted">{t('sending')}</footer>}
      {message.fault && <ErrorNote fault={message.fault} />}
      {message.from === 'agent' && message.state === 'done' && (
        <footer className="num">
          {message.took !== undefined && <span>{span(message.took)}</span>}
          {message.tokens !== undefined && <span>{count(message.tokens)} tok</span>}
          {message.cost !== undefined && <span>{money(message.cost)}</span>}
          {message.turn && onWhy && (
            <button type="button" className="token" onClick={onWhy}>
              {t('why')}
              <span className="sr"> {message.text.slice(0, 40)}</span>
            </button>
          )}
        </footer>
      )}
    </article>
  );
}

function Thinking({
  since,
  step,
  model,
  streaming,
  onStop,
}: {
  since: number;
  step?: string;
  model?: string;
  streaming: boolean;
  onStop?: () => void;
}) {
  const now = useNow(1000);
  const waited = now - since;
  const seconds = Math.max(0, Math.round(waited / 1000));
  const text =
    waited > PATIENCE_MS && !streaming
      ? t('Still waiting for {model} ({n} s)', { model: model ?? t('the model'), n: seconds })
      : streaming
        ? t('writing · {n} s', { n: seconds })
        : t('{step} · {n} s', { step: step ?? t('thinking'), n: seconds });
  return (
    <footer className="thinking">
      <span aria-hidden="true">▸</span> {text}
      {onStop && (
        <Button small onClick={onStop} hotkey="Esc">
          {t('Stop')}
        </Button>
      )}
    </footer>
  );
}

/** The field for a message: Enter sends, Shift-Enter breaks the line, ↑ takes the last text again. */
export function Composer(props: {
  draftKey: string;
  label: string;
  busy: boolean;
  last?: string;
  onSend: (text: string, files: File[]) => void;
  onStop: () => void;
  children?: ReactNode;
}) {
  const storage = `galatea.draft.${props.draftKey}`;
  const [text, setText] = useState(() => sessionStorage.getItem(storage) ?? '');
  const [files, setFiles] = useState<File[]>([]);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => setText(sessionStorage.getItem(storage) ?? ''), [storage]);
  useEffect(() => {
    if (text) sessionStorage.setItem(storage, text);
    else sessionStorage.removeItem(storage);
  }, [text, storage]);
  const send = () => {
    if (!text.trim() && files.length === 0) return;
    props.onSend(text.trim(), files);
    setText('');
    setFiles([]);
    field.current?.focus();
  };
  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        setFiles([...files, ...event.dataTransfer.files]);
      }}
    >
      {files.length > 0 && (
        <div className="buttons">
          {files.map((file) => (
            <button
              key={file.name}
              type="button"
              className="token"
              onClick={() => setFiles(files.filter((f) => f !== file))}
            >
              ▤ {file.name} ✕
            </button>
          ))}
        </div>
      )}
      <textarea
        ref={field}
        aria-label={props.label}
        placeholder={props.label}
        rows={2}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && !event.shiftKey && !event.nativeEvent.isComposing) {
            event.preventDefault();
            send();
          }
          if (event.key === 'Escape' && props.busy) props.onStop();
          if (event.key === 'ArrowUp' && !text && props.last) {
            event.preventDefault();
            setText(props.last);
          }
        }}
      />
      <div className="composer-foot">
        {props.children}
        {props.busy && (
          <Button small onClick={props.onStop}>
            {t('Stop')}
          </Button>
        )}
        <Button type="submit" kind="primary">
          {t('Send message')}
        </Button>
      </div>
    </form>
  );
}
