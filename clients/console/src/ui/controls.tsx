// Buttons, menus, tabs and fields.
import { type KeyboardEvent, type ReactNode, useId, useRef, useState } from 'react';
import { t } from '../i18n';

type ButtonProps = {
  children: ReactNode;
  onClick?: () => void;
  kind?: 'plain' | 'primary' | 'danger' | 'quiet';
  small?: boolean;
  busy?: boolean;
  disabled?: boolean;
  /** Why the button is disabled; shown as its title and read aloud. */
  why?: string;
  type?: 'button' | 'submit';
  hotkey?: string;
  autoFocus?: boolean;
};

/** A button that names its verb and object. */
export function Button({ kind = 'plain', type = 'button', ...props }: ButtonProps) {
  return (
    <button
      type={type}
      className={`button ${kind}${props.small ? ' small' : ''}`}
      onClick={props.disabled || props.busy ? undefined : props.onClick}
      aria-disabled={props.disabled || props.busy || undefined}
      aria-busy={props.busy || undefined}
      title={props.disabled ? props.why : undefined}
      data-autofocus={props.autoFocus || undefined}
    >
      {props.children}
      {props.hotkey && <kbd aria-hidden="true">{props.hotkey}</kbd>}
      {props.disabled && props.why && <span className="sr"> ({props.why})</span>}
    </button>
  );
}

/** A button with a sign instead of words; its label is required. */
export function IconButton(props: {
  label: string;
  children: ReactNode;
  onClick: () => void;
  pressed?: boolean;
  hotkey?: string;
}) {
  return (
    <button
      type="button"
      className="button quiet icon"
      aria-label={props.label}
      aria-pressed={props.pressed}
      title={props.hotkey ? `${props.label} (${props.hotkey})` : props.label}
      onClick={props.onClick}
    >
      <span aria-hidden="true">{props.children}</span>
    </button>
  );
}

export type MenuItem = { label: string; onSelect: () => void; danger?: boolean; hotkey?: string };

/** A button that opens a list of actions. */
export function Menu({ label, items, children }: { label: string; items: MenuItem[]; children: ReactNode }) {
  const id = useId();
  const menu = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const place = () => {
    const box = button.current?.getBoundingClientRect();
    const list = menu.current;
    if (!box || !list) return;
    list.style.top = `${Math.min(box.bottom + 4, window.innerHeight - list.offsetHeight - 8)}px`;
    list.style.left = `${Math.max(8, Math.min(box.left, window.innerWidth - list.offsetWidth - 8))}px`;
    list.querySelector('button')?.focus();
  };
  const move = (event: KeyboardEvent) => {
    const buttons = [...(menu.current?.querySelectorAll('button') ?? [])];
    const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      buttons[(at + step + buttons.length) % buttons.length]?.focus();
    }
  };
  return (
    <>
      <button
        ref={button}
        type="button"
        className="button quiet"
        popoverTarget={id}
        aria-haspopup="menu"
        aria-label={label}
        title={label}
      >
        {children}
      </button>
      <div
        ref={menu}
        id={id}
        popover="auto"
        role="menu"
        aria-label={label}
        className="menu"
        onToggle={(e) => e.newState === 'open' && place()}
        onKeyDown={move}
      >
        {items.map((item) => (
          <button
            key={item.label}
            type="button"
            role="menuitem"
            className={item.danger ? 'danger' : undefined}
            onClick={() => {
              menu.current?.hidePopover();
              item.onSelect();
            }}
          >
            {item.label}
            {item.hotkey && <kbd>{item.hotkey}</kbd>}
          </button>
        ))}
      </div>
    </>
  );
}

export type Tab = { id: string; label: string; count?: number };

/** Tabs; the panel is the caller's, labelled by `label`. */
export function Tabs({
  tabs,
  active,
  onChange,
  label,
}: {
  tabs: Tab[];
  active: string;
  onChange: (id: string) => void;
  label: string;
}) {
  const move = (event: KeyboardEvent<HTMLDivElement>) => {
    const at = tabs.findIndex((tab) => tab.id === active);
    const rtl = document.documentElement.dir === 'rtl' ? -1 : 1;
    const step = { ArrowRight: rtl, ArrowLeft: -rtl }[event.key];
    const next = step ? tabs[(at + step + tabs.length) % tabs.length] : undefined;
    if (next) {
      onChange(next.id);
      const list = event.currentTarget;
      requestAnimationFrame(() => list.querySelector<HTMLElement>('[aria-selected=true]')?.focus());
    }
  };
  return (
    <div className="tabs" role="tablist" aria-label={label} onKeyDown={move}>
      {tabs.map((tab) => (
        <button
          key={tab.id}
          type="button"
          role="tab"
          aria-selected={tab.id === active}
          tabIndex={tab.id === active ? 0 : -1}
          onClick={() => onChange(tab.id)}
        >
          {tab.label}
          {tab.count !== undefined && <span className="num"> {tab.count}</span>}
        </button>
      ))}
    </div>
  );
}

type Field = {
  label: string;
  value: string;
  onChange: (value: string) => void;
  error?: string;
  hint?: string;
  hideLabel?: boolean;
};

export function TextField(
  props: Field & {
    lines?: number;
    type?: string;
    placeholder?: string;
    mono?: boolean;
    readOnly?: boolean;
    autoFocus?: boolean;
  },
) {
  const id = useId();
  const shared = {
    id,
    value: props.value,
    placeholder: props.placeholder,
    readOnly: props.readOnly,
    className: props.mono ? 'mono' : undefined,
    'aria-invalid': props.error ? true : undefined,
    'aria-describedby': props.error || props.hint ? `${id}-note` : undefined,
    'data-autofocus': props.autoFocus || undefined,
    spellCheck: props.mono ? false : undefined,
  };
  return (
    <div className="field">
      <label htmlFor={id} className={props.hideLabel ? 'sr' : undefined}>
        {props.label}
      </label>
      {props.lines ? (
        <textarea {...shared} rows={props.lines} onChange={(e) => props.onChange(e.target.value)} />
      ) : (
        <input
          {...shared}
          type={props.type ?? 'text'}
          autoComplete="off"
          onChange={(e) => props.onChange(e.target.value)}
        />
      )}
      {(props.error || props.hint) && (
        <small id={`${id}-note`} className={props.error ? 'bad' : undefined}>
          {props.error ? `✕ ${props.error}` : props.hint}
        </small>
      )}
    </div>
  );
}

/** A secret: what is set is never shown again, only replaced. */
export function SecretField(props: { label: string; state: string; onSave: (value: string) => void; busy?: boolean }) {
  const [value, setValue] = useState<string | null>(null);
  if (value === null) {
    return (
      <div className="field secret">
        <span className="field-label">{props.label}</span>
        <span className="secret-state">{props.state}</span>
        <Button small onClick={() => setValue('')}>
          {t('Replace')}
        </Button>
      </div>
    );
  }
  return (
    <form
      className="field secret"
      onSubmit={(event) => {
        event.preventDefault();
        props.onSave(value);
        setValue(null);
      }}
    >
      <TextField label={props.label} value={value} onChange={setValue} type="password" autoFocus />
      <div className="buttons">
        <Button type="submit" kind="primary" small disabled={!value} why={t('Nothing is entered')} busy={props.busy}>
          {t('Save secret')}
        </Button>
        <Button small onClick={() => setValue(null)}>
          {t('Cancel')}
        </Button>
      </div>
    </form>
  );
}

export type Option = { value: string; label: string };

export function Select(props: Field & { options: Option[] }) {
  const id = useId();
  return (
    <div className="field inline">
      <label htmlFor={id} className={props.hideLabel ? 'sr' : undefined}>
        {props.label}
      </label>
      <select id={id} value={props.value} onChange={(e) => props.onChange(e.target.value)}>
        {props.options.map((o) => (
          <option key={o.value} value={o.value}>
            {o.label}
          </option>
        ))}
      </select>
    </div>
  );
}

/** A text field with suggestions. */
export function Combobox(props: Field & { options: string[]; placeholder?: string }) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id} className={props.hideLabel ? 'sr' : undefined}>
        {props.label}
      </label>
      <input
        id={id}
        list={`${id}-list`}
        value={props.value}
        placeholder={props.placeholder}
        onChange={(e) => props.onChange(e.target.value)}
        autoComplete="off"
      />
      <datalist id={`${id}-list`}>
        {props.options.map((o) => (
          <option key={o} value={o} />
        ))}
      </datalist>
    </div>
  );
}

export function Switch({
  label,
  checked,
  onChange,
  hideLabel,
}: {
  label: string;
  checked: boolean;
  onChange: (on: boolean) => void;
  hideLabel?: boolean;
}) {
  return (
    <button
      type="button"
      role="switch"
      aria-checked={checked}
      aria-label={label}
      className="switch"
      onClick={() => onChange(!checked)}
    >
      <i aria-hidden="true" />
      {!hideLabel && <span aria-hidden="true">{label}</span>}
    </button>
  );
}

/** A zone that takes files by drop or choice. */
export function Upload({
  label,
  hint,
  accept,
  onFiles,
}: {
  label: string;
  hint?: string;
  accept?: string;
  onFiles: (files: File[]) => void;
}) {
  const [over, setOver] = useState(false);
  const id = useId();
  return (
    <label
      htmlFor={id}
      className={over ? 'upload over' : 'upload'}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        onFiles([...event.dataTransfer.files]);
      }}
    >
      <input
        id={id}
        type="file"
        multiple
        accept={accept}
        onChange={(event) => {
          onFiles([...(event.target.files ?? [])]);
          event.target.value = '';
        }}
      />
      <strong>{label}</strong>
      {hint && <small>{hint}</small>}
    </label>
  );
}

export type FilterToken = { id: string; label: string; mark?: string; on: boolean };

/** Words to filter by (key `/`) and tokens that are on or off. */
export function FilterBar(props: {
  value: string;
  onChange: (value: string) => void;
  placeholder: string;
  tokens?: FilterToken[];
  onToken?: (id: string) => void;
  children?: ReactNode;
}) {
  return (
    <div className="filterbar" role="search">
      <input
        type="search"
        data-filter
        aria-label={props.placeholder}
        placeholder={props.placeholder}
        value={props.value}
        onChange={(event) => props.onChange(event.target.value)}
        onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.blur()}
      />
      {props.tokens?.map((token) => (
        <button
          key={token.id}
          type="button"
          className="token"
          aria-pressed={token.on}
          onClick={() => props.onToken?.(token.id)}
        >
          {token.mark && <span aria-hidden="true">{token.mark} </span>}
          {token.label}
        </button>
      ))}
      {props.children}
    </div>
  );
}
