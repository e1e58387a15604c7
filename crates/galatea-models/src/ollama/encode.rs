//! Encodes a [`TextRequest`] as the body of `POST /api/chat`.

use std::borrow::Cow;

use galatea_core::model::{ChatMessage, ChatPart, ChatRole, Sampling, TextRequest};
use serde::Serialize;
use serde_json::Value;

use crate::wire::object_schema;

#[derive(Serialize)]
pub(super) struct OllamaRequest<'a> {
    model: &'a str,
    messages: Vec<OllamaMessage<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<OllamaTool<'a>>,
    // Always sent, since Ollama streams by default.
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    options: Option<Options<'a>>,
}

#[derive(Serialize)]
struct OllamaMessage<'a> {
    role: &'static str,
    content: Cow<'a, str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    images: Vec<&'a str>,
}

#[derive(Serialize)]
struct OllamaTool<'a> {
    r#type: &'static str,
    function: OllamaFunctionSpec<'a>,
}

#[derive(Serialize)]
struct OllamaFunctionSpec<'a> {
    name: &'a str,
    description: &'a str,
    parameters: Cow<'a, Value>,
}

/// Parameter names of docs/modelfile.md, "Valid parameters and values".
#[derive(Serialize, PartialEq)]
struct Options<'a> {
    // Tokens of prompt and answer together. Ollama silently drops the beginning of a longer prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    num_ctx: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    num_predict: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_k: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_p: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repeat_penalty: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    frequency_penalty: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    presence_penalty: Option<f32>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    stop: &'a [String],
}

pub(super) fn encode<'a>(
    request: &'a TextRequest,
    model: &'a str,
    window: Option<u32>,
) -> OllamaRequest<'a> {
    let mut messages = Vec::with_capacity(request.messages.len() + 1);
    if let Some(system) = request.system.as_deref().filter(|text| !text.is_empty()) {
        messages.push(OllamaMessage {
            role: "system",
            content: Cow::Borrowed(system),
            images: Vec::new(),
        });
    }
    messages.extend(request.messages.iter().map(message));
    let tools = request
        .tools
        .iter()
        .map(|tool| OllamaTool {
            r#type: "function",
            function: OllamaFunctionSpec {
                name: &tool.name,
                description: &tool.description,
                parameters: object_schema(&tool.parameters),
            },
        })
        .collect();
    OllamaRequest {
        model,
        messages,
        tools,
        stream: request.stream,
        options: options(&request.params, window),
    }
}

fn message(message: &ChatMessage) -> OllamaMessage<'_> {
    let role = match message.role {
        ChatRole::User => "user",
        ChatRole::Assistant => "assistant",
        ChatRole::System => "system",
    };
    let content = match message.parts.as_slice() {
        [ChatPart::Text { text }] => Cow::Borrowed(text.as_str()),
        _ => Cow::Owned(message.text()),
    };
    let images = message
        .parts
        .iter()
        .filter_map(|part| {
            if let ChatPart::Image { data, .. } = part { Some(data.as_str()) } else { None }
        })
        .collect();
    OllamaMessage { role, content, images }
}

fn options(params: &Sampling, window: Option<u32>) -> Option<Options<'_>> {
    (window.is_some() || *params != Sampling::default()).then_some(Options {
        num_ctx: window,
        num_predict: params.max_tokens,
        temperature: params.temperature,
        top_p: params.top_p,
        top_k: params.top_k,
        min_p: params.min_p,
        seed: params.seed,
        repeat_penalty: params.repetition_penalty,
        frequency_penalty: params.frequency_penalty,
        presence_penalty: params.presence_penalty,
        stop: &params.stop,
    })
}
