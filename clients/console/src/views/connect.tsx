// A new connection: a platform or a model, then its steps with a check after each.
import { useState } from 'react';
import { call, faultOf, type LoginStep, useAction } from '../data';
import { t } from '../i18n';
import { Button, Dialog, ErrorNote, platformName, Stepper } from '../ui';

const PLATFORMS = ['telegram', 'discord', 'x'];
/** Providers by the names of their settings. */
const MODELS: Record<string, string> = {
  openai: 'OpenAI',
  anthropic: 'Anthropic',
  google: 'Google',
  openrouter: 'OpenRouter',
  ollama: 'Ollama',
};

const titleOf = (name: string) => MODELS[name] ?? platformName(name);

export function Connect({ kind, onClose }: { kind: 'platform' | 'model'; onClose: () => void }) {
  const [chosen, setChosen] = useState<string | null>(null);
  const next = useAction(
    ({ name, fields, step }: { name: string; fields?: Record<string, string>; step?: string }) =>
      call<LoginStep>('POST', `connectors/${name}/login`, { fields, step }),
    ['connectors', 'checklist', 'attention', 'settings', 'agents'],
  );
  const step = next.data;
  const names = kind === 'model' ? Object.keys(MODELS) : PLATFORMS;
  const title = kind === 'model' ? t('Connect a model') : t('Connect a platform');
  return (
    <Dialog title={chosen ? t('Connect {name}', { name: titleOf(chosen) }) : title} onClose={onClose}>
      {!chosen && (
        <div className="buttons">
          {names.map((name, i) => (
            <Button
              key={name}
              autoFocus={i === 0}
              onClick={() => {
                setChosen(name);
                next.mutate({ name });
              }}
            >
              {titleOf(name)}
            </Button>
          ))}
        </div>
      )}
      {next.error && (
        <ErrorNote fault={faultOf(next.error)}>
          {chosen && (
            <Button small onClick={() => next.mutate({ name: chosen })}>
              {t('Try again')}
            </Button>
          )}
        </ErrorNote>
      )}
      {chosen && !step && next.isPending && <p role="status">▸ {t('Checking…')}</p>}
      {chosen && step && (
        <Stepper
          step={step}
          busy={next.isPending}
          onSubmit={(fields) => next.mutate({ name: chosen, fields, step: step.id })}
          onDone={onClose}
        />
      )}
    </Dialog>
  );
}
