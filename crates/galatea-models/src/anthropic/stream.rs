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
        content_block: Value,
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
    #[serde(rename = "thinking_delta")]
    Thinking { thinking: String },
    #[serde(rename = "signature_delta")]
    Signature { signature: String },
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
    /// The blocks so far, for the request with the tools' results.
    blocks: BTreeMap<u64, Value>,
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
            AnthropicEvent::ContentBlockStart { index, content_block } => {
                self.blocks.insert(index, content_block.clone());
                match serde_json::from_value(content_block) {
                    Ok(StreamBlock::Text { text }) => self.text.show(&text, on_text),
                    Ok(StreamBlock::ToolUse { id, name }) => {
                        let call = ToolCall { id, name, arguments: String::new() };
                        self.calls.insert(index, (call, surrogate::Joined::default()));
                    }
                    // Thinking: the model is working.
                    Ok(StreamBlock::Other) => {}
                    Err(_) => return Err(Fail::Garbage("a block of a message")),
                }
            }
            AnthropicEvent::ContentBlockDelta { index, delta: Delta::Text { text } } => {
                self.append(index, "text", &text);
                self.text.show(&text, on_text);
            }
            AnthropicEvent::ContentBlockDelta { index, delta: Delta::Thinking { thinking } } => {
                self.append(index, "thinking", &thinking);
            }
            AnthropicEvent::ContentBlockDelta { index, delta: Delta::Signature { signature } } => {
                self.append(index, "signature", &signature);
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
            AnthropicEvent::ContentBlockDelta { .. } => {}
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
        for (index, (call, arguments)) in self.calls {
            let arguments = surrogate::mended(arguments.finish());
            if let Some(block) = self.blocks.get_mut(&index) {
                block["input"] = crate::wire::arguments(&arguments);
            }
            self.answer.tool_calls.push(ToolCall { arguments, ..call });
        }
        if !self.answer.tool_calls.is_empty() {
            self.answer.opaque = super::opaque::kept(self.blocks.into_values().collect());
        }
        complete_arguments(&mut self.answer);
        self.answer
    }
}

impl AnthropicPieces {
    /// Adds a piece to a field of a block.
    fn append(&mut self, index: u64, field: &str, piece: &str) {
        if let Some(block) = self.blocks.get_mut(&index) {
            let so_far = block[field].as_str().unwrap_or_default();
            block[field] = Value::String(format!("{so_far}{piece}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signed_thoughts_are_kept_in_their_place_for_the_next_step() {
        let mut pieces = AnthropicPieces::default();
        for frame in [
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Wea"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"ther?"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"S=="}}"#,
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"One moment."}}"#,
            r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"t1","name":"rain","input":{}}}"#,
            r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"day\":"}}"#,
            r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"1}"}}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#,
        ] {
            pieces.take(frame, &|_| ()).unwrap();
        }
        let answer = pieces.finish();
        assert_eq!(answer.text, "One moment.");
        assert_eq!(
            answer.opaque.unwrap().data,
            serde_json::json!([
                { "type": "thinking", "thinking": "Weather?", "signature": "S==" },
                { "type": "text", "text": "One moment." },
                { "type": "tool_use", "id": "t1", "name": "rain", "input": { "day": 1 } },
            ])
        );
    }

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
