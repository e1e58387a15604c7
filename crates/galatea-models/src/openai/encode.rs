//! Encodes a [`TextRequest`] as the body of `POST /chat/completions`.

use galatea_core::model::{
    CacheFor, ChatMessage, ChatPart, ChatRole, Effort, TextRequest, ToolCall, ToolChoice, ToolSpec,
};
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;

use super::dialect::Dialect;
use crate::{
    families::{Limit, Rules, Wire},
    wire::object_schema,
};

/// Most stop texts (API reference, `stop`).
const MAX_STOP: usize = 4;

#[derive(Serialize)]
pub(super) struct ChatBody<'a> {
    model: &'a str,
    messages: Vec<ChatInput<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ChatTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
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
    repetition_penalty: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    frequency_penalty: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    presence_penalty: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    stop: &'a [String],
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct ChatInput<'a> {
    role: &'static str,
    /// Left out beside calls without words (API reference, `messages`).
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<ChatContent<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<InputCall<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
    /// Reasoning that the service wants again in its own fields.
    #[serde(flatten)]
    reasoning: Option<&'a Value>,
}

impl<'a> ChatInput<'a> {
    fn new(role: &'static str, content: ChatContent<'a>) -> Self {
        Self {
            role,
            content: Some(content),
            name: None,
            tool_calls: Vec::new(),
            tool_call_id: None,
            reasoning: None,
        }
    }
}

#[derive(Serialize)]
struct InputCall<'a> {
    id: &'a str,
    r#type: &'static str,
    function: InputFunction<'a>,
}

#[derive(Serialize)]
struct InputFunction<'a> {
    name: &'a str,
    arguments: &'a str,
}

impl<'a> From<&'a ToolCall> for InputCall<'a> {
    fn from(call: &'a ToolCall) -> Self {
        let function = InputFunction { name: &call.name, arguments: &call.arguments };
        Self { id: &call.id, r#type: "function", function }
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum ChatContent<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<ChatPiece<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ChatPiece<'a> {
    Text {
        text: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    ImageUrl {
        image_url: ImageUrl,
    },
}

/// Ends a part of the prompt that is cached for five minutes after each use (OpenRouter, "Prompt
/// caching").
#[derive(Clone, Copy, Serialize)]
struct CacheControl {
    r#type: &'static str,
}

/// The way in which a service learns what of a prompt it will read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cache {
    /// By itself.
    Itself,
    /// By a key for each conversation (OpenAI, "Prompt caching", `prompt_cache_key`).
    Key,
    /// By marks, which OpenRouter passes on to Anthropic's models.
    Marks,
}

/// Marks the instructions, which the tools precede, and the model's last message: what comes
/// behind it changes from turn to turn. Not for an hour: not every model behind OpenRouter can.
fn mark(messages: &mut [ChatInput<'_>], request: &TextRequest) {
    let last = messages.iter().rposition(|message| message.role == "assistant");
    let instructions = messages.iter().position(|message| message.role == "system");
    let asked = request.cache_instructions == CacheFor::Minutes || request.stable > 0;
    let marked = [instructions.filter(|_| asked), last.filter(|_| request.stable > 0)];
    for at in marked.into_iter().flatten() {
        let content = &mut messages[at].content;
        if let Some(ChatContent::Text(text)) = content {
            let text = std::mem::take(text);
            let cache_control = Some(CacheControl { r#type: "ephemeral" });
            *content = Some(ChatContent::Parts(vec![ChatPiece::Text { text, cache_control }]));
        }
    }
}

#[derive(Serialize)]
struct ImageUrl {
    url: String,
}

#[derive(Serialize)]
struct ChatTool<'a> {
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: Cow<'a, Value>,
}

pub(super) fn encode<'a>(
    request: &'a TextRequest,
    model: &'a str,
    dialect: Dialect,
    rules: &Rules,
    cache: Cache,
) -> ChatBody<'a> {
    let params = &request.params;
    // In this format, models that also support Responses refuse tools with any effort other than
    // none.
    let only_none = rules.wire == Wire::Responses
        && !request.tools.is_empty()
        && rules.efforts.contains(&Effort::None);
    let effort = if only_none { Some(Effort::None) } else { rules.effort(params.effort) };
    let samples = rules.samples(effort);
    let completion = rules.limit == Limit::MaxCompletionTokens;
    let extended = dialect == Dialect::Extended;
    let mut messages = Vec::with_capacity(request.messages.len() + 1);
    if let Some(system) = request.system.as_deref().filter(|text| !text.is_empty()) {
        messages.push(ChatInput::new("system", ChatContent::Text(Cow::Borrowed(system))));
    }
    for said in request.messages.iter() {
        if said.role == ChatRole::Tool {
            messages.extend(said.parts.iter().filter_map(result));
        } else {
            messages.push(message(said, model));
        }
    }
    if cache == Cache::Marks {
        mark(&mut messages, request);
    }
    ChatBody {
        model,
        messages,
        tools: request.tools.iter().map(tool).collect(),
        tool_choice: (request.tool_choice == ToolChoice::None && !request.tools.is_empty())
            .then_some("none"),
        max_tokens: params.max_tokens.filter(|_| !completion),
        max_completion_tokens: params.max_tokens.filter(|_| completion),
        temperature: params.temperature.filter(|_| samples),
        top_p: params.top_p.filter(|_| samples),
        top_k: params.top_k.filter(|_| samples && extended),
        min_p: params.min_p.filter(|_| samples && extended),
        seed: params.seed,
        repetition_penalty: params.repetition_penalty.filter(|_| samples && extended),
        frequency_penalty: params.frequency_penalty.filter(|_| samples),
        presence_penalty: params.presence_penalty.filter(|_| samples),
        reasoning_effort: effort.map(Effort::as_str),
        stop: if samples { &params.stop[..params.stop.len().min(MAX_STOP)] } else { &[] },
        stream: request.stream,
        stream_options: request.stream.then_some(StreamOptions { include_usage: true }),
        prompt_cache_key: request.conversation.as_deref().filter(|_| cache == Cache::Key),
    }
}

/// The result of a call, which is a message of its own here.
fn result(part: &ChatPart) -> Option<ChatInput<'_>> {
    let ChatPart::ToolResult { id, text, .. } = part else { return None };
    let said = ChatInput::new("tool", ChatContent::Text(Cow::Borrowed(text)));
    Some(ChatInput { tool_call_id: Some(id), ..said })
}

fn message<'a>(message: &'a ChatMessage, model: &str) -> ChatInput<'a> {
    let role = match message.role {
        ChatRole::User | ChatRole::Tool => "user",
        ChatRole::Assistant => "assistant",
        ChatRole::System => "system",
    };
    let content = match message.parts.as_slice() {
        [ChatPart::Text { text }] => ChatContent::Text(Cow::Borrowed(text)),
        parts
            if message.role == ChatRole::User
                && parts.iter().any(|part| matches!(part, ChatPart::Image { .. })) =>
        {
            ChatContent::Parts(parts.iter().filter_map(part).collect())
        }
        _ => ChatContent::Text(Cow::Owned(message.text())),
    };
    let tool_calls: Vec<InputCall<'_>> = message.calls().map(InputCall::from).collect();
    let wordless = matches!(&content, ChatContent::Text(text) if text.trim().is_empty());
    ChatInput {
        content: Some(content).filter(|_| tool_calls.is_empty() || !wordless),
        name: message.name.as_deref(),
        tool_calls,
        reasoning: message.opaque(super::opaque::FORMAT, model),
        ..ChatInput::new(role, ChatContent::Text(Cow::Borrowed("")))
    }
}

fn part(part: &ChatPart) -> Option<ChatPiece<'_>> {
    Some(match part {
        ChatPart::Text { text } => {
            ChatPiece::Text { text: Cow::Borrowed(text), cache_control: None }
        }
        ChatPart::Image { mime, data } => ChatPiece::ImageUrl {
            image_url: ImageUrl { url: format!("data:{mime};base64,{data}") },
        },
        ChatPart::ToolCall { .. } | ChatPart::ToolResult { .. } | ChatPart::Opaque { .. } => {
            return None;
        }
    })
}

fn tool(tool: &ToolSpec) -> ChatTool<'_> {
    let function = Function {
        name: &tool.name,
        description: &tool.description,
        parameters: object_schema(&tool.parameters),
    };
    ChatTool { r#type: "function", function }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn encoded(cache: Cache, stable: usize) -> Value {
        body(cache, stable, if stable > 0 { CacheFor::Minutes } else { CacheFor::Nothing })
    }

    fn body(cache: Cache, stable: usize, cache_instructions: CacheFor) -> Value {
        let messages = vec![
            ChatMessage::user("hi"),
            ChatMessage::assistant("hello"),
            ChatMessage::user("notes and a question"),
        ];
        let request = TextRequest {
            system: Some("rules".into()),
            messages: messages.into(),
            stable,
            cache_instructions,
            conversation: Some("a1".into()),
            ..TextRequest::default()
        };
        let body = encode(&request, "m", Dialect::Extended, &Rules::default(), cache);
        serde_json::to_value(body).unwrap()
    }

    #[test]
    fn what_the_program_says_between_messages_is_a_system_message() {
        let messages = vec![
            ChatMessage::user("hi"),
            ChatMessage::assistant("hello"),
            ChatMessage::system("It is 19:05."),
            ChatMessage::user("what time is it?"),
        ];
        let request = TextRequest { messages: messages.into(), ..TextRequest::default() };
        let body = encode(&request, "m", Dialect::Extended, &Rules::default(), Cache::Itself);
        let messages = &serde_json::to_value(body).unwrap()["messages"];
        assert_eq!(messages[2], json!({ "role": "system", "content": "It is 19:05." }));
        assert_eq!(messages[3]["content"], "what time is it?");
    }

    #[test]
    fn each_service_learns_in_its_way_what_it_will_read_again() {
        let text = |text: &str| json!([{ "type": "text", "text": text, "cache_control": { "type": "ephemeral" } }]);
        let marked = encoded(Cache::Marks, 2);
        assert_eq!(marked["messages"][0]["content"], text("rules"));
        assert_eq!(marked["messages"][1]["content"], "hi");
        assert_eq!(marked["messages"][2]["content"], text("hello"));
        assert_eq!(marked["messages"][3]["content"], "notes and a question");
        assert_eq!(marked.get("prompt_cache_key"), None);
        let plain = encoded(Cache::Itself, 2);
        assert_eq!(encoded(Cache::Marks, 0), plain, "a conversation that is not active");
        assert_eq!(body(Cache::Marks, 0, CacheFor::Hour), plain, "it would be stored for minutes");
        assert_eq!(body(Cache::Marks, 2, CacheFor::Hour), marked);
        let keyed = encoded(Cache::Key, 0);
        assert_eq!(keyed["prompt_cache_key"], "a1");
        assert_eq!(keyed["messages"], plain["messages"]);
    }
}
