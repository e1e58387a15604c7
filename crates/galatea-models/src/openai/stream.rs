//! Decodes the events of a streamed answer into a [`TextAnswer`].

use std::collections::BTreeMap;

use galatea_core::model::{Finish, OnText, TextAnswer, ToolCall, Usage};
use serde::Deserialize;
use serde_json::Value;

use super::{
    decode::{AnswerText, ChatTokens, Reasoning, finish},
    error,
};
use crate::wire::{Fail, Gather, Progress, complete_arguments, surrogate};

#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Vec<StreamChoice>,
    usage: Option<ChatTokens>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct StreamChoice {
    delta: Option<Delta>,
    finish_reason: Option<String>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Delta {
    content: Option<AnswerText>,
    refusal: Option<String>,
    tool_calls: Option<Vec<StreamPiece>>,
    /// Reasoning, under OpenRouter's name.
    reasoning: Option<Value>,
    /// Reasoning, under most servers' name.
    reasoning_content: Option<Value>,
    /// Pieces of what OpenRouter wants again.
    reasoning_details: Option<Vec<Value>>,
}

impl Delta {
    /// True if the delta shows that the model is working. The first delta of a service often
    /// contains only the role.
    fn holds_something(&self) -> bool {
        let thoughts = [&self.reasoning, &self.reasoning_content];
        let has_content = match &self.content {
            Some(AnswerText::Plain(text)) => !text.is_empty(),
            Some(AnswerText::Parts(parts)) => !parts.is_empty(),
            None => false,
        };
        has_content
            || self.refusal.as_ref().is_some_and(|r| !r.is_empty())
            || self.tool_calls.as_ref().is_some_and(|calls| !calls.is_empty())
            || self.reasoning_details.as_ref().is_some_and(|pieces| !pieces.is_empty())
            || thoughts.into_iter().flatten().any(|thought| thought.as_str() != Some(""))
    }
}

#[derive(Deserialize)]
struct StreamPiece {
    index: Option<u64>,
    id: Option<String>,
    function: Option<FunctionPiece>,
}

#[derive(Deserialize)]
struct FunctionPiece {
    name: Option<String>,
    arguments: Option<Value>,
}

/// An answer being assembled from events.
#[derive(Default)]
pub(crate) struct ChatPieces {
    answer: TextAnswer,
    text: surrogate::Joined,
    calls: BTreeMap<u64, (ToolCall, surrogate::Joined)>,
    thought: String,
    details: Vec<Value>,
    ended: bool,
}

impl Gather for ChatPieces {
    fn take(&mut self, frame: &str, on_text: &OnText<'_>) -> Result<Progress, Fail> {
        if frame.trim() == "[DONE]" {
            return Ok(Progress::Done);
        }
        let chunk: Chunk =
            surrogate::parse(frame).ok_or(Fail::Garbage("a piece of a chat completion"))?;
        if let Some(usage) = chunk.usage {
            self.answer.usage = Usage::from(usage);
        }
        if let Some(fault) = chunk.error.filter(|e| !e.is_null()) {
            return Err(error::in_band(&fault));
        }
        let mut held = Progress::Nothing;
        // Only one choice is requested; further ones would be the server's mistake.
        if let Some(choice) = chunk.choices.into_iter().next() {
            let reason = choice.finish_reason.as_deref();
            if let Some(fail) = error::of_choice(choice.error, reason, self.answer.usage) {
                return Err(fail);
            }
            if let Some(reason) = choice.finish_reason {
                self.answer.finish = finish(Some(&reason));
                self.ended = true;
                held = Progress::More;
            }
            if let Some(delta) = choice.delta {
                if delta.holds_something() {
                    held = Progress::More;
                }
                self.add(delta, on_text);
            }
        }
        Ok(held)
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
        self.answer.tool_calls = calls.filter(|call| !call.name.is_empty()).collect();
        if !self.ended && !self.answer.tool_calls.is_empty() {
            // Some relays end a broken stream like a complete one, except that the finish reason is
            // missing.
            self.answer.finish = Finish::Length;
        }
        if !self.answer.tool_calls.is_empty() {
            let reasoning = Reasoning {
                reasoning_content: Some(self.thought.into()),
                reasoning_details: Some(self.details.into()),
            };
            self.answer.opaque = reasoning.data().map(super::opaque::opaque);
        }
        complete_arguments(&mut self.answer);
        self.answer
    }
}

impl ChatPieces {
    fn add(&mut self, delta: Delta, on_text: &OnText<'_>) {
        if let Some(refusal) = delta.refusal.filter(|r| !r.is_empty()) {
            self.answer.finish = Finish::Filtered;
            self.text.show(&refusal, on_text);
        }
        if let Some(text) = delta.content {
            self.text.show(&text.into_string(), on_text);
        }
        if let Some(Value::String(piece)) = &delta.reasoning_content {
            self.thought.push_str(piece);
        }
        self.details.extend(delta.reasoning_details.unwrap_or_default());
        for piece in delta.tool_calls.unwrap_or_default() {
            // Servers that omit the index send each call whole.
            let index =
                piece.index.unwrap_or_else(|| u64::try_from(self.calls.len()).unwrap_or(u64::MAX));
            let begun = || {
                (
                    ToolCall {
                        id: format!("call_{index}"),
                        name: String::new(),
                        arguments: String::new(),
                    },
                    surrogate::Joined::default(),
                )
            };
            let (call, arguments) = self.calls.entry(index).or_insert_with(begun);
            if let Some(id) = piece.id.filter(|id| !id.is_empty()) {
                call.id = id;
            }
            if let Some(function) = piece.function {
                call.name.push_str(&function.name.unwrap_or_default());
                match function.arguments {
                    Some(Value::String(text)) => drop(arguments.push(&text)),
                    None | Some(Value::Null) => {}
                    Some(other) => drop(arguments.push(&other.to_string())),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_model_does_is_progress() {
        let cases = [
            (
                r#"{"choices":[{"delta":{"role":"assistant","content":"","refusal":null}}]}"#,
                Progress::Nothing,
            ),
            (r#"{"choices":[],"usage":{"prompt_tokens":3}}"#, Progress::Nothing),
            (r#"{"choices":[{"delta":{"content":"","reasoning":"hm"}}]}"#, Progress::More),
            (r#"{"choices":[{"delta":{"content":"","reasoning_content":"hm"}}]}"#, Progress::More),
            (r#"{"choices":[{"delta":{"content":"a"}}]}"#, Progress::More),
            (
                r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"X"}}]}}]}"#,
                Progress::More,
            ),
            (r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#, Progress::More),
            (r#"[DONE]"#, Progress::Done),
        ];
        for (frame, expected) in cases {
            assert_eq!(ChatPieces::default().take(frame, &|_| ()).unwrap(), expected, "{frame}");
        }
    }

    #[test]
    fn reasoning_is_kept_for_the_results_of_calls() {
        let mut pieces = ChatPieces::default();
        for frame in [
            r#"{"choices":[{"delta":{"reasoning_content":"Wea"}}]}"#,
            r#"{"choices":[{"delta":{"reasoning_content":"ther?","reasoning_details":[{"type":"reasoning.encrypted","data":"S"}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"rain","arguments":"{}"}}]}}]}"#,
            r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#,
        ] {
            pieces.take(frame, &|_| ()).unwrap();
        }
        assert_eq!(
            pieces.finish().opaque.unwrap().data,
            serde_json::json!({ "reasoning_content": "Weather?", "reasoning_details": [{ "type": "reasoning.encrypted", "data": "S" }] })
        );
    }

    #[test]
    fn a_call_without_an_end_may_be_cut_off() {
        let call = r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"X","arguments":"{\"a\":"}}]}}]}"#;
        let read = |frames: &[&str]| {
            let mut pieces = ChatPieces::default();
            frames.iter().for_each(|frame| assert!(pieces.take(frame, &|_| ()).is_ok()));
            pieces.finish()
        };
        assert_eq!(read(&[call, "[DONE]"]).finish, Finish::Length);
        assert_eq!(
            read(&[call, r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#, "[DONE]"])
                .finish,
            Finish::Tools
        );
        assert_eq!(
            read(&[r#"{"choices":[{"delta":{"content":"words"}}]}"#, "[DONE]"]).finish,
            Finish::Stop,
            "many servers never say why"
        );
    }

    #[test]
    fn an_error_beside_half_an_answer_is_a_failure() {
        for (frame, expected) in [
            (
                r#"{"choices":[{"delta":{"content":"half"},"finish_reason":"error","error":{"code":502,"message":"x"}}]}"#,
                502,
            ),
            (r#"{"choices":[{"delta":{"content":""},"finish_reason":"error"}]}"#, 500),
        ] {
            let outcome = ChatPieces::default().take(frame, &|text| panic!("{text} was shown"));
            assert!(
                matches!(outcome, Err(Fail::Broken(status, ..)) if status == expected),
                "{outcome:?}"
            );
        }
    }
}
