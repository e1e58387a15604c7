//! Reads the error bodies of services.

use galatea_core::Overlong;
use galatea_http::shorten;
use serde_json::Value;

use super::surrogate;

/// Most characters of a service's message that are kept for the log.
const MAX_TEXT: usize = 300;

/// A parsed error body.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Refusal {
    /// Meaning of the error, if it is recognised.
    pub(crate) hint: Option<Hint>,
    /// The service's identifier of the error, such as `invalid_api_key`.
    pub(crate) code: Option<String>,
    /// The service's message; for logs only, since it may repeat what was sent.
    pub(crate) message: String,
    /// Wait stated in the body, in milliseconds.
    pub(crate) wait_ms: Option<u64>,
}

/// Meaning of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hint {
    /// The key is invalid.
    BadKey,
    /// The account has no credit left.
    NoMoney,
    /// The model does not exist.
    UnknownModel,
    /// The conversation exceeds what the model takes, with the numbers that the refusal names.
    TooLong(Overlong),
    /// The model does not support tools.
    NoTools,
    /// A filter refused what was asked.
    Withheld,
    /// The rate limit is exceeded.
    RateLimited,
    /// The service is overloaded or has a fault.
    Busy,
    /// The address has no such interface.
    WrongPath,
}

impl Refusal {
    pub(crate) fn new(hint: Option<Hint>, code: Option<&str>, message: &str) -> Self {
        let code = code.map(identifier).filter(|w| !w.is_empty());
        Self { hint, code, message: shorten(message, MAX_TEXT), wait_ms: None }
    }

    /// Reads the common shapes `{"error":{"message","type"|"code"|"status"}}`, `{"error":"…"}`,
    /// `{"message"|"detail":"…"}`.
    pub(crate) fn read(body: &[u8]) -> (Option<String>, String, Value) {
        let value: Value = surrogate::parse_bytes(body).unwrap_or(Value::Null);
        // Google wraps the object of an early stream failure in a list.
        let value = match value {
            Value::Array(mut list) if !list.is_empty() => list.swap_remove(0),
            other => other,
        };
        let error = &value["error"];
        let message = [&error["message"], error, &value["message"], &value["detail"]]
            .into_iter()
            .find_map(Value::as_str)
            .map(str::to_owned)
            .or_else(|| [&error["message"], &value["message"], &value].into_iter().find_map(listed))
            .unwrap_or_default();
        let code = ["code", "type", "status"]
            .iter()
            .find_map(|name| error[*name].as_str())
            .map(str::to_owned);
        (code, message, value)
    }
}

/// The list of faults in a request that pydantic writes (`detail`), without what was sent:
/// `body.messages.1.name: Extra inputs are not permitted`.
fn listed(value: &Value) -> Option<String> {
    let fault = |fault: &Value| {
        let place = fault["loc"].as_array().into_iter().flatten().map(|part| match part {
            Value::String(name) => name.clone(),
            other => other.to_string(),
        });
        let place = place.collect::<Vec<_>>().join(".");
        Some(format!("{place}: {}", fault["msg"].as_str()?))
    };
    let faults: Vec<String> =
        value["detail"].as_array()?.iter().take(5).filter_map(fault).collect();
    (!faults.is_empty()).then(|| faults.join("; "))
}

/// Keeps only the characters of an identifier, since others could be text of a conversation.
fn identifier(code: &str) -> String {
    code.chars()
        .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
        .take(64)
        .collect()
}

/// True if a message contains one of the phrases, ignoring case.
pub(crate) fn mentions(message: &str, phrases: &[&str]) -> bool {
    let message = message.to_lowercase();
    phrases.iter().any(|phrase| message.contains(phrase))
}
