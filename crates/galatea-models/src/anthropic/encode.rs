//! [`TextRequest`] → body of `POST /messages`.

use std::borrow::Cow;

use galatea_core::{
    ModelInfo,
    model::{ChatPart, ChatRole, TextRequest},
};
use serde::Serialize;
use serde_json::Value;

use crate::{families::Rules, wire::object_schema};

/// `max_tokens` is required; elizaOS asks for this many, and it is the least limit of the models in
/// use (Claude 3.5 Haiku).
const MAX_TOKENS: u32 = 8192;

/// Stands first when a conversation begins with the model's side, which the API refuses.
const OPENING: &str = "(the conversation so far)";

/// Stands last when a conversation ends with the model's side, which newer models refuse.
const GO_ON: &str = "(go on)";

#[derive(Serialize)]
pub(super) struct Body<'a> {
    model: &'a str,
    max_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<&'a str>,
    messages: Vec<Message<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_k: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stop_sequences: Vec<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stream: bool,
}

#[derive(Serialize)]
struct OutputConfig {
    effort: &'static str,
}

#[derive(Serialize)]
struct Message<'a> {
    role: ChatRole,
    content: Vec<Block<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text { text: &'a str },
    Image { source: Source<'a> },
}

#[derive(Serialize)]
struct Source<'a> {
    r#type: &'static str,
    media_type: &'a str,
    data: &'a str,
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: Cow<'a, Value>,
}

pub(super) fn encode<'a>(request: &'a TextRequest, info: &'a ModelInfo, rules: &Rules) -> Body<'a> {
    let params = &request.params;
    let model = info.model.as_str();
    let effort = rules.effort(params.effort);
    let samples = rules.samples(effort);
    let most = info.limits.output.unwrap_or(u32::MAX);
    Body {
        model,
        max_tokens: params.max_tokens.unwrap_or(MAX_TOKENS).clamp(1, most),
        system: request.system.as_deref().filter(|text| !text.trim().is_empty()),
        messages: messages(request, rules.prefill),
        tools: request
            .tools
            .iter()
            .map(|tool| Tool {
                name: &tool.name,
                description: &tool.description,
                input_schema: object_schema(&tool.parameters),
            })
            .collect(),
        // Elsewhere the scale ends at 2, here at 1.
        temperature: params.temperature.filter(|_| samples).map(|t| t.clamp(0.0, 1.0)),
        // Newer models refuse both together (API reference, `top_p`).
        top_p: params.top_p.filter(|_| samples && params.temperature.is_none()),
        top_k: params.top_k.filter(|_| samples),
        output_config: effort.map(|effort| OutputConfig { effort: effort.as_str() }),
        // Stop texts of white space only are refused.
        stop_sequences: params
            .stop
            .iter()
            .map(String::as_str)
            .filter(|text| !text.trim().is_empty())
            .collect(),
        stream: request.stream,
    }
}

/// Roles take turns, the user's side first, no block is empty, and the last does not end in white
/// space of the model's side. Without `prefill` the last is the user's.
fn messages(request: &TextRequest, prefill: bool) -> Vec<Message<'_>> {
    let mut out: Vec<Message<'_>> = Vec::with_capacity(request.messages.len());
    for message in request.messages.iter() {
        let content: Vec<Block<'_>> = message.parts.iter().filter_map(block).collect();
        if content.is_empty() {
            continue;
        }
        match out.last_mut() {
            Some(last) if last.role == message.role => last.content.extend(content),
            _ => out.push(Message { role: message.role, content }),
        }
    }
    if out.first().is_none_or(|first| first.role == ChatRole::Assistant) {
        out.insert(
            0,
            Message { role: ChatRole::User, content: vec![Block::Text { text: OPENING }] },
        );
    }
    if !prefill && out.last().is_some_and(|last| last.role == ChatRole::Assistant) {
        out.push(Message { role: ChatRole::User, content: vec![Block::Text { text: GO_ON }] });
    }
    if let Some(Message { role: ChatRole::Assistant, content }) = out.last_mut() {
        for block in content {
            if let Block::Text { text } = block {
                *text = text.trim_end();
            }
        }
    }
    out
}

fn block(part: &ChatPart) -> Option<Block<'_>> {
    match part {
        ChatPart::Text { text } if text.trim().is_empty() => None,
        ChatPart::Text { text } => Some(Block::Text { text }),
        ChatPart::Image { mime, data } => {
            Some(Block::Image { source: Source { r#type: "base64", media_type: mime, data } })
        }
    }
}
