//! Encodes a [`TextRequest`] as the body of `POST /responses`.

use galatea_core::model::{ChatMessage, ChatPart, ChatRole, TextRequest, ToolChoice};
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
    tool_choice: Option<&'static str>,
    /// Thoughts come encrypted where tools may be called: nothing is stored at OpenAI, so they have to
    /// be sent again with the results (OpenAI, "Reasoning models", encrypted reasoning items).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    include: Vec<&'static str>,
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
#[serde(untagged)]
enum InputItem<'a> {
    /// A message.
    Said { role: &'static str, content: InputContent<'a> },
    /// A call of the model.
    Called { r#type: &'static str, call_id: &'a str, name: &'a str, arguments: &'a str },
    /// Its result.
    Result { r#type: &'static str, call_id: &'a str, output: &'a str },
    /// An item of an earlier answer, as it was.
    AsItWas(&'a Value),
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
        input: request.messages.iter().flat_map(|message| items(message, model)).collect(),
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
        tool_choice: (request.tool_choice == ToolChoice::None && !request.tools.is_empty())
            .then_some("none"),
        include: if request.tools.is_empty() || rules.efforts.is_empty() {
            Vec::new()
        } else {
            vec!["reasoning.encrypted_content"]
        },
        max_output_tokens: params.max_tokens.map(|tokens| tokens.max(LEAST_OUTPUT)),
        temperature: params.temperature.filter(|_| samples),
        top_p: params.top_p.filter(|_| samples),
        reasoning: rules.effort(params.effort).map(|effort| Reasoning { effort: effort.as_str() }),
        store: false,
        stream: request.stream,
        prompt_cache_key: request.conversation.as_deref().filter(|_| keyed),
    }
}

/// The items of a message: one, or one for each call and result.
fn items<'a>(message: &'a ChatMessage, model: &str) -> Vec<InputItem<'a>> {
    if let Some(Value::Array(items)) = message.opaque(super::opaque::FORMAT, model) {
        return items.iter().map(InputItem::AsItWas).collect();
    }
    let of_tools = message.parts.iter().filter_map(|part| match part {
        ChatPart::ToolCall { call } => Some(InputItem::Called {
            r#type: "function_call",
            call_id: &call.id,
            name: &call.name,
            arguments: &call.arguments,
        }),
        ChatPart::ToolResult { id, text, .. } => {
            Some(InputItem::Result { r#type: "function_call_output", call_id: id, output: text })
        }
        _ => None,
    });
    let of_tools: Vec<InputItem<'_>> = of_tools.collect();
    let wordless = !of_tools.is_empty() && message.text().trim().is_empty();
    (!wordless).then(|| item(message)).into_iter().chain(of_tools).collect()
}

fn item(message: &ChatMessage) -> InputItem<'_> {
    let role = match message.role {
        ChatRole::User | ChatRole::Tool => "user",
        ChatRole::Assistant => "assistant",
        ChatRole::System => "system",
    };
    let content = match message.parts.as_slice() {
        [ChatPart::Text { text }] => InputContent::Text(Cow::Borrowed(text)),
        parts
            if message.role == ChatRole::User
                && parts.iter().any(|part| matches!(part, ChatPart::Image { .. })) =>
        {
            InputContent::Parts(parts.iter().filter_map(part).collect())
        }
        _ => InputContent::Text(Cow::Owned(message.text())),
    };
    InputItem::Said { role, content }
}

fn part(part: &ChatPart) -> Option<InputPart<'_>> {
    Some(match part {
        ChatPart::Text { text } => InputPart::InputText { text },
        ChatPart::Image { mime, data } => InputPart::InputImage {
            image_url: format!("data:{mime};base64,{data}"),
            detail: "auto",
        },
        ChatPart::ToolCall { .. } | ChatPart::ToolResult { .. } | ChatPart::Opaque { .. } => {
            return None;
        }
    })
}
