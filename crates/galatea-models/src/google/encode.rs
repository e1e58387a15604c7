//! Encodes a [`TextRequest`] as the body of `generateContent`.

use std::borrow::Cow;

use galatea_core::model::{ChatPart, ChatRole, Sampling, TextRequest};
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
    generation_config: Option<GenerationConfig<'a>>,
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

pub(super) fn encode<'a>(request: &'a TextRequest, rules: &Rules) -> GoogleRequest<'a> {
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
        contents: contents(request),
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
        generation_config: None,
    }
}

fn contents(request: &TextRequest) -> Vec<RequestContent<'_>> {
    let mut out: Vec<RequestContent<'_>> = Vec::with_capacity(request.messages.len());
    for message in request.messages.iter() {
        let role = match message.role {
            ChatRole::User | ChatRole::System => "user",
            ChatRole::Assistant => "model",
        };
        let parts: Vec<RequestPart<'_>> = message.parts.iter().filter_map(part).collect();
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

fn part(part: &ChatPart) -> Option<RequestPart<'_>> {
    match part {
        ChatPart::Text { text } if text.is_empty() => None,
        ChatPart::Text { text } => Some(RequestPart::Text(text)),
        ChatPart::Image { mime, data } => Some(RequestPart::InlineData { mime_type: mime, data }),
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
