//! What the wire formats share: where and how to call, how failures read, how streams are taken
//! apart.

pub mod codes;
mod endpoint;
mod refusal;
mod schema;
mod service;
mod stream;
pub(crate) mod surrogate;
mod turns;

pub(crate) use endpoint::Call;
pub use endpoint::Endpoint;
pub(crate) use refusal::{Hint, Refusal, says};
pub(crate) use schema::object_schema;
pub use service::{Auth, Names, Origins, Times};
pub(crate) use stream::{Gather, Progress, drive, event_frames, line_frames};
pub(crate) use turns::take_turns;

use galatea_core::{
    Error, Result,
    model::{Finish, TextAnswer, TextRequest},
};

/// What a decoder can fail with, before the endpoint turns it into an error for people.
#[derive(Debug)]
pub(crate) enum Fail {
    /// Not the documented shape; what was expected.
    Garbage(&'static str),
    /// The service told of an error in the body of a success.
    Refused(u16, Refusal),
}

/// Checks that there is something to answer.
pub(crate) fn require_messages(request: &TextRequest) -> Result<()> {
    if request.messages.is_empty() {
        Err(Error::invalid("a model was asked without any message"))
    } else {
        Ok(())
    }
}

/// Checks that there is an answer. Withheld answers may be empty.
pub(crate) fn require_answer(
    endpoint: &Endpoint,
    model: &str,
    mut answer: TextAnswer,
) -> Result<TextAnswer> {
    if !answer.tool_calls.is_empty() && answer.finish == Finish::Stop {
        answer.finish = Finish::Tools;
    }
    if answer.text.trim().is_empty()
        && answer.tool_calls.is_empty()
        && answer.finish != Finish::Filtered
    {
        return Err(endpoint.empty(model, answer.finish));
    }
    Ok(answer)
}

/// A call without arguments has an empty object of them; but the last one of an answer that was cut
/// off may have ended before its first.
pub(crate) fn complete_arguments(answer: &mut TextAnswer) {
    let torn = usize::from(matches!(answer.finish, Finish::Length | Finish::Filtered));
    let whole = answer.tool_calls.len().saturating_sub(torn);
    for call in
        answer.tool_calls.iter_mut().take(whole).filter(|call| call.arguments.trim().is_empty())
    {
        call.arguments = "{}".to_owned();
    }
}

/// Services refuse empty texts; a space has a vector like any other text.
pub(crate) fn not_empty(text: &str) -> &str {
    if text.is_empty() { " " } else { text }
}

/// Adds a batch of vectors after checking their number and width.
pub(crate) fn extend_vectors(
    all: &mut Vec<Vec<f32>>,
    batch: Vec<Vec<f32>>,
    expected: usize,
) -> Result<(), Fail> {
    let width = all.first().or(batch.first()).map_or(0, Vec::len);
    if batch.len() != expected || width == 0 || batch.iter().any(|vector| vector.len() != width) {
        return Err(Fail::Garbage("one vector per text, all of one width"));
    }
    all.extend(batch);
    Ok(())
}

/// Shows a piece of an answer. As written today, the contract gives `on_text` one lifetime that
/// begins before the answer exists (`async_trait` names the one in `Fn(&str)`), so only text that
/// lives for ever can be shown.
pub(crate) fn show(on_text: &(dyn Fn(&str) + Send + Sync), text: &str) {
    on_text(text);
}
