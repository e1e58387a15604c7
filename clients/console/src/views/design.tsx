// All components with their states, on made-up values. Not part of the navigation.
import { type ReactNode, useState } from 'react';
import { type Message, Problem, type Step } from '../data';
import { t } from '../i18n';
import * as ui from '../ui';

const AT = Date.UTC(2026, 10, 30, 12, 4, 11);
const STEPS: Step[] = [
  { n: 0, depth: 0, kind: 'receive', name: '', offset: 0, width: 2, state: 'ok' },
  { n: 1, depth: 0, kind: 'wait', name: 'for the room', offset: 2, width: 9000, state: 'ok' },
  { n: 2, depth: 0, kind: 'model', name: 'gpt-4o-mini', offset: 9002, width: 1178, state: 'ok', tokens: 96 },
  { n: 3, depth: 1, kind: 'send', name: 'TG #1', offset: 10_180, width: 57, state: 'bad', note: '429' },
];
const MESSAGE: Message = {
  id: 'm',
  room: 'r',
  at: AT,
  from: 'agent',
  name: 'Eliza',
  text: 'We open at **nine**.',
  state: 'done',
  took: 1940,
  tokens: 2406,
  cost: 0.0004,
  turn: 't',
};
const QUERY = { isPending: false, error: null, data: {}, dataUpdatedAt: AT, refetch: () => {} };

function Part({ name, children }: { name: string; children: ReactNode }) {
  return (
    <section>
      <h2>{name}</h2>
      {children}
    </section>
  );
}

export default function Design() {
  const [text, setText] = useState('Eliza');
  const [on, setOn] = useState(true);
  const [tab, setTab] = useState('a');
  const [open, setOpen] = useState<string | null>(null);
  const { toast, confirm } = ui.useOverlay();
  return (
    <div className="page">
      <ui.PageHead title={t('Components')} actions={<ui.Button>PageHead</ui.Button>} />
      <div className="scroll-page">
        <div className="design">
          <Part name="Button">
            <div className="buttons">
              <ui.Button kind="primary">Save character</ui.Button>
              <ui.Button>Discard changes</ui.Button>
              <ui.Button kind="danger">Drop message</ui.Button>
              <ui.Button disabled why="Nothing is changed">
                Save fact
              </ui.Button>
            </div>
          </Part>
          <Part name="IconButton, Menu">
            <div className="buttons">
              <ui.IconButton label="Next trace" hotkey="j" onClick={() => {}}>
                ↓
              </ui.IconButton>
              <ui.Menu
                label="Menu"
                items={[
                  { label: 'Dry run again', hotkey: 'r', onSelect: () => {} },
                  { label: 'Save as test', onSelect: () => {} },
                ]}
              >
                Menu ▾
              </ui.Menu>
            </div>
          </Part>
          <Part name="StateChip">
            <div className="buttons">
              {['replied', 'ignored', 'failed', 'waiting', 'running', 'degraded', 'off'].map((s) => (
                <ui.StateChip key={s} state={s} />
              ))}
            </div>
          </Part>
          <Part name="PlatformTag">
            <div className="buttons">
              {['telegram', 'discord', 'x', 'web', 'terminal'].map((p) => (
                <ui.PlatformTag key={p} platform={p} />
              ))}
            </div>
          </Part>
          <Part name="Freshness">
            <ui.Freshness />
            <ui.Freshness paused={12} onResume={() => {}} />
          </Part>
          <Part name="Figure, Bar, Countdown">
            <ui.Figure value="1.94" unit="s" label="Took" delta="−0.2 s" spark={[2, 4, 3, 6, 5]} />
            <ui.Bar share={0.37} label="37% of the budget" />
            <ui.Countdown at={Date.now() + 42_000} />
          </Part>
          <Part name="KeyValue">
            <ui.KeyValue
              rows={[
                ['Agent', 'Eliza'],
                ['Tries', '2 of 8'],
              ]}
            />
          </Part>
          <Part name="Tabs">
            <ui.Tabs
              label="Tabs"
              tabs={[
                { id: 'a', label: 'Gave up', count: 2 },
                { id: 'b', label: 'Waiting', count: 5 },
              ]}
              active={tab}
              onChange={setTab}
            />
          </Part>
          <Part name="TextField, Combobox, Select, Switch">
            <ui.TextField label="Name" value={text} onChange={setText} error={text ? undefined : 'expected text'} />
            <ui.Combobox label="For" value={text} onChange={setText} options={['Eliza', 'Muse']} />
            <ui.Select
              label="Role"
              value="viewer"
              onChange={() => {}}
              options={[{ value: 'viewer', label: 'viewer' }]}
            />
            <ui.Switch label="Ask first" checked={on} onChange={setOn} />
          </Part>
          <Part name="SecretField">
            <ui.SecretField
              label="OPENAI_API_KEY"
              state="set, ends in 4f2a, changed 3 Nov"
              onSave={() => toast('Saved')}
            />
          </Part>
          <Part name="FilterBar">
            <ui.FilterBar
              value=""
              onChange={() => {}}
              placeholder="Filter by room"
              tokens={[{ id: 'x', label: 'failed', mark: '✕', on }]}
              onToken={() => setOn(!on)}
            />
          </Part>
          <Part name="Upload">
            <ui.Upload label="Drop documents here" hint="PDF, Markdown" onFiles={() => {}} />
          </Part>
          <Part name="Dialog, ConfirmDialog, Toast">
            <div className="buttons">
              <ui.Button onClick={() => setOpen('dialog')}>Dialog</ui.Button>
              <ui.Button
                onClick={() =>
                  confirm({
                    title: 'Drop 3 messages to #general?',
                    text: 'People will not get them.',
                    action: 'Drop messages',
                    onConfirm: () => toast('Dropped.'),
                  })
                }
              >
                ConfirmDialog
              </ui.Button>
              <ui.Button onClick={() => toast('Eliza is paused.', () => {})}>Toast</ui.Button>
            </div>
          </Part>
          <Part name="ErrorNote">
            <ui.ErrorNote
              fault={{
                code: 'GAL-TG-409',
                title: 'Another program reads this bot’s messages',
                cause: 'getUpdates answered 409 Conflict',
                fix: { label: 'Stop the other copy, or make a second bot.' },
              }}
            />
          </Part>
          <Part name="StateView: loading">
            <ui.StateView query={{ ...QUERY, isPending: true, data: undefined }} rows={3}>
              x
            </ui.StateView>
          </Part>
          <Part name="StateView: nothing yet">
            <ui.StateView
              query={QUERY}
              empty
              nothing={{ text: 'No messages yet.', actions: <ui.Button kind="primary">Open Chat</ui.Button> }}
            >
              x
            </ui.StateView>
          </Part>
          <Part name="StateView: nothing matches">
            <ui.StateView query={QUERY} empty filter="cat" onClear={() => {}}>
              x
            </ui.StateView>
          </Part>
          <Part name="StateView: not allowed">
            <ui.StateView query={{ ...QUERY, data: undefined, error: new Problem(403, 'GAL-ROLE', 'Needs operator') }}>
              x
            </ui.StateView>
          </Part>
          <Part name="StateView: failed">
            <ui.StateView
              query={{
                ...QUERY,
                data: undefined,
                error: new Problem(500, 'GAL-STORE', 'The database does not answer.'),
              }}
            >
              x
            </ui.StateView>
          </Part>
          <Part name="RoleGate">
            <ui.RoleGate needs="owner">
              <ui.Button>Invite a person</ui.Button>
            </ui.RoleGate>
          </Part>
          <Part name="Waterfall, WaterfallRow">
            <div className="full">
              <ui.Waterfall compact steps={STEPS} total={4} startedAt={AT} skew={0} selected={2} onSelect={() => {}} />
            </div>
          </Part>
          <Part name="HistoryBar">
            <ui.HistoryBar
              label="Discord"
              end={AT}
              cells={Array.from({ length: 90 }, (_, i) =>
                i === 50 ? 'down' : i > 60 && i < 66 ? 'degraded' : i < 8 ? 'unknown' : 'ok',
              )}
            />
          </Part>
          <Part name="Chart">
            <div className="full">
              <ui.Chart
                title="Cost, $"
                at={[AT, AT + 3_600_000, AT + 7_200_000]}
                series={[{ name: 'Eliza', unit: '$', values: [0.1, 0.4, 0.2] }]}
              />
            </div>
          </Part>
          <Part name="CodeBlock">
            <div className="full">
              <ui.CodeBlock label="Prompt" text={'Authorization: •••• redacted\nYou are Eliza.'} />
            </div>
          </Part>
          <Part name="JsonTree">
            <ui.JsonTree value={{ name: 'Eliza', style: { all: ['be brief'] }, cost: 0.0004 }} />
          </Part>
          <Part name="Diff">
            <ui.Diff rows={[{ path: 'style.all[1]', before: 'be brief', after: 'be brief, warm' }]} />
          </Part>
          <Part name="Markdown, MessageBubble">
            <ui.MessageBubble message={MESSAGE} onWhy={() => {}} />
            <ui.MessageBubble
              message={{
                ...MESSAGE,
                id: 'n',
                state: 'failed',
                text: '',
                fault: { code: 'GAL-MODEL-401', title: 'OpenAI rejected OPENAI_API_KEY' },
              }}
            />
          </Part>
          <Part name="Composer">
            <div className="full">
              <ui.Composer
                draftKey="design"
                label="Message to Eliza"
                busy={false}
                onSend={() => {}}
                onStop={() => {}}
              />
            </div>
          </Part>
          <Part name="Stepper">
            <ui.Stepper
              busy={false}
              onSubmit={() => {}}
              onDone={() => {}}
              step={{
                type: 'user_input',
                id: '1',
                title: 'Token of your Telegram bot',
                fields: [{ id: 'token', label: 'Bot token', secret: true, hint: 'Digits, a colon, 35 characters' }],
              }}
            />
          </Part>
          <Part name="Skeleton">
            <ui.Skeleton rows={3} />
          </Part>
          <Part name="DataList, Row">
            <div className="full" style={{ blockSize: 140, display: 'flex' }}>
              <ui.DataList
                label="Rows"
                items={['one', 'two', 'three', 'four']}
                id={(x) => x}
                selected="two"
                onOpen={() => {}}
                row={(x) => <span>{x}</span>}
              />
            </div>
          </Part>
          <Part name="LogLines">
            <ui.LogLines
              lines={[
                { seq: 1, at: AT, level: 'warn', target: 'galatea', text: 'failed to send part 1; retrying in 30 s' },
              ]}
            />
          </Part>
          <Part name="LoginCard">
            <ui.LoginCard busy={false} ways={{ password: true, oidc: null }} onPassword={() => {}} />
          </Part>
        </div>
      </div>
      {open && (
        <ui.Dialog title="Dialog" onClose={() => setOpen(null)}>
          <p>Esc closes it.</p>
        </ui.Dialog>
      )}
    </div>
  );
}
