//! Puts the steps of a turn into one list. Pure.

use galatea_core::{
    Decision, StepOutcome, Timestamp,
    store::{InboxItem, OutboxItem, OutboxState, StepKind, StepTexts, StepUse, Trace, TraceStep},
};

use super::shown::{ShownStep, TraceFigures, TracedTurn, TurnTrace, end, moment};

/// Figures of a turn, and its model.
pub(super) fn figures(item: &InboxItem, traces: &[Trace]) -> (TraceFigures, Option<String>) {
    let received = item.received_at;
    let began = traces.iter().find(|trace| !trace.late).map(|trace| trace.at);
    let began = began.or(item.finished_at).unwrap_or(received);
    let calls: Vec<&TraceStep> = traces
        .iter()
        .flat_map(|trace| &trace.steps)
        .filter(|step| step.kind == StepKind::Model)
        .collect();
    let mut used = StepUse::default();
    let mut cost = None;
    for of in calls.iter().filter_map(|step| step.used) {
        used.input += of.input;
        used.cached += of.cached;
        used.output += of.output;
        cost = Some(match (cost, of.micros) {
            (None, micros) => micros,
            (Some(Some(sum)), Some(more)) => Some(sum + more),
            (Some(_), _) => None,
        });
    }
    used.micros = cost.flatten();
    let answered = calls.iter().filter(|step| !step.failed);
    let model = answered.max_by_key(|step| step.used.map_or(0, |used| used.output));
    let figures = TraceFigures {
        took: item.finished_at.map(|finished| millis(received, finished)),
        waited: millis(received, began),
        used,
    };
    (figures, model.map(|step| step.name.clone()))
}

fn millis(from: Timestamp, to: Timestamp) -> u64 {
    u64::try_from(to.since(from).as_millis()).unwrap_or(u64::MAX)
}

/// A turn with all its steps: the arrival, the rules of the gate, what was recorded, and the sends.
pub fn compose(turn: TracedTurn, traces: Vec<Trace>, parts: Vec<OutboxItem>) -> TurnTrace {
    let is_bare = traces.is_empty();
    let has_texts = traces.iter().any(|trace| trace.texts.is_some());
    let mut steps: Vec<(TraceStep, Option<StepTexts>, u8)> =
        before(&turn.item, &traces).into_iter().map(|(step, depth)| (step, None, depth)).collect();
    let mut done: Vec<(TraceStep, Option<StepTexts>, u8)> = Vec::new();
    for trace in traces {
        let mut texts = trace.texts.unwrap_or_default();
        for (n, step) in trace.steps.into_iter().enumerate() {
            let at = texts.iter().position(|texts| texts.step == n);
            done.push((step, at.map(|at| texts.swap_remove(at)), 1));
        }
    }
    done.extend(sends(&parts).into_iter().map(|step| (step, None, 1)));
    // Providers run side by side: steps of one time stay in their order.
    done.sort_by_key(|(step, ..)| (step.at, end(step)));
    steps.extend(done);
    let mut out = Vec::with_capacity(steps.len());
    let mut texts = Vec::new();
    for (n, (step, of, depth)) in steps.into_iter().enumerate() {
        texts.extend(of.map(|of| StepTexts { step: n, ..of }));
        out.push(ShownStep { n, depth, step, is_open: false });
    }
    mark_open(&mut out, &turn.item, &parts);
    TurnTrace { turn, steps: out, is_bare, has_texts, texts, parts }
}

/// The arrival, the wait, and the rules of the gate.
fn before(item: &InboxItem, traces: &[Trace]) -> Vec<(TraceStep, u8)> {
    let received = item.received_at;
    let note = match item.attempts {
        0 => None,
        1 => Some("a turn was begun for it".to_owned()),
        n => {
            Some(format!("{n} turns were begun for it; the process ended during the earlier ones"))
        }
    };
    let mut steps =
        vec![(moment(StepKind::Receive, item.entry.source.as_str(), received, note), 0)];
    let began = traces.iter().find(|trace| !trace.late).map(|trace| trace.at);
    let began = began.or(item.finished_at).unwrap_or(received);
    let waited = millis(received, began);
    if waited > 0 {
        let wait = TraceStep { millis: waited, ..moment(StepKind::Wait, "turn", received, None) };
        steps.push((wait, 0));
    }
    let Some(verdict) = &item.verdict else { return steps };
    let answers =
        matches!(verdict.decision, Decision::Answer | Decision::Merged | Decision::Command);
    for step in verdict.steps.iter().filter(|step| step.outcome != StepOutcome::Note) {
        let gate = TraceStep {
            failed: step.outcome == StepOutcome::Failed,
            ..moment(StepKind::Gate, &step.rule, began, Some(step.reason.clone().into_owned()))
        };
        steps.push((gate, 1));
        // What follows is of the answer, whose steps were recorded.
        if answers && step.outcome == StepOutcome::Answer {
            break;
        }
    }
    steps
}

/// The last attempt of each part. Attempts before it were recorded when they failed.
fn sends(parts: &[OutboxItem]) -> Vec<TraceStep> {
    let step = |part: &OutboxItem| {
        let delivery = &part.delivery;
        let name = format!("{} #{}", delivery.address.source, delivery.part + 1);
        let from = delivery.created_at;
        let (at, took) = match part.state {
            OutboxState::Sent if delivery.attempt <= 1 => (from, millis(from, part.not_before)),
            OutboxState::Pending => (from, 0),
            _ => (part.not_before.max(from), 0),
        };
        let note = match (part.state, &part.error) {
            (OutboxState::Sent, None) => Some(format!("sent, attempt {}", delivery.attempt)),
            (state, None) => Some(state.as_str().to_owned()),
            (state, Some(error)) => Some(format!("{}: {error}", state.as_str())),
        };
        TraceStep {
            millis: took,
            failed: matches!(part.state, OutboxState::Dead | OutboxState::Expired),
            ..moment(StepKind::Send, &name, at, note)
        }
    };
    parts.iter().map(step).collect()
}

/// Marks what goes on still: the wait of a message, and parts that are not settled.
fn mark_open(steps: &mut [ShownStep], item: &InboxItem, parts: &[OutboxItem]) {
    if item.finished_at.is_none()
        && let Some(last) = steps.last_mut()
    {
        last.is_open = true;
    }
    let open: Vec<String> = parts
        .iter()
        .filter(|part| part.state.is_open())
        .map(|part| format!("{} #{}", part.delivery.address.source, part.delivery.part + 1))
        .collect();
    for step in steps.iter_mut().filter(|step| step.step.kind == StepKind::Send) {
        let is_last_attempt = !step.step.note.as_deref().is_some_and(|n| n.starts_with("attempt "));
        step.is_open = is_last_attempt && open.contains(&step.step.name);
    }
}
