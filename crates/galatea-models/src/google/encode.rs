//! Encodes a [`TextRequest`] as the body of `generateContent`.

use std::borrow::Cow;

use galatea_core::model::{ChatMessage, ChatPart, ChatRole, Sampling, TextRequest, ToolChoice};
use serde::Serialize;
use serde_json::Value;

use crate::{families::Rules, wire::object_schema};

/// Most stop texts (API reference, `GenerationConfig.stopSequences`).
const MAX_STOP: usize = 5;

/// First message of a conversation that would begin with the model's side, which the API refuses.
const OPENING: &str = "(the conversation so far)";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GoogleRequest<'a> {
    contents: Vec<RequestContent<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<System<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tools<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_config: Option<ToolConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    generation_config: Option<GenerationConfig<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolConfig {
    function_calling_config: CallingConfig,
}

#[derive(Serialize)]
struct CallingConfig {
    mode: &'static str,
}

#[derive(Serialize)]
struct System<'a> {
    parts: [RequestPart<'a>; 1],
}

#[derive(Serialize)]
struct RequestContent<'a> {
    role: &'static str,
    parts: Vec<RequestPart<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum RequestPart<'a> {
    Text(&'a str),
    #[serde(rename_all = "camelCase")]
    InlineData {
        mime_type: &'a str,
        data: &'a str,
    },
    FunctionCall {
        name: &'a str,
        args: Value,
    },
    FunctionResponse {
        name: &'a str,
        response: Value,
    },
    /// A part of an earlier answer, as it was: its signature holds for nothing else.
    #[serde(untagged)]
    AsItWas(&'a Value),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tools<'a> {
    function_declarations: Vec<GoogleFunction<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GoogleFunction<'a> {
    name: &'a str,
    description: &'a str,
    // `parameters` supports only a dialect of OpenAPI, without `$schema` and
    // `additionalProperties`.
    parameters_json_schema: Cow<'a, Value>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GenerationConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_k: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    presence_penalty: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    frequency_penalty: Option<f32>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    stop_sequences: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<ThinkingConfig>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ThinkingConfig {
    thinking_level: &'static str,
}

pub(super) fn encode<'a>(
    request: &'a TextRequest,
    model: &str,
    rules: &Rules,
) -> GoogleRequest<'a> {
    let functions: Vec<GoogleFunction<'_>> = request
        .tools
        .iter()
        .map(|tool| GoogleFunction {
            name: &tool.name,
            description: &tool.description,
            parameters_json_schema: object_schema(&tool.parameters),
        })
        .collect();
    GoogleRequest {
        contents: contents(request, model),
        tool_config: (request.tool_choice == ToolChoice::None && !functions.is_empty())
            .then_some(ToolConfig { function_calling_config: CallingConfig { mode: "NONE" } }),
        system_instruction: request
            .system
            .as_deref()
            .filter(|text| !text.trim().is_empty())
            .map(|text| System { parts: [RequestPart::Text(text)] }),
        tools: if functions.is_empty() {
            Vec::new()
        } else {
            vec![Tools { function_declarations: functions }]
        },
        generation_config: config(&request.params, rules),
    }
}

/// A prompt with one file.
pub(super) fn with_file<'a>(
    prompt: &'a str,
    mime_type: &'a str,
    data: &'a str,
) -> GoogleRequest<'a> {
    let parts = vec![RequestPart::InlineData { mime_type, data }, RequestPart::Text(prompt)];
    GoogleRequest {
        contents: vec![RequestContent { role: "user", parts }],
        system_instruction: None,
        tools: Vec::new(),
        tool_config: None,
        generation_config: None,
    }
}

fn contents<'a>(request: &'a TextRequest, model: &str) -> Vec<RequestContent<'a>> {
    let mut out: Vec<RequestContent<'a>> = Vec::with_capacity(request.messages.len());
    for message in request.messages.iter() {
        let role = match message.role {
            ChatRole::User | ChatRole::System | ChatRole::Tool => "user",
            ChatRole::Assistant => "model",
        };
        let parts = parts(message, model);
        if parts.is_empty() {
            continue;
        }
        match out.last_mut() {
            Some(last) if last.role == role => last.parts.extend(parts),
            _ => out.push(RequestContent { role, parts }),
        }
    }
    if out.first().is_none_or(|first| first.role == "model") {
        out.insert(0, RequestContent { role: "user", parts: vec![RequestPart::Text(OPENING)] });
    }
    out
}

/// The parts of a message; those of an answer with signed thoughts as they were.
fn parts<'a>(message: &'a ChatMessage, model: &str) -> Vec<RequestPart<'a>> {
    match message.opaque(super::opaque::FORMAT, model) {
        Some(Value::Array(parts)) => parts.iter().map(RequestPart::AsItWas).collect(),
        _ => message.parts.iter().filter_map(part).collect(),
    }
}

fn part(part: &ChatPart) -> Option<RequestPart<'_>> {
    match part {
        ChatPart::Text { text } if text.is_empty() => None,
        ChatPart::Text { text } => Some(RequestPart::Text(text)),
        ChatPart::Image { mime, data } => Some(RequestPart::InlineData { mime_type: mime, data }),
        ChatPart::ToolCall { call } => Some(RequestPart::FunctionCall {
            name: &call.name,
            args: crate::wire::arguments(&call.arguments),
        }),
        // Results belong to calls by their order (Gemini API, "Function calling").
        ChatPart::ToolResult { name, text, failed, .. } => Some(RequestPart::FunctionResponse {
            name,
            response: serde_json::json!({ if *failed { "error" } else { "output" }: text }),
        }),
        ChatPart::Opaque { .. } => None,
    }
}

fn config<'a>(params: &'a Sampling, rules: &Rules) -> Option<GenerationConfig<'a>> {
    let effort = rules.effort(params.effort);
    let samples = rules.samples(effort);
    (*params != Sampling::default()).then(|| GenerationConfig {
        max_output_tokens: params.max_tokens,
        temperature: params.temperature.filter(|_| samples),
        top_p: params.top_p.filter(|_| samples),
        top_k: params.top_k.filter(|_| samples),
        // The API's seed has 32 bits.
        seed: params.seed.and_then(|seed| i32::try_from(seed).ok()),
        presence_penalty: params.presence_penalty.filter(|_| samples),
        frequency_penalty: params.frequency_penalty.filter(|_| samples),
        stop_sequences: &params.stop[..params.stop.len().min(MAX_STOP)],
        thinking_config: effort.map(|effort| ThinkingConfig { thinking_level: effort.as_str() }),
    })
}
