//! Composes, decides and acts, and returns an outcome. Whatever fails ends in an outcome too;
//! nothing here is written.

pub(crate) mod again;
mod called;
pub(crate) mod compose;
pub(crate) mod confirm;
pub(crate) mod decide;
mod draft;
pub(crate) mod files;
pub(crate) mod report;
pub(crate) mod rounds;

use futures::FutureExt;
use galatea_core::{
    Content, Decision, Error, ErrorKind, Event, Middleware, Result, State, StepOutcome, Timestamp,
    Turn, Verdict, model::LIMIT_CODE, store::Amount,
};
use std::{panic::AssertUnwindSafe, time::Duration};

use self::{
    compose::{catalog, compose_state},
    decide::{Bounds, Providers},
};
use super::{
    context::TurnContext,
    engine::{Engine, Thinking},
    notice::{BROKEN, limit_notice, notice},
};
use crate::{
    budget::{Budget, Refusal},
    commands::{self, CommandParts},
    plan::{Parsed, PlanFormat, RespondDecision},
    plugins::unit::Extension,
    turn::{
        act,
        commit::outcome::Outcome,
        state::{notices::Notices, window::Windows},
        steps::Steps,
    },
};

/// Result of thinking: the outcome, its reasons, and the context it was made in.
pub(super) type Thought = (Outcome, Verdict, State);

/// Answers within the turn's deadline.
///
/// # Errors
/// `Exhausted` when this machine lacks what it takes to ask a model: the message is not to blame,
/// so it waits.
pub(super) async fn think(engine: &Engine, context: &TurnContext) -> Result<Thought> {
    let mut verdict = context.verdict.clone();
    let turn = context.turn(engine);
    if verdict.decision == Decision::Command {
        return Ok(Box::pin(command(engine, context, &turn, verdict)).await);
    }
    let catalog = Box::pin(catalog(engine, &turn)).await;
    let turn = Turn { catalog: &catalog, ..turn };
    // A little sooner than the turn, so that the caller of the models learns which did not answer,
    // and why.
    let deadline =
        engine.clock.now().plus(engine.limits.turn - engine.limits.turn / NOTICE_DIVISOR);
    let work = AssertUnwindSafe(Box::pin(answer(engine, context, &turn, deadline, &mut verdict)))
        .catch_unwind();
    let failure = match tokio::time::timeout(engine.limits.turn, work).await {
        Ok(Ok(Ok((outcome, state)))) => return Ok((outcome, verdict, state)),
        Ok(Ok(Err(error))) if error.kind() == ErrorKind::Exhausted => return Err(error),
        Ok(Ok(Err(error))) => error,
        Ok(Err(_)) => Error::unexpected("the turn crashed").with_code("GAL-TURN-PANIC"),
        Err(_) => Error::new(ErrorKind::Timeout, "the turn took too long")
            .with_code("GAL-TURN-TIMEOUT")
            .with("seconds", engine.limits.turn.as_secs()),
    };
    if failure.code() == Some(LIMIT_CODE)
        && let Some(refusal) = context.meter.refusal()
    {
        return Ok(refused(&engine.budget, context, verdict, &refusal));
    }
    Ok(failed(engine, context, verdict, &failure))
}

/// A limit was reached while the turn was under way: nothing is said but that.
fn refused(
    budget: &Budget,
    context: &TurnContext,
    mut verdict: Verdict,
    refusal: &Refusal,
) -> Thought {
    refusal.note(&mut verdict);
    let mut outcome = Outcome::default();
    let notice = if context.ask || context.message.entry.envelope.from_bot {
        None
    } else {
        budget.notice(&context.meter.visit, refusal)
    };
    context.meter.count(Amount {
        refused: 1,
        notices: u64::from(notice.is_some() && !refusal.passes_soon()),
        ..Amount::default()
    });
    if let Some(text) = notice {
        outcome.replies.push(limit_notice(text));
        verdict.step("notice", StepOutcome::Note, "a notice was sent to the person");
    }
    (outcome, verdict, State::default())
}

async fn answer(
    engine: &Engine,
    context: &TurnContext,
    bare: &Turn<'_>,
    until: Timestamp,
    verdict: &mut Verdict,
) -> Result<(Outcome, State)> {
    let Thinking { windows, registry, .. } = &*engine.thinking;
    let deadline = engine.limits.provider;
    for middleware in &registry.middleware {
        if let Err(error) = middleware.before(&middleware.turn(bare), verdict).await {
            verdict.decision = Decision::Skip;
            verdict.step(middleware.name().to_owned(), StepOutcome::Skip, error.to_string());
        }
        if verdict.decision != Decision::Answer && !context.ask {
            return Ok((Outcome::default(), State::default()));
        }
    }
    let mut state = compose_state(bare, registry.standing(), deadline, &context.trace).await;
    note_left_out(&state, verdict);
    let turn = Turn { state: &state, ..*bare };
    if context.ask {
        if !joins_in(windows, &turn, until, verdict).await? {
            return Ok((Outcome::default(), state));
        }
        engine.budget.answered(&context.meter.visit);
    }

    let length = answer_tokens(engine, context);
    let drafts = engine.events.wants_drafts()
        && !engine.thinking.is_scripted()
        && registry.middleware.iter().all(|one| one.allows_drafts());
    let bounds = Bounds { until, length, drafts };
    let none = Steps::default();
    let mut decided = match called::called(registry, &turn, verdict) {
        Some(called) => called,
        None => {
            decide::decide(&turn, windows, &none, Providers::MayBeAsked, bounds, verdict).await?
        }
    };
    let parsed = &decided.parsed;
    if !parsed.plan.providers.is_empty() {
        let asked = parsed.plan.providers.clone();
        let more = registry.providers.iter().filter(|p| {
            asked.iter().any(|name| name.eq_ignore_ascii_case(p.name()))
                && state.fragment(p.name()).is_none()
        });
        let extra = compose_state(&turn, more, deadline, &context.trace).await;
        if !extra.fragments.is_empty() || !parsed.plan.does_something() {
            verdict.step(
                "providers",
                StepOutcome::Note,
                format!("the model asked for {}", asked.join(", ")),
            );
            state.fragments.extend(extra.fragments);
            let turn = Turn { state: &state, ..*bare };
            decided =
                decide::decide(&turn, windows, &none, Providers::Given, bounds, verdict).await?;
        }
    }
    note_plan(&decided.parsed, verdict);
    let turn = Turn { state: &state, ..*bare };
    let mut outcome = Box::pin(rounds::carry_out(
        engine,
        &turn,
        act::ActionBounds { until, lease: &context.message.lease, trace: &context.trace },
        decided,
        bounds,
        verdict,
    ))
    .await?;
    for reply in &mut outcome.replies {
        reviewed(&registry.middleware, deadline, &turn, reply).await;
    }
    let mut outcome = bounded(outcome, verdict);
    if engine.thinking.is_scripted() {
        label(context, &mut outcome);
    }
    Ok((outcome, state))
}

/// Length of an answer in this place.
fn answer_tokens(engine: &Engine, context: &TurnContext) -> Option<u32> {
    let room = &context.info.room;
    engine.policies.of(&room.source, &room.account).ok()?.answer_tokens
}

/// Middleware looks at an answer. One that fails or takes too long leaves it as it was.
async fn reviewed(
    middleware: &[Extension<dyn Middleware>],
    deadline: Duration,
    turn: &Turn<'_>,
    reply: &mut Content,
) {
    for middleware in middleware {
        let mut changed = reply.clone();
        let turn = &middleware.turn(turn);
        let work = AssertUnwindSafe(middleware.answered(turn, &mut changed)).catch_unwind();
        match tokio::time::timeout(deadline, work).await {
            Ok(Ok(Ok(()))) => *reply = changed,
            Ok(Ok(Err(error))) => {
                tracing::warn!(turn = %turn.id, middleware = middleware.name(), error = %error.report(), "middleware failed; the answer stays as it was");
            }
            Ok(Err(_)) | Err(_) => {
                tracing::warn!(turn = %turn.id, middleware = middleware.name(), "middleware crashed or took too long; the answer stays as it was");
            }
        }
    }
}

/// Longest answer, in characters: what a model writes by itself is shorter (16,000 tokens), and one
/// that repeats itself must not fill a Room.
const LONGEST: usize = 50_000;

fn bounded(mut outcome: Outcome, verdict: &mut Verdict) -> Outcome {
    for reply in &mut outcome.replies {
        if let Some((end, _)) = reply.text.char_indices().nth(LONGEST) {
            reply.text.truncate(end);
            reply.text.push_str(" […]");
            verdict.step(
                "model",
                StepOutcome::Note,
                format!("the answer was cut after {LONGEST} characters"),
            );
        }
    }
    outcome
}

async fn joins_in(
    windows: &Windows,
    turn: &Turn<'_>,
    until: Timestamp,
    verdict: &mut Verdict,
) -> Result<bool> {
    let (decision, said) = match decide::should_respond(turn, windows, until, verdict).await? {
        RespondDecision::Respond => (Decision::Answer, "the model wants to join in"),
        RespondDecision::Ignore => (Decision::Skip, "the model sees no reason to join in"),
        RespondDecision::Stop => (Decision::Skip, "the model was asked to be quiet"),
    };
    verdict.decision = decision;
    verdict.step(
        "ambient",
        if decision == Decision::Answer { StepOutcome::Answer } else { StepOutcome::Skip },
        said,
    );
    Ok(decision == Decision::Answer)
}

async fn command(
    engine: &Engine,
    context: &TurnContext,
    turn: &Turn<'_>,
    mut verdict: Verdict,
) -> Thought {
    let state = State::default();
    if let Some(answer) = confirm::answer(&context.message.entry.memory.content.text) {
        let (lease, trace) = (&context.message.lease, &*context.trace);
        let on = confirm::Ground { lease, trace };
        return match confirm::confirm(engine, turn, &on, &answer, &mut verdict).await {
            Ok(outcome) => (outcome, verdict, state),
            Err(error) => failed(engine, context, verdict, &error),
        };
    }
    let parts = CommandParts {
        store: &*engine.store,
        directory: &engine.directory,
        outbox: &engine.outbox,
        registry: &engine.thinking.registry,
        grants: &engine.state.grants,
        conversation: engine.limits.conversation,
    };
    match commands::run(&parts, turn).await {
        Ok(done) => (done.into(), verdict, state),
        Err(error) => failed(engine, context, verdict, &error),
    }
}

/// The failure notice may use the turn's time divided by this.
const NOTICE_DIVISOR: u32 = 20;
/// Says that it failed, to those who addressed the agent; the source stays in the log.
fn failed(engine: &Engine, context: &TurnContext, mut verdict: Verdict, error: &Error) -> Thought {
    let room = context.info.room.id;
    tracing::error!(turn = %context.turn, message_id = %context.message.entry.memory.id, room = %room, code = error.code(), error = %error.report(), "failed to answer a message; its turn ends here");
    let command = verdict.decision == Decision::Command;
    verdict.decision = Decision::Failed;
    verdict.step(if command { "command" } else { "model" }, StepOutcome::Failed, error.to_string());
    engine.events.publish(Event::TurnFailed {
        agent: engine.view.identity.id(),
        room,
        turn: context.turn,
        reason: error.to_string(),
    });
    if !command {
        engine.state.failures.failed(error);
    }
    let ours = command || matches!(error.code(), Some("GAL-TURN-PANIC" | "GAL-TURN-TIMEOUT"));
    let configured = engine.profile.model_notice.as_deref();
    let outcome = notice(
        &engine.state.notices,
        engine.clock.now(),
        context,
        &mut verdict,
        if ours { Some(BROKEN) } else { Notices::of_models(configured, error) },
    );
    (outcome, verdict, State::default())
}

/// A script's words carry a label wherever people see them.
fn label(context: &TurnContext, outcome: &mut Outcome) {
    for reply in &mut outcome.replies {
        reply.extra.insert("label".into(), "offline script".into());
        if context.route.info.capabilities.public {
            reply.text.push_str("\n\n*Offline script, not AI*");
        }
    }
}

fn note_left_out(state: &State, verdict: &mut Verdict) {
    for (name, reason) in &state.left_out {
        verdict.step("provider", StepOutcome::Note, format!("{name} was left out: {reason}"));
    }
    for (name, fragment) in &state.fragments {
        fragment.notes.iter().for_each(|note| {
            verdict.step("provider", StepOutcome::Note, format!("{name}: {note}"))
        });
    }
}

fn note_plan(parsed: &Parsed, verdict: &mut Verdict) {
    let format = match parsed.format {
        PlanFormat::ToolCalls => "tool calls",
        PlanFormat::Json => "JSON",
        PlanFormat::Xml => "XML",
        PlanFormat::Plain => "plain text",
    };
    let mended = if parsed.repairs.is_empty() {
        String::new()
    } else {
        format!(", mended: {}", parsed.repairs.join(", "))
    };
    verdict.step("model", StepOutcome::Note, format!("answered as {format}{mended}"));
}
