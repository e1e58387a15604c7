//! Decodes the events of a streamed answer into a [`TextAnswer`].

use std::collections::BTreeMap;

use galatea_core::model::{OnText, TextAnswer, ToolCall, Usage};
use serde::Deserialize;
use serde_json::Value;

use super::{
    decode::{AnthropicTokens, finish},
    error,
};
use crate::wire::{Fail, Gather, Progress, complete_arguments, surrogate};

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum AnthropicEvent {
    MessageStart {
        message: Start,
    },
    ContentBlockStart {
        index: u64,
        content_block: StreamBlock,
    },
    ContentBlockDelta {
        index: u64,
        delta: Delta,
    },
    MessageDelta {
        delta: Ending,
        usage: Option<AnthropicTokens>,
    },
    MessageStop,
    Error {
        error: Value,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Start {
    usage: Option<AnthropicTokens>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum StreamBlock {
    Text {
        text: String,
    },
    ToolUse {
        id: String,
        name: String,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Delta {
    #[serde(rename = "text_delta")]
    Text { text: String },
    #[serde(rename = "input_json_delta")]
    InputJson { partial_json: String },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Ending {
    stop_reason: Option<String>,
}

/// An answer being assembled from events.
#[derive(Default)]
pub(crate) struct AnthropicPieces {
    answer: TextAnswer,
    text: surrogate::Joined,
    calls: BTreeMap<u64, (ToolCall, surrogate::Joined)>,
    ended: bool,
}

impl Gather for AnthropicPieces {
    fn take(&mut self, frame: &str, on_text: &OnText<'_>) -> Result<Progress, Fail> {
        let event: AnthropicEvent =
            surrogate::parse(frame).ok_or(Fail::Garbage("an event of a message"))?;
        match event {
            AnthropicEvent::MessageStart { message } => {
                message.usage.unwrap_or_default().update(&mut self.answer.usage);
                return Ok(Progress::Nothing);
            }
            AnthropicEvent::ContentBlockStart {
                content_block: StreamBlock::Text { text }, ..
            } => self.text.show(&text, on_text),
            AnthropicEvent::ContentBlockStart {
                index,
                content_block: StreamBlock::ToolUse { id, name },
            } => {
                self.calls.insert(
                    index,
                    (ToolCall { id, name, arguments: String::new() }, surrogate::Joined::default()),
                );
            }
            AnthropicEvent::ContentBlockDelta { delta: Delta::Text { text }, .. } => {
                self.text.show(&text, on_text)
            }
            AnthropicEvent::ContentBlockDelta {
                index,
                delta: Delta::InputJson { partial_json },
            } => {
                let (_, arguments) = self
                    .calls
                    .get_mut(&index)
                    .ok_or(Fail::Garbage("arguments after the start of their tool call"))?;
                arguments.push(&partial_json);
            }
            AnthropicEvent::MessageDelta { delta, usage } => {
                if let Some(reason) = delta.stop_reason {
                    self.answer.finish = finish(Some(&reason));
                    self.ended = true;
                }
                usage.unwrap_or_default().update(&mut self.answer.usage);
            }
            AnthropicEvent::MessageStop => return Ok(Progress::Done),
            AnthropicEvent::Error { error } => return Err(error::in_band(&error)),
            // Thinking: the model is working.
            AnthropicEvent::ContentBlockStart { .. } | AnthropicEvent::ContentBlockDelta { .. } => {
            }
            // Events such as `ping`, which the service sends whatever the model does.
            AnthropicEvent::Other => return Ok(Progress::Nothing),
        }
        Ok(Progress::More)
    }

    fn complete(&self) -> bool {
        self.ended
    }

    fn usage(&self) -> Usage {
        self.answer.usage
    }

    fn finish(mut self) -> TextAnswer {
        self.answer.text = self.text.finish();
        let calls = self.calls.into_values().map(|(call, arguments)| ToolCall {
            arguments: surrogate::mended(arguments.finish()),
            ..call
        });
        self.answer.tool_calls = calls.collect();
        complete_arguments(&mut self.answer);
        self.answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_model_does_is_progress() {
        let cases = [
            (r#"{"type":"ping"}"#, Progress::Nothing),
            (
                r#"{"type":"message_start","message":{"usage":{"input_tokens":3}}}"#,
                Progress::Nothing,
            ),
            (
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}"#,
                Progress::More,
            ),
            (
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}"#,
                Progress::More,
            ),
            (r#"{"type":"message_stop"}"#, Progress::Done),
        ];
        for (frame, expected) in cases {
            assert_eq!(
                AnthropicPieces::default().take(frame, &|_| ()).unwrap(),
                expected,
                "{frame}"
            );
        }
    }
}
