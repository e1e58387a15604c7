// Fields of a character, by tab.
import { t } from '../i18n';
import { Select, Switch, TextField } from '../ui';

export type Draft = {
  name?: string;
  system?: string;
  bio?: string[] | string;
  topics?: string[];
  adjectives?: string[];
  style?: { all?: string[]; chat?: string[]; post?: string[] };
  messageExamples?: { name: string; content: { text: string } }[][];
  rules?: { answerWhen?: string; ignoreBots?: boolean; quietHours?: string };
  [key: string]: unknown;
};
type Props = { draft: Draft; onChange: (draft: Draft) => void; errorOf?: (path: string) => string | undefined };

/** A list as text, a line an item. */
const lines = (value: string[] | string | undefined) =>
  Array.isArray(value) ? value.map(String).join('\n') : (value ?? '');
const list = (text: string) => text.split('\n');

export function Basics({ draft, onChange, errorOf }: Props) {
  const set = (name: string) => (value: string) => onChange({ ...draft, [name]: value });
  return (
    <>
      <TextField label={t('Name')} value={draft.name ?? ''} onChange={set('name')} error={errorOf?.('name')} />
      <TextField
        label={t('System prompt')}
        value={draft.system ?? ''}
        onChange={set('system')}
        lines={4}
        error={errorOf?.('system')}
      />
      <TextField
        label={t('Bio, a line a statement')}
        value={lines(draft.bio)}
        onChange={(v) => onChange({ ...draft, bio: list(v) })}
        lines={5}
        error={errorOf?.('bio')}
      />
      <TextField
        label={t('Topics, one a line')}
        value={lines(draft.topics)}
        onChange={(v) => onChange({ ...draft, topics: list(v) })}
        lines={4}
      />
      <TextField
        label={t('Adjectives, one a line')}
        value={lines(draft.adjectives)}
        onChange={(v) => onChange({ ...draft, adjectives: list(v) })}
        lines={3}
      />
    </>
  );
}

export function Style({ draft, onChange, errorOf }: Props) {
  const set = (name: 'all' | 'chat' | 'post') => (value: string) =>
    onChange({ ...draft, style: { ...draft.style, [name]: list(value) } });
  return (
    <>
      <TextField
        label={t('Everywhere, a rule a line')}
        value={lines(draft.style?.all)}
        onChange={set('all')}
        lines={5}
        error={errorOf?.('style.all')}
      />
      <TextField
        label={t('In conversations')}
        value={lines(draft.style?.chat)}
        onChange={set('chat')}
        lines={4}
        error={errorOf?.('style.chat')}
      />
      <TextField
        label={t('In posts')}
        value={lines(draft.style?.post)}
        onChange={set('post')}
        lines={4}
        error={errorOf?.('style.post')}
      />
    </>
  );
}

export function Examples({ draft, onChange }: Props) {
  const all = draft.messageExamples ?? [];
  return (
    <>
      {all.map((talk, i) => (
        <div key={i} className="section">
          {talk.map((line, j) => (
            <TextField
              key={j}
              label={line.name}
              value={line.content?.text ?? ''}
              onChange={(text) =>
                onChange({
                  ...draft,
                  messageExamples: all.map((other, k) =>
                    k === i ? other.map((l, m) => (m === j ? { ...l, content: { ...l.content, text } } : l)) : other,
                  ),
                })
              }
              lines={2}
            />
          ))}
        </div>
      ))}
      <button
        type="button"
        className="button"
        onClick={() =>
          onChange({
            ...draft,
            messageExamples: [
              ...all,
              [
                { name: 'visitor', content: { text: '' } },
                { name: draft.name ?? 'agent', content: { text: '' } },
              ],
            ],
          })
        }
      >
        {t('Add example')}
      </button>
    </>
  );
}

export function Rules({ draft, onChange }: Props) {
  const rules = draft.rules ?? {};
  const set = (next: Draft['rules']) => onChange({ ...draft, rules: { ...rules, ...next } });
  return (
    <>
      <Select
        label={t('Answers in groups')}
        value={rules.answerWhen ?? 'mentioned'}
        onChange={(answerWhen) => set({ answerWhen })}
        options={[
          { value: 'mentioned', label: t('when mentioned or replied to') },
          { value: 'decides', label: t('when the model decides so') },
          { value: 'always', label: t('always') },
          { value: 'never', label: t('never') },
        ]}
      />
      <Switch
        label={t('Ignore other bots')}
        checked={rules.ignoreBots ?? true}
        onChange={(ignoreBots) => set({ ignoreBots })}
      />
      <TextField
        label={t('Quiet hours')}
        value={rules.quietHours ?? ''}
        onChange={(quietHours) => set({ quietHours })}
        placeholder="23:00-07:00"
        hint={t('Messages wait until the end of the quiet hours.')}
      />
    </>
  );
}
