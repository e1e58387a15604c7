//! Encodes a [`TextRequest`] as the body of `POST /api/chat`.

use std::borrow::Cow;

use galatea_core::model::{ChatMessage, ChatPart, ChatRole, Sampling, TextRequest, ToolChoice};
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
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<OllamaCalled<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_name: Option<&'a str>,
}

impl<'a> OllamaMessage<'a> {
    fn new(role: &'static str, content: Cow<'a, str>) -> Self {
        let (images, tool_calls) = (Vec::new(), Vec::new());
        Self { role, content, images, thinking: None, tool_calls, tool_name: None }
    }
}

#[derive(Serialize)]
struct OllamaCalled<'a> {
    function: CalledFunction<'a>,
}

#[derive(Serialize)]
struct CalledFunction<'a> {
    name: &'a str,
    arguments: Value,
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
        messages.push(OllamaMessage::new("system", Cow::Borrowed(system)));
    }
    for said in request.messages.iter() {
        if said.role == ChatRole::Tool {
            messages.extend(said.parts.iter().filter_map(result));
        } else {
            messages.push(message(said, model));
        }
    }
    // The API has no other way to say that none may be called.
    let offered = request.tools.iter().filter(|_| request.tool_choice == ToolChoice::Auto);
    let tools = offered
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

/// The result of a call, which is a message of its own here.
fn result(part: &ChatPart) -> Option<OllamaMessage<'_>> {
    let ChatPart::ToolResult { name, text, .. } = part else { return None };
    let said = OllamaMessage::new("tool", Cow::Borrowed(text));
    Some(OllamaMessage { tool_name: Some(name), ..said })
}

fn message<'a>(message: &'a ChatMessage, model: &str) -> OllamaMessage<'a> {
    let role = match message.role {
        ChatRole::User | ChatRole::Tool => "user",
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
    let called = message.calls().map(|call| OllamaCalled {
        function: CalledFunction {
            name: &call.name,
            arguments: crate::wire::arguments(&call.arguments),
        },
    });
    OllamaMessage {
        images,
        thinking: message.opaque(super::opaque::FORMAT, model).and_then(Value::as_str),
        tool_calls: called.collect(),
        ..OllamaMessage::new(role, content)
    }
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
