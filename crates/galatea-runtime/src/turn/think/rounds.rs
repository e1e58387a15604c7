//! Rounds of tools: what the model calls is done, it reads what came of it, and goes on or speaks.

use galatea_core::{ActionResult, Content, Decision, Result, StepOutcome, Turn, Verdict};

use super::{
    again, confirm,
    decide::{self, Bounds, Decided, Providers},
    files, report,
};
use crate::{
    plan::{Parsed, PlannedAction},
    turn::{
        act::{self, only_reachable},
        commit::outcome::Outcome,
        engine::Engine,
        prompt,
        steps::{Said, Steps},
    },
};

/// Results of a turn's tools, and what they leave to be said and done.
#[derive(Default)]
struct Done {
    results: Vec<ActionResult>,
    /// Names of all that the model did.
    actions: Vec<String>,
    /// Calls of the round before.
    before: Vec<PlannedAction>,
    /// True if the model called a tool that there is.
    found: bool,
    /// Words beside the calls of earlier rounds: said if nothing else is.
    aside: Option<String>,
    thought: Option<String>,
}

/// Runs the plan, and what the model does after it has read the results, for at most `TOOL_STEPS`
/// rounds. A plan whose words hold already costs no further question.
pub(crate) async fn carry_out(
    engine: &Engine,
    turn: &Turn<'_>,
    on: act::ActionBounds<'_>,
    decided: Decided,
    bounds: Bounds,
    verdict: &mut Verdict,
) -> Result<Outcome> {
    let windows = &engine.thinking.windows;
    let most = if prompt::reads_steps(turn) { engine.limits.tool_steps } else { 1 };
    let (mut done, mut steps, mut decided) = (Done::default(), Steps::default(), decided);
    loop {
        let Decided { parsed: Parsed { plan, unknown, .. }, said } = decided;
        let (words, doing): (Vec<_>, Vec<_>) =
            plan.actions.iter().cloned().partition(|a| {
                a.name == prompt::REPLY || prompt::SILENT.contains(&a.name.as_str())
            });
        let silent = words.iter().any(|a| prompt::SILENT.contains(&a.name.as_str()))
            && !words.iter().any(|a| a.name == prompt::REPLY);
        done.actions.extend(plan.actions.iter().map(|a| a.name.clone()));
        done.thought = plan.thought.or(done.thought);
        // A model that calls the same again has read what came of it.
        let again = !doing.is_empty() && doing.iter().all(|call| done.before.contains(call));
        let is_mute = plan.text.trim().is_empty() && done.aside.is_none();
        if again && !steps.is_last() && is_mute {
            steps.end();
            let next =
                decide::decide(turn, windows, &steps, Providers::MayBeAsked, bounds, verdict);
            if let Ok(next) = next.await {
                decided = next;
                continue;
            }
        }
        if steps.is_last() || again {
            return Ok(outcome(turn, done, Ending::Said(plan.text), verdict));
        }
        let act::Acted { mut results, requests, rulings, errors } =
            act::process_actions(turn, engine, &doing, &done.results, &on).await;
        confirm::note_rulings(&rulings, verdict);
        confirm::note_errors(&errors, verdict);
        results.iter_mut().for_each(|result| only_reachable(&engine.outbox, result));
        done.found |= !results.is_empty();
        results.extend(unknown.iter().map(|name| report::unknown(name, &turn.catalog.actions)));
        let reads = report::has_to_be_read(&results, &plan.text) && !silent;
        let round = done.results.len();
        done.results.append(&mut results);
        // The question for consent is in plain words of ours: the model may say that it is done.
        if !requests.is_empty() {
            let mut outcome = outcome(turn, done, Ending::Asked, verdict);
            confirm::ask(engine, turn, requests, &mut outcome, verdict).await?;
            return Ok(outcome);
        }
        if !reads {
            let ending = if silent { Ending::Silent } else { Ending::Said(plan.text) };
            return Ok(outcome(turn, done, ending, verdict));
        }
        // Another process runs the same rounds, from its journal.
        if !on.lease.is_held() {
            return Ok(outcome(turn, done, Ending::Failed(plan.text), verdict));
        }
        let last = steps.rounds() + 1 >= most;
        let said = Said { text: plan.text.clone(), ..said };
        steps.add(&said, &doing, &done.results[round..], last);
        match decide::decide(turn, windows, &steps, Providers::MayBeAsked, bounds, verdict).await {
            Ok(next) => {
                let aside = Some(plan.text).filter(|text| !text.trim().is_empty());
                done.aside = aside.or(done.aside);
                done.before = doing;
                verdict.step(
                    "tools",
                    StepOutcome::Note,
                    format!("round {}: {}", steps.rounds(), report::names(&done.results[round..])),
                );
                decided = next;
            }
            Err(error) => {
                tracing::warn!(turn = %turn.id, error = %error.report(), "failed to put the results of actions into words; a plain sentence is sent instead");
                verdict.step(
                    "tools",
                    StepOutcome::Note,
                    format!("the model was not asked about round {}: {error}", steps.rounds()),
                );
                return Ok(outcome(turn, done, Ending::Failed(plan.text), verdict));
            }
        }
    }
}

/// How the rounds of a turn ended.
enum Ending {
    /// The model said this, after it had read what had to be read.
    Said(String),
    /// The model could not be asked about the last results; it had said this before them.
    Failed(String),
    /// The model wants to say nothing.
    Silent,
    /// A person is asked first.
    Asked,
}

/// Puts the outcome together: what is said, and the results of all rounds in order.
fn outcome(turn: &Turn<'_>, done: Done, ending: Ending, verdict: &mut Verdict) -> Outcome {
    let Done { results, actions, aside, thought, found, .. } = done;
    let failed = results.iter().any(|result| !result.success);
    let others_words = act::authorship(&results).max(galatea_core::standing::authorship(turn))
        == galatea_core::rights::Authorship::Others;
    let mut outcome = Outcome { thought, remember: true, others_words, ..Outcome::default() };
    let asked = matches!(ending, Ending::Asked);
    let silent = matches!(ending, Ending::Silent);
    let words = match ending {
        // Words beside calls that failed may claim what did not happen.
        Ending::Said(text) if text.trim().is_empty() && failed => {
            aside.map(|_| report::failure(&results))
        }
        Ending::Said(text) if text.trim().is_empty() => aside,
        Ending::Said(text) => Some(text),
        // Written before the actions ran: it may claim what did not happen.
        Ending::Failed(text) if text.trim().is_empty() => None,
        Ending::Failed(_) if failed => Some(report::failure(&results)),
        Ending::Failed(_) | Ending::Silent | Ending::Asked => None,
    };
    if let Some(text) = words.filter(|text| !text.trim().is_empty()) {
        outcome.replies.push(Content { actions, ..Content::text(text) });
    }
    for result in &results {
        verdict.step(
            "action",
            if result.success { StepOutcome::Note } else { StepOutcome::Failed },
            format!("{}: {}", result.action, report::short(&result.text)),
        );
        outcome.replies.extend(result.drafts.iter().filter(|d| !d.is_empty()).cloned());
        outcome.elsewhere.extend(result.elsewhere.iter().cloned());
        outcome.effects.extend(result.effects.iter().cloned());
    }
    if outcome.replies.is_empty() && !results.is_empty() && !silent && !asked {
        // The action is done: say it plainly rather than fail the turn or stay silent.
        let words = if found {
            let texts: Vec<&str> = results.iter().map(|r| report::short(&r.text)).collect();
            texts.join("\n")
        } else {
            again::CANNOT.to_owned()
        };
        outcome.replies.push(Content::text(words));
        outcome.replies.retain(|reply| !reply.is_empty());
    }
    files::add_files(turn, &results, &mut outcome, verdict);
    outcome.results = results;
    if outcome.replies.is_empty() && !asked {
        verdict.decision = Decision::Skip;
        verdict.step("model", StepOutcome::Skip, "the model chose to say nothing");
    }
    outcome
}
