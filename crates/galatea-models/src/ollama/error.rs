//! Reads Ollama's error bodies: `{"error":"…"}`.

use crate::wire::{
    Fail, Hint, Refusal, length, mentions,
    tool_refusal::{self, refuses_tools},
};

/// Reads an error body.
pub(crate) fn read(status: u16, body: &[u8]) -> Refusal {
    let (error_code, message, _) = Refusal::read(body);
    Refusal::new(hint(status, &message), error_code.as_deref(), &message)
}

/// Reads an error inside a stream.
pub(super) fn in_band(message: &str) -> Fail {
    Fail::Refused(500, Refusal::new(hint(500, message), None, message))
}

fn hint(status: u16, message: &str) -> Option<Hint> {
    let length = length::hint(status, None, message);
    match status {
        _ if refuses_tools(tool_refusal::OLLAMA, status, message) => Some(Hint::NoTools),
        404 if mentions(message, &["not found", "try pulling"])
            && mentions(message, &["model"]) =>
        {
            Some(Hint::UnknownModel)
        }
        404 => Some(Hint::WrongPath),
        400..=599 if length.is_some() => length,
        402 => Some(Hint::NoMoney),
        401 => Some(Hint::BadKey),
        429 => Some(Hint::RateLimited),
        500.. => Some(Hint::Busy),
        _ => None,
    }
}
