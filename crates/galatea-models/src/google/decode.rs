//! Decodes bodies and stream events into a [`TextAnswer`]; both have the same shape.

use galatea_core::model::{Finish, OnText, TextAnswer, ToolCall, Usage};
use serde::Deserialize;
use serde_json::Value;

use super::error;
use crate::wire::{Fail, Gather, Progress, surrogate};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GoogleAnswer {
    candidates: Option<Vec<AnswerCandidate>>,
    prompt_feedback: Option<Feedback>,
    usage_metadata: Option<GoogleTokens>,
    model_version: Option<String>,
    error: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AnswerCandidate {
    content: Option<GoogleContent>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct GoogleContent {
    #[serde(default)]
    parts: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GooglePart {
    text: Option<String>,
    #[serde(default)]
    thought: bool,
    function_call: Option<GoogleCall>,
}

#[derive(Deserialize)]
struct GoogleCall {
    id: Option<String>,
    name: String,
    #[serde(default)]
    args: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback {
    block_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GoogleTokens {
    #[serde(default)]
    prompt_token_count: u64,
    #[serde(default)]
    cached_content_token_count: u64,
    #[serde(default)]
    candidates_token_count: u64,
    #[serde(default)]
    thoughts_token_count: u64,
}

/// An answer being assembled from events.
#[derive(Default)]
pub(crate) struct GooglePieces {
    answer: TextAnswer,
    text: surrogate::Joined,
    /// The parts so far, for the request with the tools' results.
    parts: Vec<Value>,
    ended: bool,
}

impl Gather for GooglePieces {
    fn take(&mut self, frame: &str, on_text: &OnText<'_>) -> Result<Progress, Fail> {
        const SHAPE: &str = "generated content";
        let body: GoogleAnswer = surrogate::parse(frame).ok_or(Fail::Garbage(SHAPE))?;
        if let Some(fault) = body.error.filter(|e| !e.is_null()) {
            return Err(error::in_band(&fault));
        }
        if body.candidates.is_none()
            && body.prompt_feedback.is_none()
            && body.usage_metadata.is_none()
        {
            return Err(Fail::Garbage(SHAPE));
        }
        if body.model_version.is_some() {
            self.answer.served = body.model_version;
        }
        if let Some(tokens) = body.usage_metadata {
            let output = tokens.candidates_token_count.saturating_add(tokens.thoughts_token_count);
            self.answer.usage = Usage {
                input: tokens.prompt_token_count,
                cached: tokens.cached_content_token_count,
                output,
                ..Usage::default()
            };
        }
        if body.prompt_feedback.is_some_and(|feedback| feedback.block_reason.is_some()) {
            self.answer.finish = Finish::Filtered;
            self.ended = true;
        }
        let mut held = Progress::Nothing;
        if let Some(candidate) = body.candidates.unwrap_or_default().into_iter().next() {
            for part in candidate.content.map(|content| content.parts).unwrap_or_default() {
                let read = serde_json::from_value(part.clone());
                self.parts.push(part);
                self.add(read.map_err(|_| Fail::Garbage(SHAPE))?, on_text);
                held = Progress::More;
            }
            if let Some(reason) = candidate.finish_reason {
                held = Progress::More;
                self.answer.finish = finish(&reason);
                self.ended = true;
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

    fn finish(self) -> TextAnswer {
        // Newer models refuse the results of a call whose signature is not sent again (Gemini API,
        // "Thought signatures").
        let signed = self.parts.iter().any(|part| part.get("thoughtSignature").is_some());
        let opaque = (signed && !self.answer.tool_calls.is_empty())
            .then(|| crate::wire::opaque(super::opaque::FORMAT, self.parts.into()));
        TextAnswer { text: self.text.finish(), opaque, ..self.answer }
    }
}

impl GooglePieces {
    fn add(&mut self, part: GooglePart, on_text: &OnText<'_>) {
        if let Some(text) = part.text.filter(|text| !text.is_empty() && !part.thought) {
            self.text.show(&text, on_text);
        }
        if let Some(call) = part.function_call {
            let arguments =
                if call.args.is_null() { "{}".to_owned() } else { call.args.to_string() };
            let id = call.id.unwrap_or_else(|| format!("call_{}", self.answer.tool_calls.len()));
            self.answer.tool_calls.push(ToolCall {
                id,
                name: call.name,
                arguments: surrogate::whole(&arguments),
            });
        }
    }
}

fn finish(reason: &str) -> Finish {
    match reason {
        "MAX_TOKENS" => Finish::Length,
        "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "LANGUAGE"
        | "IMAGE_SAFETY" => Finish::Filtered,
        _ => Finish::Stop,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_model_does_is_progress() {
        let cases = [
            (r#"{"usageMetadata":{"promptTokenCount":3}}"#, Progress::Nothing),
            (r#"{"candidates":[{"content":{"role":"model"}}]}"#, Progress::Nothing),
            (
                r#"{"candidates":[{"content":{"parts":[{"text":"hm","thought":true}]}}]}"#,
                Progress::More,
            ),
            (r#"{"candidates":[{"content":{"parts":[{"text":"a"}]}}]}"#, Progress::More),
            (r#"{"candidates":[{"finishReason":"STOP"}]}"#, Progress::More),
        ];
        for (frame, expected) in cases {
            assert_eq!(GooglePieces::default().take(frame, &|_| ()).unwrap(), expected, "{frame}");
        }
    }
}
