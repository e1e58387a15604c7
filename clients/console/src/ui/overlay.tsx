// Dialogs, confirmations and toasts with undo.
import { createContext, type ReactNode, useCallback, useContext, useEffect, useId, useRef, useState } from 'react';
import { t } from '../i18n';
import { Button } from './controls';

/** A modal dialog; Esc and the scrim close it. */
export function Dialog({
  title,
  onClose,
  children,
  wide,
}: {
  title: string;
  onClose: () => void;
  children: ReactNode;
  wide?: boolean;
}) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = ref.current;
    if (!dialog) return;
    const before = document.activeElement as HTMLElement | null;
    dialog.showModal();
    dialog.querySelector<HTMLElement>('[data-autofocus]')?.focus();
    return () => {
      dialog.close();
      before?.focus?.();
    };
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Esc is the dialog's own key.
    <dialog
      ref={ref}
      className={wide ? 'dialog wide' : 'dialog'}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => event.target === ref.current && onClose()}
    >
      <div className="dialog-body">
        <h2 id={id}>{title}</h2>
        {children}
      </div>
    </dialog>
  );
}

export type Confirmation = { title: string; text: string; action: string; onConfirm: () => void; danger?: boolean };

/** Asks before a change that cannot be undone, with its counts; focus is on Cancel. */
export function ConfirmDialog({ confirmation, onClose }: { confirmation: Confirmation; onClose: () => void }) {
  return (
    <Dialog title={confirmation.title} onClose={onClose}>
      <p>{confirmation.text}</p>
      <div className="buttons end">
        <Button onClick={onClose} autoFocus>
          {t('Cancel')}
        </Button>
        <Button
          kind={confirmation.danger === false ? 'primary' : 'danger'}
          onClick={() => {
            confirmation.onConfirm();
            onClose();
          }}
        >
          {confirmation.action}
        </Button>
      </div>
    </Dialog>
  );
}

type Note = { id: number; text: string; bad?: boolean; undo?: () => void };
type Overlay = {
  toast: (text: string, undo?: () => void) => void;
  fail: (error: Error) => void;
  confirm: (c: Confirmation) => void;
};
const Context = createContext<Overlay | null>(null);
const TOAST_MS = 6_000;

/** Toasts and confirmations for everything below. */
export function OverlayProvider({ children }: { children: ReactNode }) {
  const [notes, setNotes] = useState<Note[]>([]);
  const [confirmation, setConfirmation] = useState<Confirmation | null>(null);
  const next = useRef(0);
  const add = useCallback((note: Omit<Note, 'id'>) => {
    next.current += 1;
    const id = next.current;
    setNotes((all) => [...all.slice(-2), { ...note, id }]);
    setTimeout(() => setNotes((all) => all.filter((n) => n.id !== id)), TOAST_MS);
  }, []);
  const [value] = useState<Overlay>(() => ({
    toast: (text, undo) => add({ text, undo }),
    fail: (error) => add({ text: error.message, bad: true }),
    confirm: setConfirmation,
  }));
  return (
    <Context.Provider value={value}>
      {children}
      {confirmation && <ConfirmDialog confirmation={confirmation} onClose={() => setConfirmation(null)} />}
      <div className="toasts" role="status" aria-live="polite">
        {notes.map((note) => (
          <div key={note.id} className={note.bad ? 'toast bad' : 'toast'}>
            {note.bad ? '✕ ' : '✓ '}
            {note.text}
            {note.undo && (
              <Button
                small
                onClick={() => {
                  note.undo?.();
                  setNotes((all) => all.filter((n) => n.id !== note.id));
                }}
              >
                {t('Undo')}
              </Button>
            )}
          </div>
        ))}
      </div>
    </Context.Provider>
  );
}

export function useOverlay(): Overlay {
  const value = useContext(Context);
  if (!value) throw new Error('useOverlay needs OverlayProvider');
  return value;
}
