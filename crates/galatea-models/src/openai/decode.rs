//! Decodes the body of an answer into a [`TextAnswer`].

use galatea_core::model::{Finish, TextAnswer, ToolCall, Usage};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::error;
use crate::wire::{Fail, surrogate};

#[derive(Deserialize)]
struct ChatAnswer {
    choices: Option<Vec<AnswerChoice>>,
    usage: Option<ChatTokens>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct AnswerChoice {
    message: Option<ChatReply>,
    finish_reason: Option<String>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct ChatReply {
    content: Option<AnswerText>,
    refusal: Option<String>,
    tool_calls: Option<Vec<ChatCall>>,
    #[serde(flatten)]
    reasoning: Reasoning,
}

/// Reasoning that a service wants again with the results of the tools it called: DeepSeek and others
/// as text, OpenRouter as a list of whatever the model's own service wants.
#[derive(Deserialize, Default)]
pub(super) struct Reasoning {
    pub(super) reasoning_content: Option<Value>,
    pub(super) reasoning_details: Option<Value>,
}

impl Reasoning {
    /// The fields as they go back; none without any.
    pub(super) fn data(self) -> Option<Value> {
        let fields = [
            ("reasoning_content", self.reasoning_content),
            ("reasoning_details", self.reasoning_details),
        ];
        let empty = |value: &Value| {
            value.as_str().is_some_and(str::is_empty)
                || value.as_array().is_some_and(Vec::is_empty)
                || value.is_null()
        };
        let fields: Map<String, Value> = fields
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value.filter(|v| !empty(v))?)))
            .collect();
        (!fields.is_empty()).then(|| Value::Object(fields))
    }
}

/// Text, or a list of parts that contains text, as a few servers send it.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum AnswerText {
    Plain(String),
    Parts(Vec<Value>),
}

impl AnswerText {
    pub(super) fn into_string(self) -> String {
        match self {
            Self::Plain(text) => text,
            Self::Parts(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        }
    }
}

#[derive(Deserialize)]
struct ChatCall {
    id: Option<String>,
    function: CalledFunction,
}

#[derive(Deserialize)]
struct CalledFunction {
    name: String,
    #[serde(default)]
    arguments: Value,
}

#[derive(Deserialize)]
pub(super) struct ChatTokens {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
    prompt_tokens_details: Option<Details>,
}

#[derive(Deserialize, Default)]
struct Details {
    cached_tokens: Option<u64>,
    /// From GPT-5.6 on; OpenRouter has it too.
    cache_write_tokens: Option<u64>,
}

impl From<ChatTokens> for Usage {
    fn from(tokens: ChatTokens) -> Self {
        let details = tokens.prompt_tokens_details.unwrap_or_default();
        Self {
            input: tokens.prompt_tokens,
            cached: details.cached_tokens.unwrap_or_default(),
            stored: details.cache_write_tokens.unwrap_or_default(),
            output: tokens.completion_tokens,
            ..Self::default()
        }
    }
}

pub(crate) fn decode(bytes: &[u8]) -> Result<TextAnswer, Fail> {
    const SHAPE: &str = "a chat completion";
    let body: ChatAnswer = surrogate::parse_bytes(bytes).ok_or(Fail::Garbage(SHAPE))?;
    let usage = body.usage.map(Usage::from).unwrap_or_default();
    if let Some(fault) = body.error.filter(|e| !e.is_null()) {
        let fail = error::in_band(&fault);
        let begun = body.choices.is_some_and(|choices| !choices.is_empty());
        return Err(if begun { fail.broken(usage) } else { fail });
    }
    let Some(choice) = body.choices.ok_or(Fail::Garbage(SHAPE))?.into_iter().next() else {
        return Ok(TextAnswer { usage, ..TextAnswer::default() });
    };
    if let Some(fail) = error::of_choice(choice.error, choice.finish_reason.as_deref(), usage) {
        return Err(fail);
    }
    let message = choice.message.ok_or(Fail::Garbage(SHAPE))?;
    let mut finish = finish(choice.finish_reason.as_deref());
    let mut text = message
        .content
        .map(AnswerText::into_string)
        .map(|text| surrogate::whole(&text))
        .unwrap_or_default();
    if let Some(refusal) = message.refusal.filter(|_| text.is_empty()) {
        text = surrogate::whole(&refusal);
        finish = Finish::Filtered;
    }
    let opaque = message.reasoning.data().map(super::opaque::opaque);
    let tool_calls: Vec<ToolCall> = message
        .tool_calls
        .unwrap_or_default()
        .into_iter()
        .enumerate()
        .map(|(i, call)| tool_call(i, call))
        .collect();
    let opaque = opaque.filter(|_| !tool_calls.is_empty());
    Ok(TextAnswer { text, tool_calls, opaque, usage, finish, ..TextAnswer::default() })
}

fn tool_call(i: usize, call: ChatCall) -> ToolCall {
    let arguments = match call.function.arguments {
        Value::String(text) => text,
        Value::Null => "{}".to_owned(),
        other => other.to_string(),
    };
    ToolCall {
        id: call.id.unwrap_or_else(|| format!("call_{i}")),
        name: call.function.name,
        arguments: surrogate::mended(surrogate::whole(&arguments)),
    }
}

pub(super) fn finish(reason: Option<&str>) -> Finish {
    match reason {
        Some("length" | "max_tokens") => Finish::Length,
        Some("tool_calls" | "function_call") => Finish::Tools,
        Some("content_filter") => Finish::Filtered,
        _ => Finish::Stop,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn loose_servers_are_understood() {
        let body = br#"{"choices":[{"message":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],
            "tool_calls":[{"function":{"name":"X","arguments":{"n":1}}},{"id":"z","function":{"name":"Y"}}]},"finish_reason":"eos"}]}"#;
        let answer = decode(body).unwrap();
        assert_eq!(answer.text, "ab");
        assert_eq!(
            answer.tool_calls[0],
            ToolCall { id: "call_0".into(), name: "X".into(), arguments: "{\"n\":1}".into() }
        );
        assert_eq!(answer.tool_calls[1].arguments, "{}");
    }

    #[test]
    fn a_refusal_is_a_withheld_answer() {
        let answer = decode(
            br#"{"choices":[{"message":{"content":null,"refusal":"No."},"finish_reason":"stop"}]}"#,
        )
        .unwrap();
        assert_eq!((answer.text.as_str(), answer.finish), ("No.", Finish::Filtered));
    }

    #[test]
    fn an_error_beside_half_an_answer_is_a_failure() {
        for body in [
            r#"{"choices":[{"message":{"content":"half"},"finish_reason":"error","error":{"code":429,"message":"x"}}],"usage":{"prompt_tokens":9}}"#,
            r#"{"error":{"code":429,"message":"x"},"choices":[{"message":{"content":"half"}}],"usage":{"prompt_tokens":9}}"#,
        ] {
            let Err(Fail::Broken(429, _, usage)) = decode(body.as_bytes()) else {
                panic!("{body}")
            };
            assert_eq!(usage.input, 9, "{body}");
        }
        let alone = br#"{"error":{"code":429,"message":"x"},"choices":[]}"#;
        assert!(matches!(decode(alone), Err(Fail::Refused(429, _))));
        let unexplained =
            br#"{"choices":[{"message":{"content":"half"},"finish_reason":"error"}]}"#;
        assert!(matches!(decode(unexplained), Err(Fail::Broken(500, ..))));
    }

    proptest! {
        #[test]
        fn never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&bytes);
        }
    }
}
