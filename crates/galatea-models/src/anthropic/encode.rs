//! Encodes a [`TextRequest`] as the body of `POST /messages`.

use std::borrow::Cow;

use galatea_core::{
    ModelInfo,
    model::{CacheFor, ChatMessage, ChatPart, ChatRole, TextRequest, ToolChoice},
};
use serde::Serialize;
use serde_json::Value;

use crate::{families::Rules, wire::object_schema};

/// Default of the required `max_tokens`: elizaOS's value, and the smallest limit of the models in
/// use (Claude 3.5 Haiku).
const MAX_TOKENS: u32 = 8192;

/// First message of a conversation that would begin with the model's side, which the API refuses.
const OPENING: &str = "(the conversation so far)";

/// Last message of a conversation that would end with the model's side, which newer models refuse.
const GO_ON: &str = "(go on)";

#[derive(Serialize)]
pub(super) struct AnthropicRequest<'a> {
    model: &'a str,
    max_tokens: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<InputBlock<'a>>,
    messages: Vec<AnthropicMessage<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<AnthropicTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Choice>,
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
struct Choice {
    r#type: &'static str,
}

#[derive(Serialize)]
struct OutputConfig {
    effort: &'static str,
}

#[derive(Serialize)]
struct AnthropicMessage<'a> {
    role: ChatRole,
    content: Vec<InputBlock<'a>>,
}

#[derive(Serialize)]
struct InputBlock<'a> {
    #[serde(flatten)]
    kind: Kind<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Kind<'a> {
    Text {
        text: &'a str,
    },
    Image {
        source: PictureSource<'a>,
    },
    ToolUse {
        id: &'a str,
        name: &'a str,
        input: Value,
    },
    ToolResult {
        tool_use_id: &'a str,
        content: &'a str,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
    /// A block of an earlier answer, as it was: its signature holds for nothing else.
    #[serde(untagged)]
    AsItWas(&'a Value),
}

/// Ends a part of the prompt that the service caches for five minutes or an hour after each use: to
/// read it again costs a tenth, to write it a quarter more, or twice as much for an hour (Anthropic,
/// "Prompt caching").
#[derive(Clone, Copy, Serialize)]
struct CacheControl {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl: Option<&'static str>,
}

const MINUTES: CacheControl = CacheControl { r#type: "ephemeral", ttl: None };
/// Stands before parts that are kept for minutes, as the service demands.
const HOUR: CacheControl = CacheControl { r#type: "ephemeral", ttl: Some("1h") };

impl<'a> InputBlock<'a> {
    fn text(text: &'a str) -> Self {
        Self { kind: Kind::Text { text }, cache_control: None }
    }
}

#[derive(Serialize)]
struct PictureSource<'a> {
    r#type: &'static str,
    media_type: &'a str,
    data: &'a str,
}

#[derive(Serialize)]
struct AnthropicTool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: Cow<'a, Value>,
}

pub(super) fn encode<'a>(
    request: &'a TextRequest,
    info: &'a ModelInfo,
    rules: &Rules,
) -> AnthropicRequest<'a> {
    let params = &request.params;
    let model = info.model.as_str();
    let effort = rules.effort(params.effort);
    let samples = rules.samples(effort);
    let most = info.limits.output.unwrap_or(u32::MAX);
    AnthropicRequest {
        model,
        max_tokens: params.max_tokens.unwrap_or(MAX_TOKENS).clamp(1, most),
        system: system(request),
        messages: messages(request, model, rules.prefill),
        tool_choice: (request.tool_choice == ToolChoice::None && !request.tools.is_empty())
            .then_some(Choice { r#type: "none" }),
        tools: request
            .tools
            .iter()
            .map(|tool| AnthropicTool {
                name: &tool.name,
                description: &tool.description,
                input_schema: object_schema(&tool.parameters),
            })
            .collect(),
        // Anthropic's scale ends at 1, that of other services at 2.
        temperature: params.temperature.filter(|_| samples).map(|t| t.clamp(0.0, 1.0)),
        // Newer models refuse temperature and `top_p` together (API reference, `top_p`).
        top_p: params.top_p.filter(|_| samples && params.temperature.is_none()),
        top_k: params.top_k.filter(|_| samples),
        output_config: effort.map(|effort| OutputConfig { effort: effort.as_str() }),
        // The API refuses stop texts of only white space.
        stop_sequences: params
            .stop
            .iter()
            .map(String::as_str)
            .filter(|text| !text.trim().is_empty())
            .collect(),
        stream: request.stream,
    }
}

/// The instructions, and behind them what the program says before the conversation. Tools come before
/// them, so one mark covers both.
fn system(request: &TextRequest) -> Vec<InputBlock<'_>> {
    let cache_control = match request.cache_instructions {
        CacheFor::Nothing => None,
        CacheFor::Minutes => Some(MINUTES),
        CacheFor::Hour => Some(HOUR),
    };
    let text = request.system.as_deref().filter(|text| !text.trim().is_empty());
    let instructions = text.map(|text| InputBlock { cache_control, ..InputBlock::text(text) });
    let leading = &request.messages[..request.leading()];
    let mut more: Vec<InputBlock<'_>> =
        leading.iter().flat_map(|message| &message.parts).filter_map(block).collect();
    if (1..=leading.len()).contains(&request.stable)
        && let Some(last) = more.last_mut()
    {
        last.cache_control = Some(MINUTES);
    }
    instructions.into_iter().chain(more).collect()
}

/// Converts the messages to the form the API requires: roles alternate, the user's side is first,
/// no block is empty, and a final message of the model does not end in white space. Without
/// `prefill`, the last message is the user's.
fn messages<'a>(request: &'a TextRequest, model: &str, prefill: bool) -> Vec<AnthropicMessage<'a>> {
    let mut out: Vec<AnthropicMessage<'a>> = Vec::with_capacity(request.messages.len());
    for (at, message) in request.messages.iter().enumerate().skip(request.leading()) {
        // Late instructions have become messages of the people's side before.
        let role = match message.role {
            ChatRole::Assistant => ChatRole::Assistant,
            ChatRole::User | ChatRole::System | ChatRole::Tool => ChatRole::User,
        };
        let mut content = blocks(message, model);
        if at + 1 == request.stable
            && let Some(last) = content.last_mut()
        {
            last.cache_control = Some(MINUTES);
        }
        if content.is_empty() {
            continue;
        }
        match out.last_mut() {
            Some(last) if last.role == role => last.content.extend(content),
            _ => out.push(AnthropicMessage { role, content }),
        }
    }
    if out.first().is_none_or(|first| first.role == ChatRole::Assistant) {
        out.insert(
            0,
            AnthropicMessage { role: ChatRole::User, content: vec![InputBlock::text(OPENING)] },
        );
    }
    if !prefill && out.last().is_some_and(|last| last.role == ChatRole::Assistant) {
        out.push(AnthropicMessage { role: ChatRole::User, content: vec![InputBlock::text(GO_ON)] });
    }
    if let Some(AnthropicMessage { role: ChatRole::Assistant, content }) = out.last_mut() {
        for block in content {
            if let Kind::Text { text } = &mut block.kind {
                *text = text.trim_end();
            }
        }
    }
    out
}

/// The blocks of a message; those of an answer with signed thoughts as they were.
fn blocks<'a>(message: &'a ChatMessage, model: &str) -> Vec<InputBlock<'a>> {
    match message.opaque(super::opaque::FORMAT, model) {
        Some(Value::Array(blocks)) => {
            let as_it_was = |block| InputBlock { kind: Kind::AsItWas(block), cache_control: None };
            blocks.iter().map(as_it_was).collect()
        }
        _ => message.parts.iter().filter_map(block).collect(),
    }
}

fn block(part: &ChatPart) -> Option<InputBlock<'_>> {
    let kind = match part {
        ChatPart::Text { text } if text.trim().is_empty() => return None,
        ChatPart::Text { text } => Kind::Text { text },
        ChatPart::Image { mime, data } => {
            Kind::Image { source: PictureSource { r#type: "base64", media_type: mime, data } }
        }
        ChatPart::ToolCall { call } => Kind::ToolUse {
            id: &call.id,
            name: &call.name,
            input: crate::wire::arguments(&call.arguments),
        },
        ChatPart::ToolResult { id, text, failed, .. } => Kind::ToolResult {
            tool_use_id: id,
            // Empty content is refused.
            content: if text.trim().is_empty() { "(nothing)" } else { text },
            is_error: *failed,
        },
        ChatPart::Opaque { .. } => return None,
    };
    Some(InputBlock { kind, cache_control: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_core::model::ChatMessage;
    use serde_json::json;

    fn encoded(stable: usize) -> Value {
        let messages = vec![
            ChatMessage::user("Ann: hi"),
            ChatMessage::user("Bob: hi"),
            ChatMessage::user("(It is 19:05.)"),
            ChatMessage::user("Ann: why?"),
        ];
        let request = TextRequest { messages: messages.into(), stable, ..TextRequest::default() };
        serde_json::to_value(super::messages(&request, "claude", false)).unwrap()
    }

    #[test]
    fn what_the_next_request_begins_with_is_marked() {
        let text = |text: &str| json!({ "type": "text", "text": text });
        let mut marked = text("Bob: hi");
        marked["cache_control"] = json!({ "type": "ephemeral" });
        let content = |second| [text("Ann: hi"), second, text("(It is 19:05.)"), text("Ann: why?")];
        assert_eq!(encoded(2), json!([{ "role": "user", "content": content(marked) }]));
        assert_eq!(encoded(0), json!([{ "role": "user", "content": content(text("Bob: hi")) }]));

        let request = |cache_instructions| TextRequest {
            cache_instructions,
            ..TextRequest::prompt(Some("You are Eliza.".to_owned()), "hi")
        };
        let marks = |long| serde_json::to_value(system(&request(long))).unwrap();
        assert_eq!(marks(CacheFor::Minutes)[0]["cache_control"], json!({ "type": "ephemeral" }));
        let hour = json!({ "type": "ephemeral", "ttl": "1h" });
        assert_eq!(marks(CacheFor::Hour)[0]["cache_control"], hour);
        assert_eq!(marks(CacheFor::Nothing), json!([text("You are Eliza.")]));
    }

    #[test]
    fn what_the_program_says_first_stands_with_the_instructions_and_later_beside_the_question() {
        let messages = vec![
            ChatMessage::system("Ann is new here."),
            ChatMessage::user("hi"),
            ChatMessage::assistant("hello"),
            ChatMessage::system("It is 19:05."),
            ChatMessage::user("why?"),
        ];
        let request = TextRequest {
            system: Some("You are Eliza.".into()),
            messages: messages.into(),
            opening: 1,
            stable: 1,
            ..TextRequest::default()
        };
        let request = request.with_late_beside_people();
        let text = |text: &str| json!({ "type": "text", "text": text });
        let mut marked = text("Ann is new here.");
        marked["cache_control"] = json!({ "type": "ephemeral" });
        let instructions = serde_json::to_value(system(&request)).unwrap();
        assert_eq!(instructions, json!([text("You are Eliza."), marked]));
        assert_eq!(
            serde_json::to_value(super::messages(&request, "claude", false)).unwrap(),
            json!([
                { "role": "user", "content": [text("hi")] },
                { "role": "assistant", "content": [text("hello")] },
                { "role": "user", "content": [text("(It is 19:05.)\n"), text("why?")] },
            ])
        );
    }
}
