//! Think: compose, decide, act → an outcome. Whatever fails ends in an outcome too; nothing here is written.

use futures::{FutureExt, future::join_all};
use galatea_core::{ActionResult, Content, Decision, Error, Result, State, Timestamp, Turn, Verdict, turn::Catalog};
use std::{panic::AssertUnwindSafe, time::Duration};

use super::{
    Seat, act, commands,
    commit::Outcome,
    compose,
    decide::{self, Providers},
    prompt,
};
use crate::{
    agent::Agent,
    leases::Tenure,
    plan::{Parsed, PlanFormat, RespondDecision},
};

/// What came of thinking: what to commit, why, and the context it was made in.
pub(super) type Thought = (Outcome, Verdict, State);

/// Answers within the turn's deadline.
pub(super) async fn think(agent: &Agent, seat: &Seat) -> Thought {
    let mut verdict = seat.verdict.clone();
    if verdict.decision == Decision::Command {
        return Box::pin(command(agent, seat, verdict)).await;
    }
    let catalog = Box::pin(catalog(agent, seat)).await;
    // A little sooner than the turn, so that whoever asks the models hears which of them did not answer, and why.
    let deadline = agent.clock.now().plus(agent.limits.turn - agent.limits.turn / LAST_WORDS);
    let work = AssertUnwindSafe(Box::pin(answer(agent, seat, &catalog, deadline, &mut verdict))).catch_unwind();
    let failure = match tokio::time::timeout(agent.limits.turn, work).await {
        Ok(Ok(Ok((outcome, state)))) => return (outcome, verdict, state),
        Ok(Ok(Err(error))) => error,
        Ok(Err(_)) => Error::unexpected("the turn crashed").with_code("GAL-TURN-PANIC"),
        Err(_) => {
            Error::new(galatea_core::ErrorKind::Timeout, "the turn took too long").with_code("GAL-TURN-TIMEOUT").with("seconds", agent.limits.turn.as_secs())
        }
    };
    failed(agent, seat, verdict, &failure)
}

async fn answer(agent: &Agent, seat: &Seat, catalog: &Catalog, until: Timestamp, verdict: &mut Verdict) -> Result<(Outcome, State)> {
    let empty = State::default();
    let deadline = agent.limits.provider;
    let bare = seat.turn(agent, &empty, catalog);
    for middleware in &agent.registry.middleware {
        if let Err(error) = middleware.before(&bare, verdict).await {
            verdict.decision = Decision::Skip;
            verdict.step(middleware.name(), "skip", error.to_string());
        }
        if verdict.decision != Decision::Answer && !seat.ask {
            return Ok((Outcome::default(), empty));
        }
    }
    let mut state = compose::compose_state(&bare, agent.registry.standing(), deadline).await;
    note_left_out(&state, verdict);

    if seat.ask && !joins_in(agent, &seat.turn(agent, &state, catalog), until, verdict).await? {
        return Ok((Outcome::default(), state));
    }

    let mut parsed = decide::decide(&seat.turn(agent, &state, catalog), &agent.models, &[], Providers::MayBeAsked, until, verdict).await?;
    if !parsed.plan.providers.is_empty() {
        let asked = parsed.plan.providers.clone();
        let more =
            agent.registry.providers.iter().filter(|p| asked.iter().any(|name| name.eq_ignore_ascii_case(p.name())) && state.fragment(p.name()).is_none());
        let extra = compose::compose_state(&seat.turn(agent, &state, catalog), more, deadline).await;
        if !extra.fragments.is_empty() || !parsed.plan.does_something() {
            verdict.step("providers", "note", format!("the model asked for {}", asked.join(", ")));
            state.fragments.extend(extra.fragments);
            parsed = decide::decide(&seat.turn(agent, &state, catalog), &agent.models, &[], Providers::Given, until, verdict).await?;
        }
    }
    note_plan(&parsed, verdict);
    let turn = seat.turn(agent, &state, catalog);
    let outcome = Box::pin(carry_out(agent, &turn, &seat.message.tenure, parsed, until, verdict)).await?;
    Ok((labelled(agent, seat, bounded(outcome, verdict)), state))
}

/// Longest answer, in characters: what a model writes by itself is shorter (16,000 tokens), and one that repeats itself must not fill a Room.
const LONGEST: usize = 50_000;

fn bounded(mut outcome: Outcome, verdict: &mut Verdict) -> Outcome {
    for reply in &mut outcome.replies {
        if let Some((end, _)) = reply.text.char_indices().nth(LONGEST) {
            reply.text.truncate(end);
            reply.text.push_str(" […]");
            verdict.step("model", "note", format!("the answer was cut after {LONGEST} characters"));
        }
    }
    outcome
}

/// Runs the plan in order; an answer that came only as results is put into words by a second call.
async fn carry_out(agent: &Agent, turn: &Turn<'_>, tenure: &Tenure, parsed: Parsed, until: Timestamp, verdict: &mut Verdict) -> Result<Outcome> {
    let plan = parsed.plan;
    let (words, doing): (Vec<_>, Vec<_>) = plan.actions.iter().cloned().partition(|a| a.name == prompt::REPLY || prompt::SILENT.contains(&a.name.as_str()));
    let silent = words.iter().any(|a| prompt::SILENT.contains(&a.name.as_str())) && !words.iter().any(|a| a.name == prompt::REPLY);
    let mut results = act::process_actions(turn, &agent.registry, &doing, &act::Term { until, tenure }).await;
    results.iter_mut().for_each(|result| only_what_can_be_reached(agent, result));
    let mut outcome = Outcome { thought: plan.thought, remember: true, ..Outcome::default() };
    if !plan.text.trim().is_empty() && !silent {
        let mut content = Content::text(plan.text);
        content.actions = plan.actions.iter().map(|a| a.name.clone()).collect();
        outcome.replies.push(content);
    }
    for result in &results {
        verdict.step("action", if result.success { "note" } else { "failed" }, format!("{}: {}", result.action, result.text));
        outcome.replies.extend(result.drafts.iter().filter(|d| !d.is_empty()).cloned());
        outcome.elsewhere.extend(result.elsewhere.iter().cloned());
        outcome.effects.extend(result.effects.iter().cloned());
    }
    if outcome.replies.is_empty() && !results.is_empty() && !silent {
        let told: Vec<String> = results.iter().map(tell).collect();
        let words = match decide::decide(turn, &agent.models, &told, Providers::MayBeAsked, until, verdict).await {
            Ok(parsed) => parsed.plan.text,
            Err(error) => {
                tracing::warn!(turn = %turn.id, error = %error.report(), "the result of an action could not be put into words");
                String::new()
            }
        };
        // What was done is done: say it plainly rather than fail the turn or stay silent.
        let words = if words.trim().is_empty() { results.iter().map(|r| r.text.as_str()).collect::<Vec<_>>().join("\n") } else { words };
        outcome.replies.push(Content::text(words));
        outcome.replies.retain(|reply| !reply.is_empty());
    }
    outcome.results = results;
    if outcome.replies.is_empty() {
        verdict.decision = Decision::Skip;
        verdict.step("model", "skip", "the model chose to say nothing");
    }
    Ok(outcome)
}

/// An action that speaks where nobody is connected has failed: neither the model nor a person is told that it worked.
fn only_what_can_be_reached(agent: &Agent, result: &mut ActionResult) {
    let silent = result.elsewhere.iter().find(|(there, _)| agent.route(&there.source, &there.account).is_none());
    if let Some((there, _)) = silent {
        let text = format!("nothing was said: {} is not connected", there.source);
        *result = ActionResult { action: std::mem::take(&mut result.action), ..ActionResult::failed(text) };
    }
}

fn tell(result: &ActionResult) -> String {
    format!("- {} {}: {}", result.action, if result.success { "worked" } else { "failed" }, result.text)
}

async fn joins_in(agent: &Agent, turn: &Turn<'_>, until: Timestamp, verdict: &mut Verdict) -> Result<bool> {
    let (decision, said) = match decide::should_respond(turn, &agent.models, until, verdict).await? {
        RespondDecision::Respond => (Decision::Answer, "the model wants to join in"),
        RespondDecision::Ignore => (Decision::Skip, "the model sees no reason to join in"),
        RespondDecision::Stop => (Decision::Skip, "the model was asked to be quiet"),
    };
    verdict.decision = decision;
    verdict.step("ambient", if decision == Decision::Answer { "answer" } else { "skip" }, said);
    Ok(decision == Decision::Answer)
}

async fn catalog(agent: &Agent, seat: &Seat) -> Catalog {
    let (state, none) = (State::default(), Catalog::default());
    let turn = seat.turn(agent, &state, &none);
    let mut catalog = Catalog {
        providers: agent
            .registry
            .providers
            .iter()
            .filter(|p| p.when() == galatea_core::ProviderUse::OnRequest)
            .map(|p| (p.name().to_owned(), p.description().to_owned()))
            .collect(),
        evaluators: agent.registry.evaluators.iter().map(|e| (e.name().to_owned(), e.description().to_owned())).collect(),
        ..Catalog::default()
    };
    // A script can do nothing but talk.
    if agent.models.large.info().scripted {
        return catalog;
    }
    let offered = join_all(agent.registry.actions.iter().map(async |(docs, action)| {
        let work = AssertUnwindSafe(action.validate(&turn)).catch_unwind();
        match tokio::time::timeout(agent.limits.provider, work).await {
            Ok(Ok(Ok(offered))) => offered.then_some(docs),
            Ok(Ok(Err(error))) => {
                tracing::warn!(turn = %seat.turn, action = docs.name, error = %error.report(), "an action could not be validated and is not offered");
                None
            }
            Ok(Err(_)) | Err(_) => {
                tracing::warn!(turn = %seat.turn, action = docs.name, "an action crashed or took too long while being validated and is not offered");
                None
            }
        }
    }))
    .await;
    catalog.actions = offered.into_iter().flatten().cloned().collect();
    catalog
}

async fn command(agent: &Agent, seat: &Seat, verdict: Verdict) -> Thought {
    let (state, catalog) = (State::default(), Catalog::default());
    let done = commands::run(&seat.turn(agent, &state, &catalog)).await;
    match done {
        Ok(done) => (Outcome { replies: vec![done.reply], effects: done.effects, ..Outcome::default() }, verdict, state),
        Err(error) => failed(agent, seat, verdict, &error),
    }
}

/// A room is told once in so long.
const NOTICES: Duration = Duration::from_secs(600);
/// Of a turn's time, kept for telling that no model answered.
const LAST_WORDS: u32 = 20;
/// What a room reads when no answer could be made, and the fault is ours.
pub(super) const BROKEN: &str = "Sorry, something went wrong here, and I could not answer. Please try again in a few minutes.";

/// Says that it failed, to those who addressed the agent; the source stays in the log.
fn failed(agent: &Agent, seat: &Seat, mut verdict: Verdict, error: &Error) -> Thought {
    let room = seat.info.room.id;
    tracing::error!(turn = %seat.turn, room = %room, code = error.code(), error = %error.report(), "a message could not be answered");
    let command = verdict.decision == Decision::Command;
    verdict.decision = Decision::Failed;
    verdict.step(if command { "command" } else { "model" }, "failed", error.to_string());
    agent.events.publish(galatea_core::Event::TurnFailed { agent: agent.view.identity.id(), room, turn: seat.turn, reason: error.to_string() });
    let ours = command || matches!(error.code(), Some("GAL-TURN-PANIC" | "GAL-TURN-TIMEOUT"));
    let outcome = notice(agent, seat, &mut verdict, if ours { Some(BROKEN) } else { agent.speechless.as_deref() });
    (outcome, verdict, State::default())
}

/// A notice, once per room and ten minutes.
pub(super) fn notice(agent: &Agent, seat: &Seat, verdict: &mut Verdict, text: Option<&str>) -> Outcome {
    let (room, now) = (seat.info.room.id, agent.clock.now());
    let mut outcome = Outcome::default();
    let told = agent.notices.get(&room).is_some_and(|last| now.since(last) < NOTICES);
    if let Some(text) = text.filter(|_| !seat.ask && !told) {
        outcome.notice = true;
        let mut notice = Content::text(text);
        // Where nobody asked, such as a scheduled post, a connector leaves it out.
        notice.extra.insert("notice".into(), true.into());
        outcome.replies.push(notice);
        verdict.step("notice", "note", "the room was told");
    }
    outcome
}

/// A script's words carry a label wherever people see them.
fn labelled(agent: &Agent, seat: &Seat, mut outcome: Outcome) -> Outcome {
    if agent.models.large.info().scripted {
        for reply in &mut outcome.replies {
            reply.extra.insert("label".into(), "offline script".into());
            if seat.route.info.capabilities.public {
                reply.text.push_str("\n\n*Offline script, not AI*");
            }
        }
    }
    outcome
}

fn note_left_out(state: &State, verdict: &mut Verdict) {
    for (name, reason) in &state.left_out {
        verdict.step("provider", "note", format!("{name} was left out: {reason}"));
    }
}

fn note_plan(parsed: &Parsed, verdict: &mut Verdict) {
    let format = match parsed.format {
        PlanFormat::ToolCalls => "tool calls",
        PlanFormat::Json => "JSON",
        PlanFormat::Xml => "XML",
        PlanFormat::Plain => "plain text",
    };
    let mended = if parsed.repairs.is_empty() { String::new() } else { format!(", mended: {}", parsed.repairs.join(", ")) };
    verdict.step("model", "note", format!("answered as {format}{mended}"));
}
