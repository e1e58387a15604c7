//! Traces, in the shape that the console's waterfall reads.

use galatea_core::{
    StepOutcome, Timestamp,
    store::{PromptBlock, StepTexts, StepUse},
    tokens::Family,
};
use galatea_host::ops::traces::{DryRun, ShownStep, TracedTurn, TurnTrace, outcome, reason};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{VerdictView, list};

/// Millionths in a dollar.
const MICROS: f64 = 1_000_000.0;

fn dollars(micros: Option<u64>) -> Option<f64> {
    #[allow(clippy::cast_precision_loss, reason = "a turn costs less than 9 billion dollars")]
    micros.map(|micros| micros as f64 / MICROS)
}

/// A turn in a list of traces.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TraceSummary {
    /// Id of the message.
    id: Uuid,
    /// The turn that finished it.
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<Uuid>,
    /// Time at which the message arrived.
    at: i64,
    agent: Uuid,
    agent_name: String,
    platform: String,
    room: Uuid,
    room_name: String,
    person: Uuid,
    person_name: String,
    text: String,
    /// `replied`, `ignored`, `failed`, `waiting` or `running`.
    verdict: String,
    /// What decided, in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Milliseconds from the arrival to the decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    took: Option<u64>,
    /// Cost in US dollars; null where it is unknown.
    cost: Option<f64>,
    /// Tokens of prompt and answer.
    tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
}

impl From<TracedTurn> for TraceSummary {
    fn from(traced: TracedTurn) -> Self {
        let TracedTurn { item, figures, model, agent, room, person } = traced;
        let StepUse { input, output, micros, .. } = figures.used;
        let (verdict, reason) = (outcome(&item).to_owned(), reason(&item).map(str::to_owned));
        let memory = item.entry.memory;
        Self {
            id: memory.id.0,
            turn: item.turn.map(|turn| turn.0),
            at: item.received_at.0,
            agent: memory.agent_id.0,
            agent_name: agent,
            platform: item.entry.source.as_str().to_owned(),
            room: memory.room_id.0,
            room_name: room,
            person: memory.entity_id.0,
            person_name: person,
            text: memory.content.text,
            verdict,
            reason,
            took: figures.took,
            cost: dollars(micros),
            tokens: input.saturating_add(output),
            model,
        }
    }
}

list!(/// Turns with their figures.
    TraceList of TraceSummary);

/// A step of a turn.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TraceStepView {
    /// Its number, from 0.
    n: usize,
    depth: u8,
    /// `receive`, `wait`, `gate`, `provider`, `model`, `action`, `send`, `backoff`, `evaluate` or
    /// `commit`.
    kind: String,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// Milliseconds from the arrival of the message.
    offset: i64,
    /// Milliseconds that it took; null while it goes on.
    width: Option<u64>,
    /// `ok`, `bad`, `wait` or `running`.
    state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<u64>,
    /// Tokens of the prompt that the service had kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    cached: Option<u64>,
    /// Cost in US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<f64>,
    /// Bytes that a provider added to the prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    /// There is more of it: a prompt, an answer, parameters, a result.
    has_texts: bool,
}

impl TraceStepView {
    fn of(shown: &ShownStep, received: Timestamp, has_texts: bool) -> Self {
        let step = &shown.step;
        let is_wait = matches!(
            step.kind,
            galatea_core::store::StepKind::Wait | galatea_core::store::StepKind::Backoff
        );
        let state = match (shown.is_open, step.failed, is_wait) {
            (true, ..) => "running",
            (_, true, _) => "bad",
            (_, _, true) => "wait",
            _ => "ok",
        };
        Self {
            n: shown.n,
            depth: shown.depth,
            kind: step.kind.as_str().to_owned(),
            name: step.name.clone(),
            note: step.note.clone(),
            offset: step.at.0.saturating_sub(received.0),
            width: (!shown.is_open).then_some(step.millis),
            state: state.to_owned(),
            tokens: step.used.map(|used| used.input.saturating_add(used.output)),
            cached: step.used.map(|used| used.cached),
            cost: step.used.and_then(|used| dollars(used.micros)),
            bytes: step.bytes,
            has_texts,
        }
    }
}

/// A rule of the gate.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct RuleView {
    name: String,
    text: String,
    /// It decided.
    decided: bool,
}

/// The step at which a turn failed.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct FailingStep {
    /// Number of the step.
    step: usize,
    cause: String,
    /// Code for `galatea explain`; empty where the failure has none.
    code: String,
}

/// A turn with all its steps.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TraceDetail {
    #[serde(flatten)]
    turn: TraceSummary,
    /// The verdict as it is stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<VerdictView>,
    /// Milliseconds that the message waited for its turn.
    waited: u64,
    tokens_in: u64,
    tokens_out: u64,
    /// Tokens of prompts that the services had kept.
    cached: u64,
    steps: Vec<TraceStepView>,
    steps_total: usize,
    rules: Vec<RuleView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failing: Option<FailingStep>,
    /// Only what the verdict and the outbox hold is left.
    steps_dropped: bool,
    /// Prompts and answers are kept.
    has_texts: bool,
    /// The one setting that would have changed the outcome, as `NAME=VALUE`.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<String>,
}

/// The code in a text for people.
fn code_in(text: &str) -> String {
    let is_of_code = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '-';
    let from = text.find("GAL-").and_then(|at| text.get(at..)).unwrap_or_default();
    from.split(|c| !is_of_code(c)).next().unwrap_or_default().trim_end_matches('-').to_owned()
}

impl From<TurnTrace> for TraceDetail {
    fn from(trace: TurnTrace) -> Self {
        let received = trace.turn.item.received_at;
        let has = |n: usize| trace.texts.iter().any(|texts| texts.step == n);
        let steps: Vec<TraceStepView> = trace
            .steps
            .iter()
            .map(|shown| TraceStepView::of(shown, received, has(shown.n)))
            .collect();
        let verdict = trace.turn.item.verdict.clone();
        let decides = |o: StepOutcome| matches!(o, StepOutcome::Answer | StepOutcome::Skip);
        let rules = verdict.iter().flat_map(|verdict| &verdict.steps).map(|step| RuleView {
            name: step.rule.clone().into_owned(),
            text: step.reason.clone().into_owned(),
            decided: decides(step.outcome),
        });
        let has_failed = outcome(&trace.turn.item) == "failed"
            || trace.parts.iter().any(|part| part.state == galatea_core::store::OutboxState::Dead);
        let failing = trace.steps.iter().rev().find(|shown| has_failed && shown.step.failed);
        let failing = failing.map(|shown| {
            let cause = shown.step.note.clone().unwrap_or_default();
            FailingStep { step: shown.n, code: code_in(&cause), cause }
        });
        let used = trace.turn.figures.used;
        let advice = verdict.as_ref().and_then(|verdict| verdict.change.as_ref());
        Self {
            waited: trace.turn.figures.waited,
            tokens_in: used.input,
            tokens_out: used.output,
            cached: used.cached,
            steps_total: steps.len(),
            steps,
            rules: rules.collect(),
            failing,
            steps_dropped: trace.is_bare && outcome(&trace.turn.item) == "replied",
            has_texts: trace.has_texts,
            advice: advice.map(|change| format!("{}={}", change.setting, change.value)),
            turn: trace.turn.into(),
            decision: verdict.map(Into::into),
        }
    }
}

/// A block of a prompt.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct PromptBlockView {
    /// Whose words these are.
    from: String,
    /// `system`, `user`, `assistant` or `tool`.
    role: String,
    text: String,
    /// About how many tokens it is.
    tokens: u64,
}

/// Everything of one step.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct StepBody {
    n: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<String>,
    /// The prompt as it was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<Vec<PromptBlockView>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    /// Names and values for people.
    facts: Vec<(String, String)>,
    /// Lines of the log that belong to it.
    #[schema(value_type = Vec<Object>)]
    log: Vec<serde_json::Value>,
    /// The step as it is stored.
    #[schema(value_type = Object)]
    raw: serde_json::Value,
}

impl StepBody {
    /// None if there is no step of this number.
    pub(crate) fn of(trace: TurnTrace, n: usize) -> Option<Self> {
        let shown = trace.steps.into_iter().find(|shown| shown.n == n)?;
        let texts = trace.texts.into_iter().find(|texts| texts.step == n).unwrap_or_default();
        let StepTexts { input, prompt, output, .. } = texts;
        let step = &shown.step;
        let family = Family::of(&step.name);
        let block = |PromptBlock { from, role, text }: PromptBlock| PromptBlockView {
            tokens: family.text(&text),
            from,
            role,
            text,
        };
        let prompt: Vec<PromptBlockView> = prompt.into_iter().map(block).collect();
        let mut facts = vec![
            ("kind".to_owned(), step.kind.as_str().to_owned()),
            ("took".to_owned(), format!("{} ms", step.millis)),
        ];
        let mut fact = |name: &str, value: Option<String>| {
            facts.extend(value.map(|value| (name.to_owned(), value)));
        };
        fact("note", step.note.clone());
        fact("bytes", step.bytes.map(|bytes| bytes.to_string()));
        if let Some(used) = step.used {
            fact("tokens", Some(format!("{} in, {} out", used.input, used.output)));
            fact("cached", Some(used.cached.to_string()));
            fact(
                "cost",
                used.micros
                    .map(|micros| format!("${:.6}", dollars(Some(micros)).unwrap_or_default())),
            );
        }
        Some(Self {
            n,
            input,
            prompt: (!prompt.is_empty()).then_some(prompt),
            output,
            facts,
            log: Vec::new(),
            raw: serde_json::to_value(&shown).unwrap_or_default(),
        })
    }
}

/// What a model said to a prompt that was sent before.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DryRunView {
    text: String,
    model: String,
    /// Cost in US dollars; null where it is unknown.
    cost: Option<f64>,
    tokens_in: u64,
    tokens_out: u64,
    /// False if the prompt was too long to be kept whole: its middle was missing.
    whole: bool,
}

impl From<DryRun> for DryRunView {
    fn from(run: DryRun) -> Self {
        Self {
            text: run.text,
            model: run.model,
            cost: dollars(run.used.micros),
            tokens_in: run.used.input,
            tokens_out: run.used.output,
            whole: run.is_whole,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_found_in_words() {
        assert_eq!(code_in("no model answers (GAL-MODEL-TIMEOUT)"), "GAL-MODEL-TIMEOUT");
        assert_eq!(code_in("dead: refused code=GAL-TG-403, fix=x"), "GAL-TG-403");
        assert_eq!(code_in("nothing of the kind"), "");
    }
}
