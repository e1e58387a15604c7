//! What a service's error body says, in words of ours.

use galatea_http::shorten;
use serde_json::Value;

use super::surrogate;

/// Longest text of a service that is kept for the log.
const MAX_TEXT: usize = 300;

/// A service's error body, read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Refusal {
    /// What it means.
    pub(crate) hint: Option<Hint>,
    /// The service's own word for it, such as `invalid_api_key`.
    pub(crate) word: Option<String>,
    /// The service's sentence; for logs only, since it may repeat what was sent.
    pub(crate) sentence: String,
    /// Wait told in the body, in milliseconds.
    pub(crate) wait_ms: Option<u64>,
}

/// What a refusal means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hint {
    /// The key is refused.
    BadKey,
    /// The money is gone.
    NoMoney,
    /// There is no such model.
    UnknownModel,
    /// The conversation is too long.
    TooLong,
    /// The model has no tools.
    NoTools,
    /// Slow down.
    RateLimited,
    /// Overloaded or broken for now.
    Busy,
    /// The address leads nowhere.
    WrongPath,
}

impl Refusal {
    pub(crate) fn new(hint: Option<Hint>, word: Option<&str>, sentence: &str) -> Self {
        let word = word.map(identifier).filter(|w| !w.is_empty());
        Self { hint, word, sentence: shorten(sentence, MAX_TEXT), wait_ms: None }
    }

    /// Reads the common shapes `{"error":{"message","type"|"code"|"status"}}`, `{"error":"…"}`,
    /// `{"message"|"detail":"…"}`.
    pub(crate) fn read(body: &[u8]) -> (Option<String>, String, Value) {
        let value: Value = surrogate::parse_bytes(body).unwrap_or(Value::Null);
        // Google wraps the object of an early stream failure into a list.
        let value = match value {
            Value::Array(mut list) if !list.is_empty() => list.swap_remove(0),
            other => other,
        };
        let error = &value["error"];
        let sentence = [&error["message"], error, &value["message"], &value["detail"]]
            .into_iter()
            .find_map(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        let word = ["code", "type", "status"]
            .iter()
            .find_map(|name| error[*name].as_str())
            .map(str::to_owned);
        (word, sentence, value)
    }
}

/// Only what an identifier consists of: anything else could be text of a conversation.
fn identifier(word: &str) -> String {
    word.chars()
        .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
        .take(64)
        .collect()
}

/// Whether a sentence holds one of the phrases, whatever their case.
pub(crate) fn says(sentence: &str, phrases: &[&str]) -> bool {
    let sentence = sentence.to_lowercase();
    phrases.iter().any(|phrase| sentence.contains(phrase))
}
