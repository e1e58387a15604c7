//! Encodes a [`TextRequest`] as the body of `POST /responses`.

use galatea_core::model::{ChatMessage, ChatPart, ChatRole, TextRequest};
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;

use crate::{families::Rules, wire::object_schema};

/// Smallest `max_output_tokens` that the API accepts (API reference, Responses).
const LEAST_OUTPUT: u32 = 16;

#[derive(Serialize)]
pub(super) struct ResponsesBody<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<&'a str>,
    input: Vec<InputItem<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ResponsesTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Reasoning>,
    // Always false, so that OpenAI does not store conversations.
    store: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
}

#[derive(Serialize)]
struct Reasoning {
    effort: &'static str,
}

#[derive(Serialize)]
struct InputItem<'a> {
    role: &'static str,
    content: InputContent<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum InputContent<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<InputPart<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum InputPart<'a> {
    InputText { text: &'a str },
    InputImage { image_url: String, detail: &'static str },
}

#[derive(Serialize)]
struct ResponsesTool<'a> {
    r#type: &'static str,
    name: &'a str,
    description: &'a str,
    parameters: Cow<'a, Value>,
    // Always sent: the default is strict, which requires another kind of schema (all fields
    // required, no additional ones).
    strict: bool,
}

/// Encodes a request; with `keyed`, all requests of a conversation carry the same key (OpenAI,
/// "Prompt caching").
pub(super) fn encode<'a>(
    request: &'a TextRequest,
    model: &'a str,
    rules: &Rules,
    keyed: bool,
) -> ResponsesBody<'a> {
    let params = &request.params;
    let samples = rules.samples(params.effort);
    ResponsesBody {
        model,
        instructions: request.system.as_deref().filter(|text| !text.trim().is_empty()),
        input: request.messages.iter().map(item).collect(),
        tools: request
            .tools
            .iter()
            .map(|tool| ResponsesTool {
                r#type: "function",
                name: &tool.name,
                description: &tool.description,
                parameters: object_schema(&tool.parameters),
                strict: false,
            })
            .collect(),
        max_output_tokens: params.max_tokens.map(|tokens| tokens.max(LEAST_OUTPUT)),
        temperature: params.temperature.filter(|_| samples),
        top_p: params.top_p.filter(|_| samples),
        reasoning: rules.effort(params.effort).map(|effort| Reasoning { effort: effort.as_str() }),
        store: false,
        stream: request.stream,
        prompt_cache_key: request.conversation.as_deref().filter(|_| keyed),
    }
}

fn item(message: &ChatMessage) -> InputItem<'_> {
    let role = match message.role {
        ChatRole::User => "user",
        ChatRole::Assistant => "assistant",
        ChatRole::System => "system",
    };
    let content = match message.parts.as_slice() {
        [ChatPart::Text { text }] => InputContent::Text(Cow::Borrowed(text)),
        parts
            if message.role == ChatRole::User
                && parts.iter().any(|part| matches!(part, ChatPart::Image { .. })) =>
        {
            InputContent::Parts(parts.iter().map(part).collect())
        }
        _ => InputContent::Text(Cow::Owned(message.text())),
    };
    InputItem { role, content }
}

fn part(part: &ChatPart) -> InputPart<'_> {
    match part {
        ChatPart::Text { text } => InputPart::InputText { text },
        ChatPart::Image { mime, data } => InputPart::InputImage {
            image_url: format!("data:{mime};base64,{data}"),
            detail: "auto",
        },
    }
}
