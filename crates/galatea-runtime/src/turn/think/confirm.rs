//! Lets a person answer the question whether an action is to be done. No model is asked.

use galatea_core::{
    Content, Decision, Result, StepOutcome, Turn, Verdict,
    rights::{Authorship, Ruling},
    store::RequestedChange,
};

use super::{files, report};
use crate::{
    commands,
    ownership::LeaseGuard,
    trace::Recorder,
    turn::{
        act::{
            self, only_reachable,
            pending::{Pending, Said},
        },
        commit::outcome::Outcome,
        engine::Engine,
    },
};

/// The answer in this message: a pressed button, or the one word the question asks for.
pub(crate) use act::pending::answer;

/// What a confirmed action stands on.
pub(crate) struct Ground<'a> {
    pub(crate) lease: &'a LeaseGuard,
    pub(crate) trace: &'a Recorder,
}

/// Carries out, drops, or says why not.
pub(crate) async fn confirm(
    engine: &Engine,
    turn: &Turn<'_>,
    on: &Ground<'_>,
    answer: &act::pending::Answer,
    verdict: &mut Verdict,
) -> Result<Outcome> {
    let now = engine.clock.now();
    let Some(pending) =
        Pending::find(engine.store.as_ref(), engine.view.identity.id(), turn.room.id, &answer.code)
            .await?
    else {
        if matches!(answer.said, Said::Once | Said::No)
            && let Some(done) = commands::link::answer(
                &*engine.store,
                &engine.directory,
                turn,
                &answer.code,
                matches!(answer.said, Said::Once),
            )
            .await?
        {
            verdict.step("confirmation", StepOutcome::Note, "it answers whether to link people");
            return Ok(done.into());
        }
        return Ok(ignore(
            verdict,
            "nothing of that code waits here: it was answered, dropped, or replaced by a later request",
        ));
    };
    // By the platform's own id of who pressed or wrote: a name proves nothing.
    if pending.owner != turn.message.entity_id {
        return Ok(ignore(verdict, "only the person who asked for it may confirm it"));
    }
    let drop = RequestedChange::DeleteTask { task: pending.task };
    let outcome = |text: &str, effects: Vec<RequestedChange>| Outcome {
        replies: vec![Content::text(text)],
        effects,
        ..Outcome::default()
    };
    if now >= pending.until {
        verdict.step("confirmation", StepOutcome::Note, "it came too late: nothing was done");
        return Ok(outcome(
            "That was too long ago, so I did nothing. Please ask me again.",
            vec![drop],
        ));
    }
    if answer.said == Said::No {
        verdict.step("confirmation", StepOutcome::Note, "it was dropped");
        return Ok(outcome("Dropped: I did nothing.", vec![drop]));
    }
    let until = now.plus(engine.limits.turn);
    for consent in pending.consents(turn, answer.said) {
        engine.store.save_grant(&consent).await?;
        engine.state.grants.forget();
        verdict.step("rights", StepOutcome::Note, format!("from now on {consent}"));
    }
    let bounds = act::ActionBounds { until, lease: on.lease, trace: on.trace };
    let mut done = carry_out(engine, turn, pending, bounds, verdict).await;
    done.effects.push(drop);
    Ok(done)
}

async fn carry_out(
    engine: &Engine,
    turn: &Turn<'_>,
    pending: Pending,
    bounds: act::ActionBounds<'_>,
    verdict: &mut Verdict,
) -> Outcome {
    let acted = act::process_confirmed(turn, engine, pending.requests, &bounds).await;
    let others_words = act::authorship(&acted.results) == Authorship::Others;
    let mut outcome = Outcome { remember: true, others_words, ..Outcome::default() };
    note_rulings(&acted.rulings, verdict);
    note_errors(&acted.errors, verdict);
    let mut lines = Vec::new();
    for mut result in acted.results {
        only_reachable(&engine.outbox, &mut result);
        verdict.step(
            "confirmation",
            if result.success { StepOutcome::Note } else { StepOutcome::Failed },
            format!("{}: {}", result.action, result.text),
        );
        lines.push(if result.success {
            format!("Done: {}", report::short(&result.text))
        } else {
            format!("Not done: {}", report::short(&result.text))
        });
        outcome.replies.append(&mut result.drafts.clone());
        outcome.elsewhere.extend(result.elsewhere.iter().cloned());
        outcome.effects.extend(result.effects.iter().cloned());
        outcome.results.push(result);
    }
    outcome.replies.push(Content::text(lines.join("\n")));
    let results = std::mem::take(&mut outcome.results);
    files::add_files(turn, &results, &mut outcome, verdict);
    outcome.results = results;
    outcome
}

/// Asks for what waits, in place of what the model said of it: it may call done what is not.
pub(crate) async fn ask(
    engine: &Engine,
    turn: &Turn<'_>,
    requests: Vec<act::pending::Request>,
    outcome: &mut Outcome,
    verdict: &mut Verdict,
) -> Result<()> {
    let (pending, question, effects) = Pending::ask(
        &*engine.store,
        &engine.directory,
        turn,
        requests,
        engine.limits.confirmation_life,
    )
    .await?;
    verdict.step(
        "confirmation",
        StepOutcome::Note,
        format!(
            "it waits for ok-{} of the person who asked, for {} s",
            pending.code,
            engine.limits.confirmation_life.as_secs()
        ),
    );
    outcome.replies.push(question);
    outcome.effects.extend(effects);
    Ok(())
}

/// Notes the rule that kept an action from being done.
pub(crate) fn note_rulings(rulings: &[(Ruling, String)], verdict: &mut Verdict) {
    for (ruling, why) in rulings {
        let outcome =
            if *ruling == Ruling::Refuse { StepOutcome::Failed } else { StepOutcome::Note };
        verdict.step("rights", outcome, format!("{ruling}: {why}"));
    }
}

/// The errors that actions ended with.
pub(crate) fn note_errors(errors: &[String], verdict: &mut Verdict) {
    for error in errors {
        verdict.step("action", StepOutcome::Failed, error.clone());
    }
}

fn ignore(verdict: &mut Verdict, why: &'static str) -> Outcome {
    verdict.decision = Decision::Skip;
    verdict.step("confirmation", StepOutcome::Skip, why);
    Outcome::default()
}
