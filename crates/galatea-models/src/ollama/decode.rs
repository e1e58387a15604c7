//! Decodes the lines of an answer into a [`TextAnswer`].

use galatea_core::model::{Finish, OnText, TextAnswer, ToolCall, Usage};
use serde::Deserialize;
use serde_json::Value;

use super::error;
use crate::wire::{Fail, Gather, Progress, surrogate};

#[derive(Deserialize)]
struct OllamaLine {
    message: Option<OllamaReply>,
    #[serde(default)]
    done: bool,
    done_reason: Option<String>,
    #[serde(default)]
    prompt_eval_count: u64,
    #[serde(default)]
    eval_count: u64,
    error: Option<String>,
}

#[derive(Deserialize)]
struct OllamaReply {
    #[serde(default)]
    content: String,
    thinking: Option<String>,
    tool_calls: Option<Vec<OllamaCall>>,
}

#[derive(Deserialize)]
struct OllamaCall {
    id: Option<String>,
    function: OllamaFunction,
}

#[derive(Deserialize)]
struct OllamaFunction {
    name: String,
    #[serde(default)]
    arguments: Value,
}

/// An answer being assembled from lines.
#[derive(Default)]
pub(crate) struct OllamaPieces {
    answer: TextAnswer,
    text: surrogate::Joined,
    thought: String,
}

impl Gather for OllamaPieces {
    fn take(&mut self, frame: &str, on_text: &OnText<'_>) -> Result<Progress, Fail> {
        const SHAPE: &str = "a line of a chat answer";
        let line: OllamaLine = surrogate::parse(frame).ok_or(Fail::Garbage(SHAPE))?;
        if let Some(fault) = line.error {
            return Err(error::in_band(&fault));
        }
        if line.message.is_none() && !line.done {
            return Err(Fail::Garbage(SHAPE));
        }
        let mut held = Progress::Nothing;
        if let Some(message) = line.message {
            let thinking = message.thinking.unwrap_or_default();
            self.thought.push_str(&thinking);
            if !message.content.is_empty() || !thinking.is_empty() || message.tool_calls.is_some() {
                held = Progress::More;
            }
            self.text.show(&message.content, on_text);
            for call in message.tool_calls.unwrap_or_default() {
                let arguments = match call.function.arguments {
                    Value::Null => "{}".to_owned(),
                    Value::String(text) => text,
                    other => other.to_string(),
                };
                let id =
                    call.id.unwrap_or_else(|| format!("call_{}", self.answer.tool_calls.len()));
                self.answer.tool_calls.push(ToolCall {
                    id,
                    name: call.function.name,
                    arguments: surrogate::mended(surrogate::whole(&arguments)),
                });
            }
        }
        if !line.done {
            return Ok(held);
        }
        self.answer.usage = Usage {
            input: line.prompt_eval_count,
            cached: 0,
            output: line.eval_count,
            ..Usage::default()
        };
        self.answer.finish = if line.done_reason.as_deref() == Some("length") {
            Finish::Length
        } else {
            Finish::Stop
        };
        Ok(Progress::Done)
    }

    fn complete(&self) -> bool {
        // Only a line marked as the last ends an answer.
        false
    }

    fn usage(&self) -> Usage {
        self.answer.usage
    }

    fn finish(self) -> TextAnswer {
        let opaque = (!self.thought.is_empty() && !self.answer.tool_calls.is_empty())
            .then(|| crate::wire::opaque(super::opaque::FORMAT, self.thought.into()));
        TextAnswer { text: self.text.finish(), opaque, ..self.answer }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_model_does_is_progress() {
        let cases = [
            (r#"{"message":{"role":"assistant","content":""},"done":false}"#, Progress::Nothing),
            (
                r#"{"message":{"role":"assistant","content":"","thinking":"hm"},"done":false}"#,
                Progress::More,
            ),
            (r#"{"message":{"role":"assistant","content":"a"},"done":false}"#, Progress::More),
            (r#"{"message":{"content":""},"done":true}"#, Progress::Done),
        ];
        for (frame, expected) in cases {
            assert_eq!(OllamaPieces::default().take(frame, &|_| ()).unwrap(), expected, "{frame}");
        }
    }
}
