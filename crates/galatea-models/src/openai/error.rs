//! Reads error bodies of OpenAI and compatible services.

use galatea_core::model::Usage;
use serde_json::Value;

use crate::wire::{
    Fail, Hint, Refusal, length, mentions,
    tool_refusal::{self, refuses_tools},
};

/// Reads an error body.
pub(crate) fn read(status: u16, body: &[u8]) -> Refusal {
    let (error_code, message, value) = Refusal::read(body);
    let kind = value["error"]["type"].as_str();
    Refusal::new(
        hint(status, error_code.as_deref(), kind, &message),
        error_code.as_deref(),
        &message,
    )
}

/// Reads an error inside a successful answer: OpenRouter and vLLM write the status into `code`.
pub(super) fn in_band(error: &Value) -> Fail {
    let (code, kind) = (error["code"].as_str(), error["type"].as_str());
    let number = error["code"]
        .as_u64()
        .and_then(|code| u16::try_from(code).ok())
        .or_else(|| code?.parse().ok());
    let status = number
        .filter(|code| (400..600).contains(code))
        .or_else(|| [code, kind].into_iter().flatten().find_map(status_of))
        .unwrap_or(500);
    let error_code = code.or(kind);
    let message = error["message"].as_str().or(error.as_str()).unwrap_or_default();
    Fail::Refused(
        status,
        Refusal::new(hint(status, error_code, kind, message), error_code, message),
    )
}

/// The failure of a single choice. If a provider fails after the answer has begun, OpenRouter sends
/// the error beside the partial answer, with what it has counted.
pub(super) fn of_choice(
    fault: Option<Value>,
    finish_reason: Option<&str>,
    usage: Usage,
) -> Option<Fail> {
    let fault = fault.filter(|e| !e.is_null());
    let failed = fault.is_some() || finish_reason == Some("error");
    failed.then(|| in_band(&fault.unwrap_or_default()).broken(usage))
}

/// The status that belongs to an error code (OpenAI, "Error codes"). Needed where an error arrives
/// as an answer with a success status.
fn status_of(error_code: &str) -> Option<u16> {
    Some(match error_code {
        "invalid_request_error" | "context_length_exceeded" => 400,
        "invalid_api_key" | "authentication_error" => 401,
        "permission_error" => 403,
        "model_not_found" => 404,
        "rate_limit_exceeded"
        | "rate_limit_error"
        | "insufficient_quota"
        | "billing_hard_limit_reached"
        | "billing_not_active" => 429,
        _ => return None,
    })
}

/// Codes of a request that a filter refused: OpenAI's of pictures, and Azure's. OpenRouter has the
/// status 403 for it (Errors, "Error codes").
const FILTERS: [&str; 3] = ["moderation_blocked", "content_policy_violation", "content_filter"];

fn hint(status: u16, error_code: Option<&str>, kind: Option<&str>, message: &str) -> Option<Hint> {
    let money = ["insufficient_quota", "billing_hard_limit_reached", "billing_not_active"];
    if status == 402
        || [error_code, kind].into_iter().flatten().any(|w| money.contains(&w))
        || (status == 403 && mentions(message, &["limit exceeded", "insufficient"]))
    {
        return Some(Hint::NoMoney);
    }
    if refuses_tools(tool_refusal::OPENAI, status, message) {
        return Some(Hint::NoTools);
    }
    if (matches!(status, 400 | 403 | 422) && error_code.is_some_and(|code| FILTERS.contains(&code)))
        || (status == 403 && mentions(message, &["flagged"]))
    {
        return Some(Hint::Withheld);
    }
    let length = length::hint(status, error_code.or(kind), message);
    match status {
        401 => Some(Hint::BadKey),
        _ if error_code == Some("model_decommissioned") => Some(Hint::UnknownModel),
        404 if error_code == Some("model_not_found")
            || mentions(message, &["model", "no endpoints"]) =>
        {
            Some(Hint::UnknownModel)
        }
        404 => Some(Hint::WrongPath),
        400 if error_code == Some("model_not_found")
            || mentions(message, &["not a valid model", "model not found", "no models loaded"]) =>
        {
            Some(Hint::UnknownModel)
        }
        400 | 413 | 422 | 429 | 500 if length.is_some() => length,
        429 => Some(Hint::RateLimited),
        500.. => Some(Hint::Busy),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_core::Overlong;

    /// Without numbers, which have tests of their own.
    fn plain(hint: Option<Hint>) -> Option<Hint> {
        match hint {
            Some(Hint::TooLong(_)) => LONG,
            other => other,
        }
    }

    const LONG: Option<Hint> = Some(Hint::TooLong(Overlong { most: None, asked: None }));

    #[test]
    fn bodies_of_the_family() {
        let cases: [(u16, &str, Option<Hint>); 20] = [
            (
                403,
                r#"{"error":{"message":"meta/x requires moderation on OpenInference. Your input was flagged for \"violence\".","code":403,"metadata":{"reasons":["violence"]}}}"#,
                Some(Hint::Withheld),
            ),
            (
                400,
                r#"{"error":{"message":"Your request was rejected by the safety system.","type":"image_generation_user_error","code":"moderation_blocked"}}"#,
                Some(Hint::Withheld),
            ),
            (403, r#"{"error":{"message":"This key may not do that","code":403}}"#, None),
            (
                400,
                r#"{"error":{"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error"}}"#,
                LONG,
            ),
            (
                400,
                r#"{"error":{"message":"Please reduce the length of the messages or completion.","code":"context_length_exceeded"}}"#,
                LONG,
            ),
            (
                400,
                r#"{"error":{"message":"The input token count (9001) exceeds the maximum number of tokens allowed (8192).","code":400}}"#,
                LONG,
            ),
            (
                400,
                r#"{"error":{"message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
                LONG,
            ),
            (
                422,
                r#"{"error":"Input validation error: `inputs` must have less than 1024 tokens"}"#,
                LONG,
            ),
            (
                400,
                r#"{"message":"Prompt contains 40000 tokens, too large for model with 32768 maximum context length"}"#,
                LONG,
            ),
            (
                400,
                r#"{"error":{"message":"This endpoint's maximum context length is 8192 tokens.","code":400}}"#,
                LONG,
            ),
            (
                400,
                r#"{"error":{"message":"The model `x` has been decommissioned and is no longer supported.","code":"model_decommissioned"}}"#,
                Some(Hint::UnknownModel),
            ),
            (
                429,
                r#"{"error":{"message":"x","type":"insufficient_quota","code":null}}"#,
                Some(Hint::NoMoney),
            ),
            (
                402,
                r#"{"error":{"message":"Insufficient credits","code":402}}"#,
                Some(Hint::NoMoney),
            ),
            (
                403,
                r#"{"error":{"message":"Key limit exceeded (total limit)","code":403}}"#,
                Some(Hint::NoMoney),
            ),
            (
                404,
                r#"{"error":{"message":"No endpoints found for a/b.","code":404}}"#,
                Some(Hint::UnknownModel),
            ),
            (
                404,
                r#"{"error":{"message":"No endpoints found that support tool use","code":404}}"#,
                Some(Hint::NoTools),
            ),
            (
                400,
                r#"{"error":{"message":"foo is not a valid model ID","code":400}}"#,
                Some(Hint::UnknownModel),
            ),
            (404, "<html>", Some(Hint::WrongPath)),
            (
                400,
                r#"{"error":"Trying to keep the first 9 tokens when context length is 8"}"#,
                LONG,
            ),
            (400, r#"{"error":{"message":"Invalid schema"}}"#, None),
        ];
        for (status, body, expected) in cases {
            assert_eq!(plain(read(status, body.as_bytes()).hint), expected, "{body}");
        }
    }

    #[test]
    fn words_stand_for_their_status() {
        let cases: [(&str, u16, Option<Hint>); 9] = [
            (
                r#"{"code":"rate_limit_exceeded","type":"tokens","message":"x"}"#,
                429,
                Some(Hint::RateLimited),
            ),
            (
                r#"{"code":"invalid_api_key","type":"invalid_request_error","message":"x"}"#,
                401,
                Some(Hint::BadKey),
            ),
            (
                r#"{"code":"insufficient_quota","type":"insufficient_quota","message":"x"}"#,
                429,
                Some(Hint::NoMoney),
            ),
            (
                r#"{"code":null,"type":"authentication_error","message":"x"}"#,
                401,
                Some(Hint::BadKey),
            ),
            (r#"{"code":"context_length_exceeded","message":"x"}"#, 400, LONG),
            (
                r#"{"code":"model_not_found","type":"invalid_request_error","message":"x"}"#,
                404,
                Some(Hint::UnknownModel),
            ),
            (r#"{"code":"429","message":"x"}"#, 429, Some(Hint::RateLimited)),
            (r#"{"code":402,"message":"x"}"#, 402, Some(Hint::NoMoney)),
            (r#"{"code":"server_error","message":"x"}"#, 500, Some(Hint::Busy)),
        ];
        for (error, status, expected) in cases {
            let Fail::Refused(read, refusal) = in_band(&serde_json::from_str(error).unwrap())
            else {
                panic!("{error}")
            };
            assert_eq!((read, plain(refusal.hint)), (status, expected), "{error}");
        }
    }
}
