// Trace: why did it (not) answer, and what did it cost?
import { useState } from 'react';
import { Link, useLocation, useParams } from 'wouter';
import {
  call,
  offers,
  type PromptBlock,
  type StepBody,
  type Turn,
  type TurnDetail,
  useAction,
  useList,
  useLive,
  useOne,
} from '../data';
import { t } from '../i18n';
import { fits, useFilters } from '../lib/filters';
import { clock, count, money, percent, span } from '../lib/format';
import { useKeys } from '../lib/keys';
import { usePhone } from '../lib/prefs';
import {
  Button,
  CodeBlock,
  DataList,
  Dialog,
  ErrorNote,
  Figure,
  FilterBar,
  IconButton,
  JsonTree,
  KeyValue,
  LogLines,
  Menu,
  PageHead,
  PlatformTag,
  RoleGate,
  StateChip,
  StateView,
  stateMark,
  stateWord,
  stepKind,
  Tabs,
  useOverlay,
  Waterfall,
} from '../ui';
import { TurnRow, verdictText } from './live';
import { Rules } from './turn-pane';

const VERDICTS = ['replied', 'ignored', 'failed', 'waiting'];

export default function Traces() {
  const { id } = useParams<{ id?: string }>();
  return id ? <Trace key={id} id={id} /> : <TraceList />;
}

function TraceList() {
  const [filters, setFilters] = useFilters();
  const [, navigate] = useLocation();
  const phone = usePhone();
  const query = useList<Turn>('turns', { verdict: filters.verdict });
  const words = filters.q ?? '';
  const items = words
    ? query.items.filter((turn) =>
        fits(words, turn.id, turn.text, turn.roomName, turn.personName, turn.reason, turn.model),
      )
    : query.items;
  return (
    <div className="page">
      <PageHead title={t('Traces')} />
      <FilterBar
        value={words}
        onChange={(q) => setFilters({ q }, true)}
        placeholder={t('Filter by trace id, room, person, words')}
        tokens={VERDICTS.map((v) => ({ id: v, label: stateWord(v), mark: stateMark(v), on: filters.verdict === v }))}
        onToken={(v) => setFilters({ verdict: filters.verdict === v ? null : v })}
      />
      <div className="split">
        <div className="master">
          <StateView
            query={query}
            empty={items.length === 0}
            filter={[words, filters.verdict && stateWord(filters.verdict)].filter(Boolean).join(' · ')}
            onClear={() => setFilters({ q: null, verdict: null })}
            nothing={{
              text: t('No traces yet. Each message leaves one, answered or not.'),
              actions: (
                <Link href="/chat" className="button primary">
                  {t('Open Chat')}
                </Link>
              ),
            }}
          >
            <DataList
              label={t('Traces')}
              items={items}
              id={(turn) => turn.id}
              onOpen={(turn) => navigate(`/traces/${turn.id}`)}
              onEnd={() => query.hasNextPage && !query.isFetchingNextPage && void query.fetchNextPage()}
              row={(turn) =>
                phone ? (
                  <span className="turn-phone">
                    <span className="line">
                      <PlatformTag platform={turn.platform} />
                      <span className="who">
                        {turn.personName} · {turn.roomName}
                      </span>
                      <span className="num text-2">{clock(turn.at)}</span>
                    </span>
                    <span className="line">
                      <span className="text" title={turn.text}>
                        {turn.text}
                      </span>
                      <StateChip state={turn.verdict} text={verdictText(turn)} />
                    </span>
                  </span>
                ) : (
                  <TurnRow turn={turn} />
                )
              }
            />
          </StateView>
        </div>
      </div>
    </div>
  );
}

function Trace({ id }: { id: string }) {
  const [filters, setFilters] = useFilters();
  const [, navigate] = useLocation();
  const phone = usePhone();
  const live = useLive();
  const query = useOne<TurnDetail>(`turns/${id}`);
  const list = useList<Turn>('turns');
  const { toast, fail } = useOverlay();
  const [dry, setDry] = useState<string | null>(null);
  const run = useAction(() => call<{ text: string; cost: number | null }>('POST', `turns/${id}/dry-run`));
  const turn = query.data;
  const step = filters.step === undefined ? (phone ? null : initialStep(turn)) : Number(filters.step);
  const go = (by: number) => {
    const at = list.items.findIndex((item) => item.id === id);
    const next = list.items[at + by];
    if (next) navigate(`/traces/${next.id}`);
  };
  const dryRun = () => run.mutate(undefined, { onSuccess: (answer) => setDry(answer.text), onError: fail });
  const copy = () =>
    void navigator.clipboard?.writeText(window.location.href).then(() => toast(t('The link is copied.')));
  useKeys({ j: () => go(1), k: () => go(-1), r: dryRun, c: copy });
  if (query.error?.status === 404) {
    return (
      <div className="page">
        <PageHead title={t('Traces')} />
        <div className="state">
          <p>{t('No such trace here. It may be older than 7 days.')}</p>
          <Link href="/traces" className="button">
            {t('Open Traces')}
          </Link>
        </div>
      </div>
    );
  }
  return (
    <div className="page">
      <div className="page-head">
        <Link href="/traces" className="button quiet">
          ‹ {t('Traces')}
        </Link>
        <h1 className="trace-title">
          {turn ? (
            <>
              {turn.personName} · {turn.roomName} <span className="muted">“{turn.text}”</span>
            </>
          ) : (
            id
          )}
        </h1>
        {turn && <StateChip state={turn.verdict} />}
        <div className="page-actions">
          <IconButton label={t('Next trace')} hotkey="j" onClick={() => go(1)}>
            ↓
          </IconButton>
          <IconButton label={t('Previous trace')} hotkey="k" onClick={() => go(-1)}>
            ↑
          </IconButton>
          <Button onClick={copy}>{t('Copy link')}</Button>
          <Menu
            label={t('Actions on this trace')}
            items={[
              { label: t('Dry run again'), onSelect: dryRun, hotkey: 'r' },
              ...(offers('GET', `turns/${id}/fixture`)
                ? [{ label: t('Save as test'), onSelect: () => void saveAsTest(id, fail) }]
                : []),
              { label: t('Open room'), onSelect: () => navigate(`/memory?tab=rooms&id=${turn?.room ?? ''}`) },
            ]}
          >
            ▾
          </Menu>
        </div>
      </div>
      <StateView query={query}>
        {turn && (
          <>
            <div className="figures">
              <Figure value={turn.took === undefined ? '–' : span(turn.took)} label={t('Took')} />
              <Figure value={span(turn.waited)} label={t('Waited')} />
              <Figure value={money(turn.cost)} label={t('Cost')} href="/usage" />
              <Figure
                value={`${count(turn.tokensIn)}+${count(turn.tokensOut)}`}
                label={
                  turn.tokensIn
                    ? t('Tokens, {share} cached', { share: percent(turn.cached / Math.max(1, turn.tokensIn)) })
                    : t('Tokens')
                }
              />
              <Figure value={turn.model ?? '–'} label={t('Model')} />
            </div>
            {turn.failing && (
              <ErrorNote
                fault={{
                  code: turn.failing.code,
                  title: t('Failed at {step}', {
                    step: turn.steps.find((s) => s.n === turn.failing?.step)?.name ?? '',
                  }),
                  cause: turn.failing.cause,
                }}
              >
                <Button small onClick={() => setFilters({ step: String(turn.failing?.step ?? 0) })}>
                  {t('Show the step')}
                </Button>
              </ErrorNote>
            )}
            <Rules turn={turn} />
            {turn.stepsDropped && <p className="strip">{t('Steps were dropped after 7 days; the summary remains.')}</p>}
            <div className="split trace-split">
              <div className="master trace-steps">
                <Waterfall
                  steps={turn.steps}
                  total={turn.stepsTotal}
                  startedAt={turn.at}
                  skew={live.skew}
                  selected={step}
                  onSelect={(n) => setFilters({ step: String(n) }, true)}
                />
              </div>
              {step !== null && (
                <StepPane
                  turn={turn}
                  n={step}
                  onClose={() => setFilters({ step: null })}
                  onDryRun={dryRun}
                  running={run.isPending}
                />
              )}
            </div>
          </>
        )}
      </StateView>
      {dry !== null && (
        <Dialog title={t('Dry run')} onClose={() => setDry(null)}>
          <p className="muted">{t('The same prompt, asked again. Nothing was sent or stored.')}</p>
          <p className="plain">{dry}</p>
          <div className="buttons end">
            <Button onClick={() => setDry(null)}>{t('Close')}</Button>
          </div>
        </Dialog>
      )}
    </div>
  );
}

/** The failing step, else the call of the model, else the first. */
function initialStep(turn: TurnDetail | undefined): number | null {
  if (!turn || turn.steps.length === 0) return null;
  return turn.failing?.step ?? turn.steps.find((s) => s.kind === 'model')?.n ?? turn.steps[0]?.n ?? null;
}

async function saveAsTest(id: string, fail: (error: Error) => void) {
  try {
    const body = await call<unknown>('GET', `turns/${id}/fixture`);
    const url = URL.createObjectURL(new Blob([JSON.stringify(body, null, 2)], { type: 'application/json' }));
    const link = document.createElement('a');
    link.href = url;
    link.download = `trace-${id}.json`;
    link.click();
    URL.revokeObjectURL(url);
  } catch (error) {
    fail(error as Error);
  }
}

function StepPane({
  turn,
  n,
  onClose,
  onDryRun,
  running,
}: {
  turn: TurnDetail;
  n: number;
  onClose: () => void;
  onDryRun: () => void;
  running: boolean;
}) {
  const step = turn.steps.find((s) => s.n === n);
  const query = useOne<StepBody>(`turns/${turn.id}/steps/${n}`);
  const [filters, setFilters] = useFilters();
  const body = query.data?.n === n ? query.data : undefined;
  const tabs = [
    ...(body?.input ? [{ id: 'in', label: t('In') }] : []),
    ...(body?.prompt ? [{ id: 'prompt', label: t('Prompt') }] : []),
    ...(body?.output ? [{ id: 'out', label: t('Out') }] : []),
    { id: 'log', label: t('Log') },
    { id: 'raw', label: t('Raw') },
  ];
  const tab = tabs.some((x) => x.id === filters.tab) ? filters.tab : (tabs[0]?.id ?? 'raw');
  if (!step) return null;
  return (
    <aside className="detail step-pane" aria-label={t('Step')}>
      <div className="detail-head">
        <h2>
          {stepKind(step.kind)} {step.name}
        </h2>
        {step.state === 'bad' && <StateChip state="failed" text={step.note} />}
        <IconButton label={t('Close')} onClick={onClose}>
          ✕
        </IconButton>
      </div>
      <div className="detail-body">
        <StateView query={query} rows={5}>
          {body && (
            <>
              {body.facts.length > 0 && <KeyValue rows={body.facts} />}
              <Tabs
                label={t('Step')}
                tabs={tabs}
                active={tab ?? 'raw'}
                onChange={(id) => setFilters({ tab: id }, true)}
              />
              {tab === 'in' && <CodeBlock label={t('In')} text={body.input ?? ''} />}
              {tab === 'prompt' && <Prompt blocks={body.prompt ?? []} answer={body.output} />}
              {tab === 'out' && <CodeBlock label={t('Out')} text={body.output ?? ''} />}
              {tab === 'log' && <LogLines lines={body.log} />}
              {tab === 'raw' && <JsonTree value={body.raw} />}
            </>
          )}
        </StateView>
        {step.kind === 'model' && (
          <RoleGate needs="operator">
            <div className="buttons">
              <Button onClick={onDryRun} busy={running} hotkey="r">
                {t('Dry run again')}
              </Button>
            </div>
          </RoleGate>
        )}
      </div>
    </aside>
  );
}

/** A prompt in blocks, each with its provider and its share of the tokens. */
function Prompt({ blocks, answer }: { blocks: PromptBlock[]; answer?: string }) {
  const total = blocks.reduce((sum, block) => sum + block.tokens, 0);
  return (
    <div className="prompt">
      {blocks.map((block, i) => (
        <details key={i} open={block.role !== 'system' || i === 0} className={`block ${block.role}`}>
          <summary>
            <strong>{block.role}</strong> {block.from}{' '}
            <span className="num muted">
              {count(block.tokens)} · {percent(block.tokens / Math.max(1, total))}
            </span>
          </summary>
          <CodeBlock label={block.from} text={block.text} />
        </details>
      ))}
      {answer && (
        <div className="block answer">
          <p>
            <strong>{t('answer')}</strong>
          </p>
          <CodeBlock label={t('answer')} text={answer} />
        </div>
      )}
    </div>
  );
}
