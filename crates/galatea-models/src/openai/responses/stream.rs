//! Decodes the events of a streamed answer into a [`TextAnswer`].

use std::collections::BTreeMap;

use galatea_core::model::{Finish, OnText, TextAnswer, ToolCall, Usage};
use serde::Deserialize;
use serde_json::Value;

use super::{
    decode::{OutputItem, Response, failure, finish},
    error,
};
use crate::wire::{Fail, Gather, Progress, complete_arguments, surrogate};

#[derive(Deserialize)]
#[serde(tag = "type")]
enum ResponsesEvent {
    #[serde(rename = "response.output_text.delta")]
    Text { delta: String },
    #[serde(rename = "response.refusal.delta")]
    Refusal { delta: String },
    #[serde(rename = "response.output_item.added")]
    Added { output_index: u64, item: OutputItem },
    #[serde(rename = "response.function_call_arguments.delta")]
    Arguments { output_index: u64, delta: String },
    #[serde(rename = "response.output_item.done")]
    Done { output_index: u64, item: Value },
    #[serde(
        rename = "response.reasoning_summary_text.delta",
        alias = "response.reasoning_text.delta",
        alias = "response.reasoning_summary_part.added",
        alias = "response.content_part.added"
    )]
    Thought,
    #[serde(
        rename = "response.completed",
        alias = "response.incomplete",
        alias = "response.failed"
    )]
    Ended { response: Response },
    #[serde(rename = "error")]
    Error {
        #[serde(flatten)]
        fault: Value,
    },
    #[serde(other)]
    Other,
}

/// A tool call being assembled.
struct Called {
    id: String,
    name: String,
    arguments: surrogate::Joined,
}

/// An answer being assembled from events.
#[derive(Default)]
pub(crate) struct ResponsesPieces {
    text: surrogate::Joined,
    calls: BTreeMap<u64, Called>,
    /// Finished items, as they were.
    items: BTreeMap<u64, Value>,
    finish: Option<Finish>,
    refused: bool,
    usage: Usage,
}

impl Gather for ResponsesPieces {
    fn take(&mut self, frame: &str, on_text: &OnText<'_>) -> Result<Progress, Fail> {
        // Relays from other formats end a stream with `[DONE]`.
        if frame.trim() == "[DONE]" {
            return Ok(if self.complete() { Progress::Done } else { Progress::Nothing });
        }
        let event: ResponsesEvent =
            surrogate::parse(frame).ok_or(Fail::Garbage("an event of a response"))?;
        match event {
            ResponsesEvent::Text { delta } => self.text.show(&delta, on_text),
            ResponsesEvent::Refusal { delta } => {
                self.refused = true;
                self.text.show(&delta, on_text);
            }
            ResponsesEvent::Added {
                output_index,
                item: OutputItem::FunctionCall { call_id, id, name, arguments },
            } => {
                let called = self.calls.entry(output_index).or_insert_with(|| Called {
                    id: call_id.or(id).unwrap_or_else(|| format!("call_{output_index}")),
                    name,
                    arguments: surrogate::Joined::default(),
                });
                called.arguments.push(&arguments);
            }
            ResponsesEvent::Arguments { output_index, delta } => {
                let called = self
                    .calls
                    .get_mut(&output_index)
                    .ok_or(Fail::Garbage("arguments after the start of their tool call"))?;
                called.arguments.push(&delta);
            }
            // A service that sends no deltas sends the whole call here.
            ResponsesEvent::Done { output_index, item } => {
                self.items.insert(output_index, item.clone());
                if self.calls.contains_key(&output_index) {
                    return Ok(Progress::More);
                }
                let Ok(OutputItem::FunctionCall { call_id, id, name, arguments }) =
                    serde_json::from_value(item)
                else {
                    return Ok(Progress::More);
                };
                let mut whole = surrogate::Joined::default();
                whole.push(&arguments);
                let id = call_id.or(id).unwrap_or_else(|| format!("call_{output_index}"));
                self.calls.insert(output_index, Called { id, name, arguments: whole });
            }
            ResponsesEvent::Added { .. } | ResponsesEvent::Thought => {}
            ResponsesEvent::Ended { mut response } => {
                self.usage = response.usage.take().map(Usage::from).unwrap_or_default();
                if let Some(fail) = failure(&response, self.usage) {
                    return Err(fail);
                }
                self.finish = finish(&response);
                return if self.finish.is_some() {
                    Ok(Progress::Done)
                } else {
                    Err(Fail::Garbage("the end of a response"))
                };
            }
            ResponsesEvent::Error { fault } => {
                return Err(error::in_band(fault.get("error").unwrap_or(&fault)));
            }
            // Acknowledgements and heartbeats of the service, which say nothing about the model.
            ResponsesEvent::Other => return Ok(Progress::Nothing),
        }
        Ok(Progress::More)
    }

    fn complete(&self) -> bool {
        self.finish.is_some()
    }

    fn usage(&self) -> Usage {
        self.usage
    }

    fn finish(self) -> TextAnswer {
        let finish =
            if self.refused { Finish::Filtered } else { self.finish.unwrap_or(Finish::Length) };
        let calls = self.calls.into_values();
        let mut answer = TextAnswer {
            text: self.text.finish(),
            tool_calls: calls
                .map(|call| ToolCall {
                    id: call.id,
                    name: call.name,
                    arguments: surrogate::mended(call.arguments.finish()),
                })
                .collect(),
            usage: self.usage,
            finish,
            ..TextAnswer::default()
        };
        if !answer.tool_calls.is_empty() {
            answer.opaque = super::opaque::kept(self.items.into_values().collect());
        }
        complete_arguments(&mut answer);
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_model_does_is_progress() {
        let cases = [
            (
                r#"{"type":"response.created","response":{"status":"in_progress","output":[]}}"#,
                Progress::Nothing,
            ),
            (r#"{"type":"keepalive","sequence_number":3}"#, Progress::Nothing),
            (
                r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","summary":[]}}"#,
                Progress::More,
            ),
            (r#"{"type":"response.reasoning_summary_text.delta","delta":"hm"}"#, Progress::More),
            (
                r#"{"type":"response.output_text.delta","output_index":1,"delta":"a"}"#,
                Progress::More,
            ),
            (
                r#"{"type":"response.completed","response":{"status":"completed","output":[]}}"#,
                Progress::Done,
            ),
        ];
        for (frame, expected) in cases {
            assert_eq!(
                ResponsesPieces::default().take(frame, &|_| ()).unwrap(),
                expected,
                "{frame}"
            );
        }
    }

    #[test]
    fn failures_at_any_place_are_failures() {
        for (frame, expected) in [
            (
                r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"x"}}}"#,
                500,
            ),
            (r#"{"type":"error","code":"rate_limit_exceeded","message":"x","param":null}"#, 429),
            (
                r#"{"type":"error","error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"x"}}"#,
                400,
            ),
        ] {
            let outcome = ResponsesPieces::default().take(frame, &|_| ());
            assert!(
                matches!(outcome, Err(Fail::Refused(status, _)) if status == expected),
                "{frame}: {outcome:?}"
            );
        }
    }
}
