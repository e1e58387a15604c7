//! Decodes the body of an answer into a [`TextAnswer`].

use galatea_core::model::{Finish, TextAnswer, ToolCall, Usage};
use serde::Deserialize;
use serde_json::Value;

use super::error;
use crate::wire::{Fail, complete_arguments, surrogate};

/// A response: a whole body, or part of a stream event.
#[derive(Deserialize)]
pub(super) struct Response {
    pub(super) status: Option<String>,
    #[serde(default)]
    pub(super) output: Option<Vec<Value>>,
    pub(super) usage: Option<ResponsesTokens>,
    pub(super) error: Option<Value>,
    pub(super) incomplete_details: Option<Incomplete>,
}

#[derive(Deserialize)]
pub(super) struct Incomplete {
    pub(super) reason: Option<String>,
}

/// An item of the output. Reasoning and the results of tools that run at OpenAI are ignored.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum OutputItem {
    /// A message of the model.
    Message {
        #[serde(default)]
        content: Vec<OutputPart>,
    },
    /// A call of one of the request's tools.
    FunctionCall {
        call_id: Option<String>,
        id: Option<String>,
        name: String,
        #[serde(default)]
        arguments: String,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum OutputPart {
    OutputText {
        text: String,
    },
    Refusal {
        refusal: String,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
pub(super) struct ResponsesTokens {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
    input_tokens_details: Option<Details>,
}

#[derive(Deserialize, Default)]
struct Details {
    cached_tokens: Option<u64>,
    /// From GPT-5.6 on; OpenRouter has it too.
    cache_write_tokens: Option<u64>,
}

impl From<ResponsesTokens> for Usage {
    fn from(tokens: ResponsesTokens) -> Self {
        let details = tokens.input_tokens_details.unwrap_or_default();
        Self {
            input: tokens.input_tokens,
            cached: details.cached_tokens.unwrap_or_default(),
            stored: details.cache_write_tokens.unwrap_or_default(),
            output: tokens.output_tokens,
            ..Self::default()
        }
    }
}

pub(crate) fn decode(bytes: &[u8]) -> Result<TextAnswer, Fail> {
    const SHAPE: &str = "a response";
    let mut response: Response = surrogate::parse_bytes(bytes).ok_or(Fail::Garbage(SHAPE))?;
    let usage = response.usage.take().map(Usage::from).unwrap_or_default();
    if let Some(fail) = failure(&response, usage) {
        return Err(fail);
    }
    let (Some(finish), Some(output)) = (finish(&response), response.output) else {
        return Err(Fail::Garbage(SHAPE));
    };
    let mut answer = TextAnswer { finish, usage, ..TextAnswer::default() };
    let mut text = surrogate::Joined::default();
    let mut refused = surrogate::Joined::default();
    let kept = output.clone();
    for item in output {
        match serde_json::from_value(item).map_err(|_| Fail::Garbage(SHAPE))? {
            OutputItem::Message { content } => {
                for part in content {
                    match part {
                        OutputPart::OutputText { text: piece } => drop(text.push(&piece)),
                        OutputPart::Refusal { refusal } => drop(refused.push(&refusal)),
                        OutputPart::Other => {}
                    }
                }
            }
            OutputItem::FunctionCall { call_id, id, name, arguments } => {
                let id =
                    call_id.or(id).unwrap_or_else(|| format!("call_{}", answer.tool_calls.len()));
                answer.tool_calls.push(ToolCall {
                    id,
                    name,
                    arguments: surrogate::mended(surrogate::whole(&arguments)),
                });
            }
            OutputItem::Other => {}
        }
    }
    if !answer.tool_calls.is_empty() {
        answer.opaque = super::opaque::kept(kept);
    }
    answer.text = text.finish();
    let refused = refused.finish();
    if answer.text.is_empty() && !refused.is_empty() {
        answer.text = refused;
        answer.finish = Finish::Filtered;
    }
    complete_arguments(&mut answer);
    Ok(answer)
}

/// The failure that a response reports, with what it has counted.
pub(super) fn failure(response: &Response, usage: Usage) -> Option<Fail> {
    let fault = response.error.as_ref().filter(|error| !error.is_null());
    let failed = matches!(response.status.as_deref(), Some("failed" | "cancelled"));
    let fail =
        (fault.is_some() || failed).then(|| error::in_band(fault.unwrap_or(&Value::Null)))?;
    let begun = usage.output > 0 || response.output.as_ref().is_some_and(|said| !said.is_empty());
    Some(if begun { fail.broken(usage) } else { fail })
}

/// Why the response ended; `None` while it is in progress.
pub(super) fn finish(response: &Response) -> Option<Finish> {
    match response.status.as_deref() {
        Some("completed") => Some(Finish::Stop),
        Some("incomplete") => {
            let reason =
                response.incomplete_details.as_ref().and_then(|details| details.reason.as_deref());
            Some(if reason == Some("content_filter") { Finish::Filtered } else { Finish::Length })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn incomplete_withheld_and_failed_responses_are_distinguished() {
        let read = |body: &str| decode(body.as_bytes());
        let said = r#""output":[{"type":"reasoning","summary":[]},{"type":"message","content":[{"type":"output_text","text":"half","annotations":[]}]}]"#;
        let of =
            |status: &str, more: &str| read(&format!(r#"{{"status":"{status}",{said}{more}}}"#));
        assert_eq!(of("completed", "").unwrap().finish, Finish::Stop);
        assert_eq!(
            of("incomplete", r#","incomplete_details":{"reason":"max_output_tokens"}"#)
                .unwrap()
                .finish,
            Finish::Length
        );
        assert_eq!(
            of("incomplete", r#","incomplete_details":{"reason":"content_filter"}"#)
                .unwrap()
                .finish,
            Finish::Filtered
        );
        let refused = read(r#"{"status":"completed","output":[{"type":"message","content":[{"type":"refusal","refusal":"No."}]}]}"#).unwrap();
        assert_eq!((refused.text.as_str(), refused.finish), ("No.", Finish::Filtered));
        assert!(matches!(
            of("failed", r#","error":{"code":"rate_limit_exceeded","message":"x"}"#),
            Err(Fail::Broken(429, ..))
        ));
        assert!(matches!(
            of("failed", r#","error":{"code":"server_error","message":"x"}"#),
            Err(Fail::Broken(500, ..))
        ));
        assert!(matches!(of("cancelled", ""), Err(Fail::Broken(500, ..))));
        assert!(matches!(read(r#"{"status":"failed"}"#), Err(Fail::Refused(500, _))));
        let counted = read(r#"{"status":"failed","output":[],"usage":{"output_tokens":7}}"#);
        assert!(matches!(counted, Err(Fail::Broken(500, _, Usage { output: 7, .. }))));
        assert!(matches!(of("in_progress", ""), Err(Fail::Garbage(_))));
        assert!(matches!(read(r#"{"status":"completed"}"#), Err(Fail::Garbage(_))));
    }

    proptest! {
        #[test]
        fn never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&bytes);
        }
    }
}
