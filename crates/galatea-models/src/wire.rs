//! Code shared by the wire formats: endpoints, error bodies, streams, and checks of requests and
//! answers.

pub(crate) mod adjust;
pub mod codes;
mod endpoint;
pub(crate) mod length;
mod refusal;
mod schema;
mod service;
mod stream;
pub(crate) mod surrogate;
pub(crate) mod tool_refusal;
mod turns;

pub use endpoint::Endpoint;
pub(crate) use endpoint::{Adjusting, Call, was_cut_before_words};
pub(crate) use refusal::{Hint, Refusal, mentions};
pub(crate) use schema::object_schema;
pub use service::{Auth, Names, Origins, Times};
pub(crate) use stream::{Gather, Progress, drive, event_frames, line_frames};
pub(crate) use turns::take_turns;

use galatea_core::{
    Error, Result,
    model::{Finish, Opaque, TextAnswer, TextRequest, Usage},
};
use serde_json::{Map, Value};

/// A decoder's failure, before the endpoint converts it into an error for people.
#[derive(Debug)]
pub(crate) enum Fail {
    /// The answer has another shape than documented. Holds a description of the expected shape.
    Garbage(&'static str),
    /// The service reported an error in the body of a successful answer.
    Refused(u16, Refusal),
    /// The service reported an error beside a part of the answer. Holds what it has counted; zero if
    /// it counts nothing.
    Broken(u16, Refusal, Usage),
}

impl Fail {
    /// The error beside a part of the answer.
    pub(crate) fn broken(self, usage: Usage) -> Self {
        match self {
            Self::Refused(status, refusal) => Self::Broken(status, refusal, usage),
            other => other,
        }
    }
}

/// Checks that the request contains a message.
pub(crate) fn require_messages(request: &TextRequest) -> Result<()> {
    if request.messages.is_empty() {
        Err(Error::invalid("a model was asked without any message"))
    } else {
        Ok(())
    }
}

/// Checks that the answer has content. An answer that the service withheld may be empty.
pub(crate) fn require_answer(
    endpoint: &Endpoint,
    model: &str,
    mut answer: TextAnswer,
) -> Result<TextAnswer> {
    if let Some(opaque) = &mut answer.opaque {
        model.clone_into(&mut opaque.model);
    }
    if !answer.tool_calls.is_empty() && answer.finish == Finish::Stop {
        answer.finish = Finish::Tools;
    }
    if answer.text.trim().is_empty()
        && answer.tool_calls.is_empty()
        && answer.finish != Finish::Filtered
    {
        return Err(endpoint.empty(model, answer.finish, answer.usage));
    }
    Ok(answer)
}

/// What a service needs again of an answer; [`require_answer`] adds the model.
pub(crate) fn opaque(format: &str, data: Value) -> Opaque {
    Opaque { format: format.to_owned(), model: String::new(), data }
}

/// Arguments of a call as an object, for services that take nothing else.
pub(crate) fn arguments(text: &str) -> Value {
    let read = serde_json::from_str(text).ok().filter(Value::is_object);
    read.unwrap_or_else(|| Value::Object(Map::new()))
}

/// Replaces empty arguments of tool calls by an empty object. If the answer was cut off, its last
/// call is left as it is, since its arguments may be missing.
pub(crate) fn complete_arguments(answer: &mut TextAnswer) {
    let torn =
        usize::from(matches!(answer.finish, Finish::Length | Finish::Filtered | Finish::Deadline));
    let whole = answer.tool_calls.len().saturating_sub(torn);
    for call in
        answer.tool_calls.iter_mut().take(whole).filter(|call| call.arguments.trim().is_empty())
    {
        call.arguments = "{}".to_owned();
    }
}

/// Replaces an empty text by a space: services refuse empty texts, and a space has a vector like
/// any other text.
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
