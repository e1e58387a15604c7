//! Error bodies of OpenAI and its family.

use serde_json::Value;

use crate::wire::{Fail, Hint, Refusal, says};

/// Reads an error body.
pub(crate) fn read(status: u16, body: &[u8]) -> Refusal {
    let (word, sentence, value) = Refusal::read(body);
    let kind = value["error"]["type"].as_str();
    Refusal::new(hint(status, word.as_deref(), kind, &sentence), word.as_deref(), &sentence)
}

/// Reads an error that came inside a success: OpenRouter and vLLM write the status into `code`.
pub(super) fn in_band(error: &Value) -> Fail {
    let status = error["code"].as_u64().and_then(|code| u16::try_from(code).ok()).filter(|code| (400..600).contains(code)).unwrap_or(500);
    let word = error["code"].as_str().or(error["type"].as_str());
    let sentence = error["message"].as_str().or(error.as_str()).unwrap_or_default();
    Fail::Refused(status, Refusal::new(hint(status, word, error["type"].as_str(), sentence), word, sentence))
}

fn hint(status: u16, word: Option<&str>, kind: Option<&str>, sentence: &str) -> Option<Hint> {
    let money = ["insufficient_quota", "billing_hard_limit_reached", "billing_not_active"];
    if status == 402 || [word, kind].into_iter().flatten().any(|w| money.contains(&w)) || (status == 403 && says(sentence, &["limit exceeded", "insufficient"]))
    {
        return Some(Hint::NoMoney);
    }
    if says(sentence, &["tool choice requires", "support tools", "support tool use", "support tool call"]) && (400..500).contains(&status) {
        return Some(Hint::NoTools);
    }
    match status {
        401 => Some(Hint::BadKey),
        404 if word == Some("model_not_found") || says(sentence, &["model", "no endpoints"]) => Some(Hint::UnknownModel),
        404 => Some(Hint::WrongPath),
        400 if word == Some("model_not_found") || says(sentence, &["not a valid model", "model not found", "no models loaded"]) => Some(Hint::UnknownModel),
        413 => Some(Hint::TooLong),
        400 | 422
            if word == Some("context_length_exceeded")
                || says(sentence, &["context length", "context window", "context size", "too many tokens", "prompt is too long"]) =>
        {
            Some(Hint::TooLong)
        }
        429 => Some(Hint::RateLimited),
        500.. => Some(Hint::Busy),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_of_the_family() {
        let cases: [(u16, &str, Option<Hint>); 9] = [
            (429, r#"{"error":{"message":"x","type":"insufficient_quota","code":null}}"#, Some(Hint::NoMoney)),
            (402, r#"{"error":{"message":"Insufficient credits","code":402}}"#, Some(Hint::NoMoney)),
            (403, r#"{"error":{"message":"Key limit exceeded (total limit)","code":403}}"#, Some(Hint::NoMoney)),
            (404, r#"{"error":{"message":"No endpoints found for a/b.","code":404}}"#, Some(Hint::UnknownModel)),
            (404, r#"{"error":{"message":"No endpoints found that support tool use","code":404}}"#, Some(Hint::NoTools)),
            (400, r#"{"error":{"message":"foo is not a valid model ID","code":400}}"#, Some(Hint::UnknownModel)),
            (404, "<html>", Some(Hint::WrongPath)),
            (400, r#"{"error":"Trying to keep the first 9 tokens when context length is 8"}"#, Some(Hint::TooLong)),
            (400, r#"{"error":{"message":"Invalid schema"}}"#, None),
        ];
        for (status, body, expected) in cases {
            assert_eq!(read(status, body.as_bytes()).hint, expected, "{body}");
        }
    }
}
