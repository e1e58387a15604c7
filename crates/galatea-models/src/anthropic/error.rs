//! Reads Anthropic's error bodies (API reference, "Errors").

use serde_json::Value;

use crate::wire::{
    Fail, Hint, Refusal, length, mentions,
    tool_refusal::{self, refuses_tools},
};

/// Reads an error body.
pub(crate) fn read(status: u16, body: &[u8]) -> Refusal {
    let (error_code, message, _) = Refusal::read(body);
    Refusal::new(hint(status, error_code.as_deref(), &message), error_code.as_deref(), &message)
}

/// Reads an error inside a stream.
pub(super) fn in_band(error: &Value) -> Fail {
    let error_code = error["type"].as_str();
    let message = error["message"].as_str().unwrap_or_default();
    let status = match error_code {
        Some("invalid_request_error") => 400,
        Some("authentication_error") => 401,
        Some("billing_error") => 402,
        Some("permission_error") => 403,
        Some("rate_limit_error") => 429,
        Some("overloaded_error") => 529,
        _ => 500,
    };
    Fail::Refused(status, Refusal::new(hint(status, error_code, message), error_code, message))
}

fn hint(status: u16, error_code: Option<&str>, message: &str) -> Option<Hint> {
    if error_code == Some("billing_error")
        || mentions(
            message,
            &["credit balance is too low", "spend limit", "spending limit", "usage limits"],
        )
    {
        return Some(Hint::NoMoney);
    }
    let length = length::hint(status, error_code, message);
    match status {
        401 => Some(Hint::BadKey),
        402 => Some(Hint::NoMoney),
        // Anthropic has one code for an unknown model and for an address without an interface. Only
        // the message about a model says so: `model: claude-3`.
        404 if error_code == Some("not_found_error")
            && (message.is_empty() || mentions(message, &["model"])) =>
        {
            Some(Hint::UnknownModel)
        }
        404 => Some(Hint::WrongPath),
        400 | 413 | 429 if length.is_some() => length,
        _ if refuses_tools(tool_refusal::ANTHROPIC, status, message) => Some(Hint::NoTools),
        429 => Some(Hint::RateLimited),
        500.. => Some(Hint::Busy),
        _ => None,
    }
}
