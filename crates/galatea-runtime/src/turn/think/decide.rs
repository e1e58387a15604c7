//! Takes a prompt through the model to a typed Plan. A broken answer is repaired, then asked for
//! again; a model's failure is returned.

use galatea_core::{
    Error, ErrorKind, ModelInfo, Result, StepOutcome, TextModel, Timestamp, Turn, Verdict,
    kill_point,
    model::{Drafts, Finish, TextAnswer, TextRequest, Tier, WITHHELD_CODE},
};
use std::sync::Arc;

use super::{again, draft};
use crate::{
    plan::{self, AnswerForm, Parsed, RespondDecision, Talk},
    turn::{
        prompt::{
            self, Prompt,
            fit::{self, Draft, Fitted},
            talk,
        },
        state::window::Windows,
        steps::{Said, Steps},
    },
};

/// Times a prompt that is too long is halved within one question: from 250,000 tokens to 4,000.
const HALVINGS: u32 = 6;
/// Times a model is asked before an unusable answer is given up (elizaOS asks three times).
const ASKS: usize = 3;

/// Use of a plan that asks for providers and nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Providers {
    /// They can be asked, and the model once more.
    MayBeAsked,
    /// They were asked; the plan has to do something now.
    Given,
}

/// Bounds of a question to a model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// It is over then.
    pub(crate) until: Timestamp,
    /// Longest answer, in tokens; none leaves it to the models.
    pub(crate) length: Option<u32>,
    /// People may see the answer while it is written.
    pub(crate) drafts: bool,
}

/// A plan, and the answer that it was read from.
pub(crate) struct Decided {
    pub(crate) parsed: Parsed,
    pub(crate) said: Said,
}

/// Asks for a plan within bounds. `steps` are what tools of this turn have done so far.
pub(crate) async fn decide(
    turn: &Turn<'_>,
    windows: &Windows,
    steps: &Steps,
    providers: Providers,
    bounds: Bounds,
    verdict: &mut Verdict,
) -> Result<Decided> {
    let model = turn.models.text(Tier::TextLarge);
    let prompt = Prompt::of(turn, model.info());
    if !steps.is_empty() && !prompt.tells_results() {
        return Err(Error::new(ErrorKind::Unsupported, "a script reads no results of actions"));
    }
    let talk = talk::of(turn);
    let mut last: Option<Parsed> = None;
    for ask in 0..ASKS {
        let asked = || {
            let mut draft = prompt.draft(turn, model.info(), steps);
            if ask > 0 {
                again::in_words(&mut draft);
            }
            draft
        };
        let drafts = if bounds.drafts {
            draft::drafts(turn, prompt.form(model.info()))
        } else {
            Drafts::default()
        };
        let answer = ask_within(turn, windows, model, (asked, drafts), bounds, verdict).await?;
        if is_withheld(&answer) {
            return Err(withheld());
        }
        let mut parsed = read(&answer, &prompt, turn, &talk);
        // It is told once which tools there are.
        let misses = steps.is_empty()
            && !answer.tool_calls.is_empty()
            && !parsed.unknown.is_empty()
            && !turn.catalog.actions.is_empty();
        let acts = !steps.is_last() && parsed.plan.acts();
        let says = steps.is_empty() || acts || !parsed.plan.text.is_empty();
        if (parsed.usable || misses)
            && (providers == Providers::MayBeAsked || misses || parsed.plan.does_something())
            && (says || !parsed.calls_in_text())
        {
            cut_short(&answer, &mut parsed);
            note_finish(&answer, verdict);
            let TextAnswer { text, tool_calls: calls, opaque, .. } = answer;
            return Ok(Decided { parsed, said: Said { text, calls, opaque } });
        }
        if answer.finish == Finish::Deadline {
            return Err(too_late());
        }
        tracing::info!(turn = %turn.id, ask, "the model's answer was unusable; asking again");
        let is_call = parsed.calls_in_text();
        last = Some(parsed);
        // A report of results has words of ours in its place.
        if !steps.is_empty() && (ask > 0 || !is_call) {
            break;
        }
    }
    let last = last.unwrap_or_default();
    if steps.is_empty() && (last.calls_in_text() || !last.unknown.is_empty()) {
        verdict.step(
            "model",
            StepOutcome::Note,
            "it called only tools that it was not offered; a sentence of the program stands for its answer",
        );
        return Ok(Decided { parsed: Parsed::words(again::CANNOT), said: Said::default() });
    }
    Err(Error::new(ErrorKind::Unexpected, "the model gave no usable answer")
        .with_code("GAL-MODEL-UNUSABLE")
        .with("asks", ASKS)
        .with("repairs", last.repairs.join(", ")))
}

/// Reads an answer, and frees its words of all that is none. A script writes only words.
fn read(answer: &TextAnswer, prompt: &Prompt, turn: &Turn<'_>, talk: &Talk) -> Parsed {
    let info = turn.models.text(Tier::TextLarge).info();
    let form = match prompt.form(info) {
        AnswerForm::Words if answer.text_actions => AnswerForm::JsonOrWords,
        form => form,
    };
    let actions = &turn.catalog.actions;
    let mut parsed = plan::parse(answer, actions, form);
    plan::take_name_off(
        &mut parsed,
        [Some(turn.agent.character.name.as_str()), turn.handle].into_iter().flatten(),
    );
    if !info.scripted {
        plan::tidy(&mut parsed, talk, actions);
    }
    parsed
}

/// Cuts an answer that was not finished at its last sentence.
fn cut_short(answer: &TextAnswer, parsed: &mut Parsed) {
    if !matches!(answer.finish, Finish::Deadline | Finish::Length) {
        return;
    }
    if let Some(whole) = plan::whole_sentences(&parsed.plan.text) {
        parsed.say(whole);
    }
}

fn too_late() -> Error {
    Error::new(ErrorKind::Timeout, "the model did not come to an answer within the time allowed")
        .with_code("GAL-MODEL-TIMEOUT")
}

/// True if a filter took the whole answer away. Asked the same again, it would do the same.
fn is_withheld(answer: &TextAnswer) -> bool {
    answer.finish == Finish::Filtered
        && answer.text.trim().is_empty()
        && answer.tool_calls.is_empty()
}

fn withheld() -> Error {
    Error::new(ErrorKind::Unexpected, "the model's filter withheld the answer")
        .with_code(WITHHELD_CODE)
        .with_fix("say it in other words, or take another model")
}

/// Lets `explain` show why an answer was cut off.
fn note_finish(answer: &TextAnswer, verdict: &mut Verdict) {
    let why = match answer.finish {
        Finish::Length => "the answer was cut off at the model's limit",
        Finish::Deadline => {
            "the model had not finished in time; what it had written until then was sent"
        }
        Finish::Filtered => "the answer was withheld in part by the model's filter",
        Finish::Stop | Finish::Tools => return,
    };
    verdict.step("model", StepOutcome::Note, why);
}

/// Text that all prompts of a room have in common, for the provider's cache: two rooms of an agent
/// share their beginning too, but then differ. No id of ours and no platform's leaves the program.
fn conversation(turn: &Turn<'_>) -> String {
    let own = turn.agent.identity.swizzle(&format!("prompt of {}", turn.room.id));
    own.simple().to_string()
}

/// Asks a small model whether to join in. STOP stays silent.
pub(crate) async fn should_respond(
    turn: &Turn<'_>,
    windows: &Windows,
    until: Timestamp,
    verdict: &mut Verdict,
) -> Result<RespondDecision> {
    let (model, draft) =
        (turn.models.text(Tier::TextSmall), || prompt::should_respond(turn, turn.state));
    let bounds = Bounds { until, length: None, drafts: false };
    let asked = (draft, Drafts::default());
    let answer = ask_within(turn, windows, model, asked, bounds, verdict).await?;
    Ok(plan::parse_should_respond(&answer.text).unwrap_or(RespondDecision::Ignore))
}

/// Asks with as much of the draft as the model takes; one that finds it too long is asked again
/// with half of it.
async fn ask_within(
    turn: &Turn<'_>,
    windows: &Windows,
    model: &Arc<dyn TextModel>,
    (draft, drafts): (impl Fn() -> Draft, Drafts),
    bounds: Bounds,
    verdict: &mut Verdict,
) -> Result<TextAnswer> {
    let info = model.info();
    let mut halved = 0;
    loop {
        let budget = windows.budget(turn, info).await;
        let Fitted { mut request, estimate, left_out, asks } = fit::fit(draft(), budget);
        if !asks {
            // The next question may be shorter, or the server another by then.
            windows.forget(turn, info).await;
            return Err(does_not_fit(info, budget.tokens));
        }
        request.deadline = Some(bounds.until);
        request.length = bounds.length;
        request.partial = true;
        request.drafts = drafts.clone();
        request.conversation = Some(conversation(turn));
        match use_model(turn, model, &request, verdict).await {
            Ok(answer) => {
                if answer.by.as_ref().is_some_and(|by| by.too_long) {
                    windows.refused(turn, info, estimate, None).await;
                }
                windows.answered(info, estimate, &answer);
                left_out
                    .into_iter()
                    .for_each(|note| verdict.step("context", StepOutcome::Note, note));
                return Ok(answer);
            }
            Err(error)
                if error.kind() == ErrorKind::TooLong
                    && halved < HALVINGS
                    && turn.clock.now() < bounds.until =>
            {
                halved += 1;
                tracing::info!(turn = %turn.id, model = info.full_name(), estimate, "the model found the prompt too long; asking with half of it");
                verdict.step(
                    "context",
                    StepOutcome::Note,
                    format!(
                        "{} found about {} tokens too long",
                        info.full_name(),
                        budget.scale.apply(estimate)
                    ),
                );
                if let Some(why) = windows.refused(turn, info, estimate, error.overlong()).await {
                    return Err(not_too_long(info, &error, why));
                }
            }
            Err(error) => return Err(error),
        }
    }
}

/// The question alone is more than the model takes.
fn does_not_fit(info: &ModelInfo, tokens: Option<u64>) -> Error {
    Error::new(ErrorKind::TooLong, "the question does not fit into what the model takes")
        .with_code("GAL-MODEL-413")
        .with("model", info.full_name())
        .with("tokens", tokens.unwrap_or_default())
        .with_fix("take a model with a longer context, or correct MODEL_CONTEXT_WINDOW")
}

/// A refusal for length that cannot be true.
fn not_too_long(info: &ModelInfo, refusal: &Error, why: &str) -> Error {
    let cause = refusal.context().iter().find(|(key, _)| *key == "cause");
    let cause = cause.map_or_else(String::new, |(_, cause)| cause.clone());
    Error::invalid("the provider refused the prompt as too long, which it is not")
        .with_code("GAL-MODEL-400")
        .with("model", info.full_name())
        .with("cause", cause)
        .with("because", why)
        .with_fix(
            "look at the provider's words, or set MODEL_CONTEXT_WINDOW to what the model takes",
        )
}

async fn use_model(
    turn: &Turn<'_>,
    model: &Arc<dyn TextModel>,
    request: &TextRequest,
    verdict: &mut Verdict,
) -> Result<TextAnswer> {
    let started = turn.clock.now();
    kill_point("model.before");
    let answer = model.generate(request, &|_| {}).await?;
    kill_point("model.after");
    if let Some(by) = answer.by.as_ref().filter(|by| !by.passed.is_empty()) {
        by.passed.iter().for_each(|(link, why)| {
            verdict.step("model", StepOutcome::Note, format!("{link} did not answer: {why}"))
        });
        verdict.step("model", StepOutcome::Note, format!("{} answered instead", by.link));
    }
    let info = model.info();
    let (provider, name) =
        answer.by.as_ref().map_or((&info.provider, &info.model), |by| (&by.provider, &by.model));
    let took = turn.clock.now().since(started);
    turn.events.model_used(turn.id, provider, name, answer.usage, took);
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(finish: Finish, text: &str) -> TextAnswer {
        TextAnswer { text: text.to_owned(), finish, ..TextAnswer::default() }
    }

    #[test]
    fn only_an_answer_of_which_nothing_is_left_was_withheld() {
        assert!(is_withheld(&ended(Finish::Filtered, " ")));
        assert!(!is_withheld(&ended(Finish::Filtered, "No.")));
        assert!(!is_withheld(&ended(Finish::Stop, "")));
    }

    #[test]
    fn why_an_answer_ends_early_is_reported() {
        for (finish, steps) in [
            (Finish::Length, 1),
            (Finish::Deadline, 1),
            (Finish::Filtered, 1),
            (Finish::Stop, 0),
            (Finish::Tools, 0),
        ] {
            let mut verdict = Verdict::default();
            note_finish(&ended(finish, "half"), &mut verdict);
            assert_eq!(verdict.steps.len(), steps, "{finish:?}");
        }
    }
}
