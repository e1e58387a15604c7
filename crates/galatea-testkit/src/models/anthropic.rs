//! Anthropic's Messages API and model list (API reference, docs.anthropic.com/en/api).

use galatea_core::model::Finish;
use serde_json::{Value, json};

use super::{
    reply::{Answer, Fault},
    server::{Dialect, Recorded, Route, SHORTEST_STORED},
    shape::{Shape, pieces},
};

/// Dialect of Anthropic's API.
#[derive(Debug, Clone, Copy, Default)]
pub struct Anthropic;

impl Dialect for Anthropic {
    const KEY: Option<(&'static str, &'static str)> = Some(("x-api-key", ""));
    const BASE: &'static str = "/v1";

    fn inspect(&self, request: &Recorded, violations: &mut Vec<String>) -> Route {
        let mut shape = Shape { violations };
        shape.require(
            request.header("anthropic-version") == Some("2023-06-01"),
            "anthropic-version: not 2023-06-01",
        );
        match (request.method.as_str(), request.path.as_str()) {
            ("POST", "/v1/messages") => messages(&request.body, &mut shape),
            ("GET", "/v1/models") => Route::Models(None),
            ("GET", path) if path.starts_with("/v1/models/") => {
                Route::Models(path.rsplit('/').next().map(str::to_owned))
            }
            (method, path) => {
                shape.fail(format!("no such operation: {method} {path}"));
                Route::Unknown
            }
        }
    }

    fn stored(&self, input: u64) -> [u64; 2] {
        if input < SHORTEST_STORED { [0, 0] } else { [3, 4] }
    }

    fn answer(&self, route: &Route, answer: &Answer) -> (Vec<u8>, &'static str) {
        let Route::Chat { model, stream, .. } = route else {
            return (Vec::new(), "application/json");
        };
        let stop = match answer.finish {
            Finish::Stop => "end_turn",
            Finish::Length | Finish::Deadline => "max_tokens",
            Finish::Tools => "tool_use",
            Finish::Filtered => "refusal",
        };
        let (input, output) = answer.usage;
        let [minutes, hour] = self.stored(input);
        let (cached, stored) = (self.cached(input), minutes + hour);
        let usage = |output: u64| {
            json!({
                "input_tokens": input - cached - stored, "cache_read_input_tokens": cached,
                "cache_creation_input_tokens": stored,
                "cache_creation": { "ephemeral_5m_input_tokens": minutes, "ephemeral_1h_input_tokens": hour },
                "output_tokens": output,
            })
        };
        if !stream {
            let mut content = Vec::new();
            if !answer.text.is_empty() {
                content.push(json!({ "type": "text", "text": answer.text }));
            }
            for (i, (name, arguments)) in answer.tools.iter().enumerate() {
                let input: Value = serde_json::from_str(arguments).unwrap_or(Value::Null);
                content.push(json!({ "type": "tool_use", "id": format!("toolu_{i}"), "name": name, "input": input }));
            }
            let body = json!({
                "id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": content,
                "stop_reason": stop, "stop_sequence": null, "usage": usage(output),
            });
            return (body.to_string().into_bytes(), "application/json");
        }
        let mut out = String::new();
        let mut event = |body: Value| {
            let name = body["type"].as_str().unwrap_or_default();
            out.push_str(&format!("event: {name}\ndata: {body}\n\n"));
        };
        event(json!({ "type": "message_start", "message": {
            "id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage(1),
        } }));
        event(json!({ "type": "ping" }));
        let mut index = 0;
        if !answer.text.is_empty() {
            event(
                json!({ "type": "content_block_start", "index": index, "content_block": { "type": "text", "text": "" } }),
            );
            for piece in pieces(&answer.text, 6) {
                event(
                    json!({ "type": "content_block_delta", "index": index, "delta": { "type": "text_delta", "text": piece } }),
                );
            }
            event(json!({ "type": "content_block_stop", "index": index }));
            index += 1;
        }
        for (i, (name, arguments)) in answer.tools.iter().enumerate() {
            event(
                json!({ "type": "content_block_start", "index": index, "content_block": { "type": "tool_use", "id": format!("toolu_{i}"), "name": name, "input": {} } }),
            );
            event(
                json!({ "type": "content_block_delta", "index": index, "delta": { "type": "input_json_delta", "partial_json": "" } }),
            );
            for piece in pieces(arguments, 5) {
                event(
                    json!({ "type": "content_block_delta", "index": index, "delta": { "type": "input_json_delta", "partial_json": piece } }),
                );
            }
            event(json!({ "type": "content_block_stop", "index": index }));
            index += 1;
        }
        // Its counts are those of the whole message, without how long something is stored.
        let mut cumulative = usage(output);
        if let Some(fields) = cumulative.as_object_mut() {
            fields.remove("cache_creation");
        }
        event(
            json!({ "type": "message_delta", "delta": { "stop_reason": stop, "stop_sequence": null }, "usage": cumulative }),
        );
        event(json!({ "type": "message_stop" }));
        (out.into_bytes(), "text/event-stream; charset=utf-8")
    }

    fn other(&self, route: &Route) -> Value {
        if let Route::Models(Some(id)) = route {
            return json!({ "type": "model", "id": id, "display_name": id, "created_at": "2026-05-14T00:00:00Z" });
        }
        let models = [
            "claude-haiku-5-5",
            "claude-sonnet-5-5",
            "claude-3-5-haiku-20241022",
            "claude-sonnet-4-20250514",
        ];
        let data = models.map(|id| {
            json!({ "type": "model", "id": id, "display_name": id, "created_at": "2026-05-14T00:00:00Z", "max_input_tokens": 1_000_000, "max_tokens": 128_000 })
        });
        json!({ "data": data, "has_more": false, "first_id": models[0], "last_id": models[3] })
    }

    fn failure(&self, fault: &Fault, route: &Route, key: &str) -> (u16, Value) {
        let model = match route {
            Route::Chat { model, .. } | Route::Models(Some(model)) => model.as_str(),
            _ => "",
        };
        let error = |status: u16, kind: &str, message: String| {
            (
                status,
                json!({ "type": "error", "error": { "type": kind, "message": message }, "request_id": "req_1" }),
            )
        };
        match fault {
            Fault::BadKey => error(401, "authentication_error", format!("invalid x-api-key {key}")),
            Fault::NoMoney => error(
                400,
                "invalid_request_error",
                "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.".to_owned(),
            ),
            Fault::RateLimited(_) => {
                error(429, "rate_limit_error", "This request would exceed your organization's rate limit of 50 requests per minute.".to_owned())
            }
            Fault::UnknownModel => error(404, "not_found_error", format!("model: {model}")),
            Fault::TooLong => error(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum".to_owned()),
            Fault::TooBig => error(413, "request_too_large", "Request exceeds the maximum size".to_owned()),
            Fault::NoTools => error(400, "invalid_request_error", format!("'{model}' does not support tool use")),
            Fault::Overloaded => error(529, "overloaded_error", "Overloaded".to_owned()),
            Fault::ServerTimeout => error(408, "timeout_error", "Request timed out".to_owned()),
            _ => error(500, "api_error", format!("Internal server error (key {key})")),
        }
    }

    fn empty(&self, route: &Route) -> (Vec<u8>, &'static str) {
        if matches!(route, Route::Chat { stream: true, .. }) {
            let body = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n\
                        event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":1}}\n\n\
                        event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
            return (body.as_bytes().to_vec(), "text/event-stream");
        }
        let body = br#"{"id":"x","type":"message","role":"assistant","content":[],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}"#;
        (body.to_vec(), "application/json")
    }

    fn stream_error(&self, _: &Route) -> Vec<u8> {
        b"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n".to_vec()
    }
}

/// True if a model reasons by itself. Such models accept no sampling parameters, forced tools or
/// prefill (models overview, migration guides).
fn is_new(model: &str) -> bool {
    ["claude-haiku-5", "claude-sonnet-5", "claude-opus-5", "claude-fable-5"]
        .iter()
        .any(|family| model.starts_with(family))
}

fn messages(body: &Value, shape: &mut Shape<'_>) -> Route {
    let optional = [
        "system",
        "temperature",
        "top_p",
        "top_k",
        "stop_sequences",
        "stream",
        "tools",
        "tool_choice",
        "metadata",
        "thinking",
        "output_config",
    ];
    let Some(fields) = shape.object("body", body, &["model", "max_tokens", "messages"], &optional)
    else {
        return Route::Unknown;
    };
    shape.text("model", fields.get("model"));
    shape.integer("max_tokens", fields.get("max_tokens"), 1);
    shape.number("temperature", fields.get("temperature"), 0.0, 1.0);
    shape.number("top_p", fields.get("top_p"), 0.0, 1.0);
    shape.integer("top_k", fields.get("top_k"), 0);
    shape.texts("stop_sequences", fields.get("stop_sequences"), usize::MAX);
    shape.flag("stream", fields.get("stream"));
    shape.require(
        !(fields.contains_key("temperature") && fields.contains_key("top_p")),
        "temperature and top_p together",
    );
    let model = body["model"].as_str().unwrap_or_default();
    if is_new(model) {
        for name in ["temperature", "top_p", "top_k"] {
            shape.require(!fields.contains_key(name), format_args!("{name}: not taken by {model}"));
        }
        let last = body["messages"].as_array().and_then(|list| list.last());
        shape.require(
            last.is_none_or(|last| last["role"] != "assistant"),
            format_args!("{model} does not support assistant message prefill"),
        );
    }
    if let Some(config) = fields.get("output_config") {
        shape.object("output_config", config, &["effort"], &[]);
        shape.require(is_new(model), "output_config: not accepted by this model");
    }
    match fields.get("system") {
        Some(Value::Array(_)) => content("system", &body["system"], false, shape),
        Some(system) => shape.text("system", Some(system)),
        None => {}
    }
    shape.require(
        cache_marks(body) <= MAX_CACHE_MARKS,
        format_args!("a maximum of {MAX_CACHE_MARKS} blocks with cache_control may be provided"),
    );
    let lives = cache_lives(body);
    shape.require(
        lives.is_sorted_by(|long, short| long >= short),
        format_args!("a cache_control block with ttl 1h must not come after one with ttl 5m"),
    );
    let list = shape.list("messages", fields.get("messages"));
    for (i, message) in list.iter().enumerate() {
        let at = format_args!("messages[{i}]");
        shape.object(at, message, &["role", "content"], &[]);
        let expected = if i % 2 == 0 { "user" } else { "assistant" };
        shape.require(
            message["role"] == expected,
            format_args!("{at}.role: not {expected}; roles take turns, user first"),
        );
        content(
            at,
            &message["content"],
            message["role"] == "assistant" && i + 1 == list.len(),
            shape,
        );
    }
    if fields.contains_key("tools") {
        for (i, tool) in shape.list("tools", fields.get("tools")).iter().enumerate() {
            let at = format_args!("tools[{i}]");
            shape.object(at, tool, &["name", "input_schema"], &["description"]);
            shape.tool_name(format_args!("{at}.name"), tool.get("name"));
            shape.schema(format_args!("{at}.input_schema"), tool.get("input_schema"));
        }
    }
    Route::Chat {
        model: body["model"].as_str().unwrap_or_default().to_owned(),
        stream: body["stream"].as_bool().unwrap_or(false),
        usage: true,
    }
}

/// Blocks that may end a cached part ("Prompt caching").
const MAX_CACHE_MARKS: usize = 4;

/// Number of blocks that end a cached part.
fn cache_marks(body: &Value) -> usize {
    match body {
        Value::Object(fields) => {
            usize::from(fields.contains_key("cache_control"))
                + fields.values().map(cache_marks).sum::<usize>()
        }
        Value::Array(items) => items.iter().map(cache_marks).sum(),
        _ => 0,
    }
}

/// True if each marked part is kept for an hour, in the order in which they are read: tools,
/// instructions, messages ("Prompt caching": parts that are kept longer come first).
fn cache_lives(body: &Value) -> Vec<bool> {
    fn collect(value: &Value, lives: &mut Vec<bool>) {
        match value {
            Value::Object(fields) => {
                if let Some(mark) = fields.get("cache_control") {
                    lives.push(mark["ttl"] == "1h");
                }
                fields.values().for_each(|value| collect(value, lives));
            }
            Value::Array(items) => items.iter().for_each(|item| collect(item, lives)),
            _ => {}
        }
    }
    let mut lives = Vec::new();
    for part in ["tools", "system", "messages"] {
        collect(&body[part], &mut lives);
    }
    lives
}

fn content(
    at: impl std::fmt::Display + Copy,
    content: &Value,
    last_assistant: bool,
    shape: &mut Shape<'_>,
) {
    let mut text_ok = |text: Option<&Value>| {
        let text = text.and_then(Value::as_str).unwrap_or_default();
        shape.require(
            !text.trim().is_empty(),
            format_args!("{at}: text content blocks must be non-empty"),
        );
        shape.require(
            !last_assistant || text.trim_end() == text,
            format_args!("{at}: final assistant content cannot end with trailing whitespace"),
        );
    };
    match content {
        Value::String(_) => text_ok(Some(content)),
        Value::Array(blocks) if !blocks.is_empty() => {
            for block in blocks {
                match block["type"].as_str() {
                    Some("text") => text_ok(block.get("text")),
                    Some(
                        "image" | "tool_use" | "tool_result" | "thinking" | "redacted_thinking",
                    ) => {}
                    _ => text_ok(None),
                }
            }
            for (n, block) in blocks.iter().enumerate() {
                let at = format_args!("{at}.content[{n}]");
                if block["type"] == "image" {
                    shape.object(at, block, &["type", "source"], &["cache_control"]);
                    shape.object(at, &block["source"], &["type", "media_type", "data"], &[]);
                    let kind = block["source"]["media_type"].as_str().unwrap_or_default();
                    shape.require(
                        ["image/jpeg", "image/png", "image/gif", "image/webp"].contains(&kind),
                        format_args!("{at}.media_type: {kind}"),
                    );
                    shape.base64(at, block["source"].get("data"));
                } else if block["type"] == "tool_use" {
                    shape.object(at, block, &["type", "id", "name", "input"], &["cache_control"]);
                    shape.require(block["input"].is_object(), format_args!("{at}.input"));
                } else if block["type"] == "tool_result" {
                    let optional = ["cache_control", "is_error"];
                    shape.object(at, block, &["type", "tool_use_id", "content"], &optional);
                    shape.text(at, block.get("content"));
                } else if block["type"] == "thinking" {
                    shape.object(at, block, &["type", "thinking", "signature"], &[]);
                } else if block["type"] == "redacted_thinking" {
                    shape.object(at, block, &["type", "data"], &[]);
                } else {
                    shape.object(at, block, &["type", "text"], &["cache_control"]);
                }
                if let Some(mark) = block.get("cache_control") {
                    shape.object(at, mark, &["type"], &["ttl"]);
                    shape.require(mark["type"] == "ephemeral", format_args!("{at}.cache_control"));
                    let ttl = mark.get("ttl").map_or("5m", |ttl| ttl.as_str().unwrap_or_default());
                    shape.require(["5m", "1h"].contains(&ttl), format_args!("{at}: ttl {ttl}"));
                }
            }
        }
        _ => shape.fail(format!("{at}.content: neither text nor blocks")),
    }
}
