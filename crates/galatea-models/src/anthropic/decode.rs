//! Decodes the body of an answer into a [`TextAnswer`].

use galatea_core::model::{Finish, TextAnswer, ToolCall, Usage};
use serde::Deserialize;
use serde_json::Value;

use crate::wire::{Fail, surrogate};

#[derive(Deserialize)]
struct AnthropicAnswer {
    content: Vec<Value>,
    stop_reason: Option<String>,
    usage: Option<AnthropicTokens>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum AnswerBlock {
    Text {
        text: String,
    },
    ToolUse {
        id: String,
        name: String,
        #[serde(default)]
        input: Value,
    },
    #[serde(other)]
    Other,
}

/// Token counts. With caching, the prompt's tokens are divided into three counts.
#[derive(Deserialize, Default)]
pub(super) struct AnthropicTokens {
    pub(super) input_tokens: Option<u64>,
    pub(super) cache_creation_input_tokens: Option<u64>,
    pub(super) cache_creation: Option<Created>,
    pub(super) cache_read_input_tokens: Option<u64>,
    pub(super) output_tokens: Option<u64>,
}

/// Tokens that were written into the cache, by how long it stays there.
#[derive(Deserialize, Default, Clone, Copy)]
pub(super) struct Created {
    #[serde(default)]
    ephemeral_1h_input_tokens: u64,
}

impl AnthropicTokens {
    /// Replaces earlier counts: a stream sends them at its start, and the complete ones at its end.
    pub(super) fn update(&self, usage: &mut Usage) {
        let parts =
            [self.input_tokens, self.cache_creation_input_tokens, self.cache_read_input_tokens];
        if self.input_tokens.is_some() {
            usage.input = parts.into_iter().flatten().fold(0, u64::saturating_add);
            usage.cached = self.cache_read_input_tokens.unwrap_or_default();
            let all = self.cache_creation_input_tokens.unwrap_or_default();
            // The counts at the end of a stream do not say for how long.
            let long = self.cache_creation.map(|created| created.ephemeral_1h_input_tokens);
            let long = long.unwrap_or(usage.stored_long).min(all);
            (usage.stored, usage.stored_long) = (all - long, long);
        }
        if let Some(output) = self.output_tokens {
            usage.output = output;
        }
    }
}

pub(crate) fn decode(bytes: &[u8]) -> Result<TextAnswer, Fail> {
    let body: AnthropicAnswer = surrogate::parse_bytes(bytes).ok_or(Fail::Garbage("a message"))?;
    let mut answer =
        TextAnswer { finish: finish(body.stop_reason.as_deref()), ..TextAnswer::default() };
    let mut text_so_far = surrogate::Joined::default();
    let kept = body.content.clone();
    for block in body.content {
        match serde_json::from_value(block).map_err(|_| Fail::Garbage("a message"))? {
            AnswerBlock::Text { text } => drop(text_so_far.push(&text)),
            AnswerBlock::ToolUse { id, name, input } => {
                let arguments = if input.is_null() { "{}".to_owned() } else { input.to_string() };
                answer.tool_calls.push(ToolCall {
                    id,
                    name,
                    arguments: surrogate::whole(&arguments),
                });
            }
            AnswerBlock::Other => {}
        }
    }
    if !answer.tool_calls.is_empty() {
        answer.opaque = super::opaque::kept(kept);
    }
    answer.text = text_so_far.finish();
    body.usage.unwrap_or_default().update(&mut answer.usage);
    Ok(answer)
}

pub(super) fn finish(reason: Option<&str>) -> Finish {
    match reason {
        Some("max_tokens" | "model_context_window_exceeded") => Finish::Length,
        Some("tool_use") => Finish::Tools,
        Some("refusal") => Finish::Filtered,
        _ => Finish::Stop,
    }
}
