//! Reads Ollama's error bodies: `{"error":"…"}`.

use crate::wire::{Fail, Hint, Refusal, says};

/// Reads an error body.
pub(crate) fn read(status: u16, body: &[u8]) -> Refusal {
    let (word, sentence, _) = Refusal::read(body);
    Refusal::new(hint(status, &sentence), word.as_deref(), &sentence)
}

/// Reads an error inside a stream.
pub(super) fn in_band(sentence: &str) -> Fail {
    Fail::Refused(500, Refusal::new(hint(500, sentence), None, sentence))
}

fn hint(status: u16, sentence: &str) -> Option<Hint> {
    match status {
        _ if says(sentence, &["does not support tools"]) => Some(Hint::NoTools),
        404 if says(sentence, &["not found", "try pulling"]) && says(sentence, &["model"]) => {
            Some(Hint::UnknownModel)
        }
        404 => Some(Hint::WrongPath),
        400..=599
            if says(
                sentence,
                &[
                    "context length",
                    "context window",
                    "context size",
                    "input is too long",
                    "prompt is too long",
                ],
            ) =>
        {
            Some(Hint::TooLong)
        }
        402 => Some(Hint::NoMoney),
        413 => Some(Hint::TooLong),
        401 => Some(Hint::BadKey),
        429 => Some(Hint::RateLimited),
        500.. => Some(Hint::Busy),
        _ => None,
    }
}
