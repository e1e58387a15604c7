// A guided login: the server names each step, the page draws it.
import { useState } from 'react';
import type { LoginStep } from '../data';
import { t } from '../i18n';
import { Button, TextField } from './controls';
import { ErrorNote } from './states';

/** One step of a login that the server drives. */
export function Stepper({
  step,
  busy,
  onSubmit,
  onDone,
}: {
  step: LoginStep;
  busy: boolean;
  onSubmit: (fields: Record<string, string>) => void;
  onDone: () => void;
}) {
  const [values, setValues] = useState<Record<string, string>>({});
  if (step.type === 'complete') {
    return (
      <div className="stepper">
        <p className="ok">
          <strong>
            ✓{' '}
            {step.said === undefined
              ? t('Connected as {account}.', { account: step.account })
              : t('{name} answers with it:', { name: step.account })}
          </strong>
        </p>
        {step.said !== undefined && <p className="quote">{step.said}</p>}
        {step.hello && (
          <p>
            {t('Say hello to it:')}{' '}
            <a href={step.hello} rel="noopener noreferrer" target="_blank">
              {step.hello}
            </a>
          </p>
        )}
        <Button kind="primary" onClick={onDone}>
          {t('Close')}
        </Button>
      </div>
    );
  }
  if (step.type === 'display_and_wait') {
    return (
      <div className="stepper" aria-live="polite">
        <p>
          <strong>{step.title}</strong>
        </p>
        {step.help && <p className="muted">{step.help}</p>}
        {step.code && <p className="figure-value">{step.code}</p>}
        <Button busy={busy} onClick={() => onSubmit({})}>
          {t('Check again')}
        </Button>
      </div>
    );
  }
  return (
    <form
      className="stepper"
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit(values);
      }}
    >
      <p>
        <strong>{step.title}</strong>
      </p>
      {step.help && <p className="muted">{step.help}</p>}
      {step.fields.map((field, i) => (
        <TextField
          key={field.id}
          label={field.label}
          type={field.secret ? 'password' : 'text'}
          hint={field.hint}
          value={values[field.id] ?? field.value ?? ''}
          onChange={(value) => setValues({ ...values, [field.id]: value })}
          autoFocus={i === 0}
          mono
        />
      ))}
      {step.fault && <ErrorNote fault={step.fault} />}
      <Button type="submit" kind="primary" busy={busy}>
        {busy ? t('Checking…') : t('Check and continue')}
      </Button>
    </form>
  );
}
