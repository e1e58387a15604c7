// The three steps of a first run, inside Live until done or dismissed. Part of AttentionStrip.
import { Link } from 'wouter';
import { call, type Checklist as Steps, useAction, useOne } from '../data';
import { t } from '../i18n';
import { IconButton } from './controls';

export function Checklist() {
  const { data } = useOne<Steps>('checklist');
  const dismiss = useAction(() => call('POST', 'checklist/dismiss'), ['checklist']);
  if (!data || data.dismissed || (data.platform && data.model && data.hello)) return null;
  const steps: [boolean, string, string][] = [
    [data.platform, t('Connect a platform'), '/connectors?add=1'],
    [data.model, t('Connect a model'), '/settings?tab=models'],
    [data.hello, t('Say hello'), '/chat'],
  ];
  return (
    <section className="checklist" aria-label={t('First steps')}>
      <ol>
        {steps.map(([done, text, href]) => (
          <li key={href}>{done ? <span className="ok">✓ {text}</span> : <Link href={href}>○ {text}</Link>}</li>
        ))}
      </ol>
      <IconButton label={t('Dismiss the first steps')} onClick={() => dismiss.mutate(undefined)}>
        ✕
      </IconButton>
    </section>
  );
}
