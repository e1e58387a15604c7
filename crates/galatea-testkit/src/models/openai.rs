//! OpenAI's Chat Completions, embeddings and model list (API reference,
//! platform.openai.com/docs/api-reference).

mod media;
mod responses;

use galatea_core::model::Finish;
use serde_json::{Value, json};
use std::fmt::Write;

use super::{
    reply::{Answer, Fault},
    server::{Dialect, Recorded, Route, SHORTEST_STORED},
    shape::{Shape, pieces, vector},
};

/// Dialect of OpenAI's API. `Default` is OpenAI itself; the fields turn on extensions of other
/// services.
#[derive(Debug, Clone, Copy, Default)]
pub struct OpenAi {
    /// True if `top_k`, `min_p` and `repetition_penalty` are accepted, as by OpenRouter and vLLM.
    pub extended: bool,
    /// True if streams begin with an SSE comment, as OpenRouter sends while it waits.
    pub comments: bool,
}

impl OpenAi {
    /// Tokens that were read from the cache and written into it.
    fn details(&self, input: u64) -> Value {
        let [stored, _] = self.stored(input);
        json!({ "cached_tokens": self.cached(input), "cache_write_tokens": stored })
    }
}

impl Dialect for OpenAi {
    const KEY: Option<(&'static str, &'static str)> = Some(("authorization", "Bearer "));
    const BASE: &'static str = "/v1";

    fn inspect(&self, request: &Recorded, violations: &mut Vec<String>) -> Route {
        let mut shape = Shape { violations };
        match (request.method.as_str(), request.path.as_str()) {
            ("POST", "/v1/chat/completions") => self.chat(&request.body, &mut shape),
            ("POST", "/v1/responses") => responses::inspect(&request.body, &mut shape),
            ("POST", "/v1/embeddings") => embeddings(&request.body, &mut shape),
            ("POST", "/v1/audio/transcriptions") => media::transcription(&request.body, &mut shape),
            ("POST", "/v1/images/generations") => media::image(&request.body, &mut shape),
            ("POST", "/v1/audio/speech") => media::speech(&request.body, &mut shape),
            ("GET", "/v1/models") => Route::Models(None),
            ("GET", "/v1/key") => Route::Key,
            (method, path) => {
                shape.fail(format!("no such operation: {method} {path}"));
                Route::Unknown
            }
        }
    }

    fn stored(&self, input: u64) -> [u64; 2] {
        if input < SHORTEST_STORED { [0, 0] } else { [5, 0] }
    }

    fn answer(&self, route: &Route, answer: &Answer) -> (Vec<u8>, &'static str) {
        if let Route::Respond { model, stream } = route {
            return responses::answer(model, *stream, answer, self.details(answer.usage.0));
        }
        let Route::Chat { model, stream, usage } = route else {
            return (Vec::new(), "application/json");
        };
        let finish = match answer.finish {
            Finish::Stop => "stop",
            Finish::Length | Finish::Deadline => "length",
            Finish::Tools => "tool_calls",
            Finish::Filtered => "content_filter",
        };
        let (input, output) = answer.usage;
        let tokens = json!({ "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output,
            "prompt_tokens_details": self.details(input) });
        if !stream {
            let calls: Vec<Value> = answer
                .tools
                .iter()
                .enumerate()
                .map(|(i, (name, arguments))| json!({ "id": format!("call_{i}"), "type": "function", "function": { "name": name, "arguments": arguments } }))
                .collect();
            let mut message =
                json!({ "role": "assistant", "content": answer.text, "refusal": null });
            if !calls.is_empty() {
                message["tool_calls"] = Value::Array(calls);
                if answer.text.is_empty() {
                    message["content"] = Value::Null;
                }
            }
            let body = json!({
                "id": "chatcmpl-1", "object": "chat.completion", "created": 1_700_000_000, "model": model,
                "choices": [{ "index": 0, "message": message, "logprobs": null, "finish_reason": finish }],
                "usage": tokens,
            });
            return (body.to_string().into_bytes(), "application/json");
        }
        let mut out = String::new();
        if self.comments {
            out.push_str(": OPENROUTER PROCESSING\n\n");
        }
        let head = json!({ "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": model }).to_string();
        let head = head.trim_end_matches('}');
        let mut chunk = |choices: Value, usage: Option<&Value>| {
            let usage = usage.map(|usage| format!(",\"usage\":{usage}")).unwrap_or_default();
            // Writing to a String cannot fail.
            let _ = write!(out, "data: {head},\"choices\":{choices}{usage}}}\n\n");
        };
        let delta = |delta: Value, finish: Value| json!([{ "index": 0, "delta": delta, "finish_reason": finish }]);
        chunk(delta(json!({ "role": "assistant", "content": "" }), Value::Null), None);
        for piece in pieces(&answer.text, 6) {
            chunk(delta(json!({ "content": piece }), Value::Null), None);
        }
        for (i, (name, arguments)) in answer.tools.iter().enumerate() {
            let start = json!({ "index": i, "id": format!("call_{i}"), "type": "function", "function": { "name": name, "arguments": "" } });
            chunk(delta(json!({ "tool_calls": [start] }), Value::Null), None);
            for piece in pieces(arguments, 5) {
                chunk(
                    delta(
                        json!({ "tool_calls": [{ "index": i, "function": { "arguments": piece } }] }),
                        Value::Null,
                    ),
                    None,
                );
            }
        }
        chunk(delta(json!({}), json!(finish)), None);
        if *usage {
            chunk(json!([]), Some(&tokens));
        }
        out.push_str("data: [DONE]\n\n");
        (out.into_bytes(), "text/event-stream")
    }

    fn other(&self, route: &Route) -> Value {
        match route {
            Route::Embed { model, texts, width } => {
                let data: Vec<Value> =
                    texts.iter().enumerate().rev().map(|(i, text)| json!({ "object": "embedding", "index": i, "embedding": vector(text, *width) })).collect();
                json!({ "object": "list", "data": data, "model": model, "usage": { "prompt_tokens": 3, "total_tokens": 3 } })
            }
            Route::Key => {
                json!({ "data": { "label": "test", "limit": null, "limit_remaining": null, "usage": 0.5, "is_free_tier": false } })
            }
            _ => {
                let models = ["gpt-4o", "gpt-4o-mini", "gpt-5-nano", "text-embedding-3-small"];
                let data = models.map(
                    |id| json!({ "id": id, "object": "model", "created": 1, "owned_by": "openai" }),
                );
                json!({ "object": "list", "data": data })
            }
        }
    }

    fn media(&self, route: &Route, answer: &Answer) -> Option<(Vec<u8>, &'static str)> {
        media::answer(route, answer)
    }

    fn failure(&self, fault: &Fault, route: &Route, key: &str) -> (u16, Value) {
        let model = if let Route::Chat { model, .. }
        | Route::Respond { model, .. }
        | Route::Transcribe { model }
        | Route::Draw { model }
        | Route::Speak { model }
        | Route::Embed { model, .. } = route
        {
            model.as_str()
        } else {
            ""
        };
        let error = |status: u16, message: String, kind: &str, code: Value| {
            (
                status,
                json!({ "error": { "message": message, "type": kind, "param": null, "code": code } }),
            )
        };
        match fault {
            Fault::BadKey => error(
                401,
                format!("Incorrect API key provided: {key}. You can find your API key at https://platform.openai.com/account/api-keys."),
                "invalid_request_error",
                json!("invalid_api_key"),
            ),
            Fault::NoMoney => error(
                429,
                "You exceeded your current quota, please check your plan and billing details.".to_owned(),
                "insufficient_quota",
                json!("insufficient_quota"),
            ),
            Fault::RateLimited(_) => {
                error(429, "Rate limit reached for requests per min. Please try again in 20s.".to_owned(), "requests", json!("rate_limit_exceeded"))
            }
            Fault::UnknownModel => {
                error(404, format!("The model `{model}` does not exist or you do not have access to it."), "invalid_request_error", json!("model_not_found"))
            }
            Fault::TooLong => error(
                400,
                "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.".to_owned(),
                "invalid_request_error",
                json!("context_length_exceeded"),
            ),
            Fault::TooBig => error(413, "Request entity too large".to_owned(), "invalid_request_error", Value::Null),
            Fault::NoTools => error(
                400,
                "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set".to_owned(),
                "BadRequestError",
                Value::Null,
            ),
            Fault::Overloaded => error(503, "The engine is currently overloaded, please try again later".to_owned(), "server_error", Value::Null),
            Fault::ServerTimeout => error(408, "Request timed out".to_owned(), "timeout", Value::Null),
            _ => error(500, format!("The server had an error while processing your request (key {key})"), "server_error", Value::Null),
        }
    }

    fn empty(&self, route: &Route) -> (Vec<u8>, &'static str) {
        match route {
            Route::Chat { stream: true, .. } => (b"data: [DONE]\n\n".to_vec(), "text/event-stream"),
            Route::Respond { stream, .. } => responses::empty(*stream),
            Route::Embed { .. } | Route::Draw { .. } => {
                (br#"{"object":"list","data":[]}"#.to_vec(), "application/json")
            }
            _ => (
                br#"{"id":"x","object":"chat.completion","choices":[]}"#.to_vec(),
                "application/json",
            ),
        }
    }

    fn stream_error(&self, route: &Route) -> Vec<u8> {
        if matches!(route, Route::Respond { .. }) {
            return responses::stream_error();
        }
        b"data: {\"error\":{\"message\":\"The server had an error\",\"type\":\"server_error\",\"code\":502}}\n\n".to_vec()
    }
}

impl OpenAi {
    fn chat(self, body: &Value, shape: &mut Shape<'_>) -> Route {
        let mut optional = vec![
            "max_tokens",
            "max_completion_tokens",
            "temperature",
            "top_p",
            "frequency_penalty",
            "presence_penalty",
            "seed",
            "stop",
            "tools",
            "tool_choice",
            "stream",
            "stream_options",
            "user",
            "n",
            "response_format",
            "parallel_tool_calls",
            "reasoning_effort",
            "prompt_cache_key",
        ];
        if self.extended {
            optional.extend(["top_k", "min_p", "repetition_penalty"]);
        }
        let Some(fields) = shape.object("body", body, &["model", "messages"], &optional) else {
            return Route::Unknown;
        };
        shape.text("model", fields.get("model"));
        let model = body["model"].as_str().unwrap_or_default().to_owned();
        let stream = body["stream"].as_bool().unwrap_or(false);
        shape.flag("stream", fields.get("stream"));
        shape.number("temperature", fields.get("temperature"), 0.0, 2.0);
        shape.number("top_p", fields.get("top_p"), 0.0, 1.0);
        shape.number("frequency_penalty", fields.get("frequency_penalty"), -2.0, 2.0);
        shape.number("presence_penalty", fields.get("presence_penalty"), -2.0, 2.0);
        shape.integer("seed", fields.get("seed"), i64::MIN);
        shape.integer("max_tokens", fields.get("max_tokens"), 1);
        shape.integer("max_completion_tokens", fields.get("max_completion_tokens"), 1);
        shape.texts("stop", fields.get("stop"), 4);
        shape.require(
            !(fields.contains_key("max_tokens") && fields.contains_key("max_completion_tokens")),
            "max_tokens and max_completion_tokens together",
        );
        let effort = fields.get("reasoning_effort").and_then(Value::as_str);
        let reasoning =
            ["o1", "o3", "o4", "gpt-5", "gpt-6"].iter().any(|prefix| model.starts_with(prefix));
        let at_ease = model.starts_with("gpt-6") && effort == Some("none");
        if model.starts_with("gpt-6") && fields.contains_key("tools") {
            // Guide "Using the latest model": other models accept tools only in the Responses API.
            let takes = at_ease && (model.ends_with("-luna") || model == "gpt-6-sol");
            shape.require(takes, format_args!("Function tools with reasoning_effort are not supported for {model} in /v1/chat/completions"));
        }
        if reasoning && !at_ease {
            for name in [
                "max_tokens",
                "temperature",
                "top_p",
                "frequency_penalty",
                "presence_penalty",
                "stop",
            ] {
                shape.require(
                    !fields.contains_key(name),
                    format_args!("{name}: unsupported parameter for {model}"),
                );
            }
        }
        if let Some(options) = fields.get("stream_options") {
            shape.require(stream, "stream_options without stream");
            shape.object("stream_options", options, &[], &["include_usage"]);
        }
        for (i, message) in shape.list("messages", fields.get("messages")).iter().enumerate() {
            message_shape(i, message, shape);
        }
        if fields.contains_key("tools") {
            for (i, tool) in shape.list("tools", fields.get("tools")).iter().enumerate() {
                let at = format_args!("tools[{i}]");
                shape.object(at, tool, &["type", "function"], &[]);
                shape.require(tool["type"] == "function", format_args!("{at}.type: not function"));
                shape.object(
                    format_args!("{at}.function"),
                    &tool["function"],
                    &["name"],
                    &["description", "parameters", "strict"],
                );
                shape.tool_name(format_args!("{at}.function.name"), tool["function"].get("name"));
                shape.schema(
                    format_args!("{at}.function.parameters"),
                    tool["function"].get("parameters"),
                );
            }
        }
        Route::Chat {
            model,
            stream,
            usage: body["stream_options"]["include_usage"].as_bool().unwrap_or(false),
        }
    }
}

fn message_shape(i: usize, message: &Value, shape: &mut Shape<'_>) {
    let at = format_args!("messages[{i}]");
    let calls = message["tool_calls"].as_array().map_or(&[][..], Vec::as_slice);
    let required: &[&str] = if calls.is_empty() { &["role", "content"] } else { &["role"] };
    let more =
        ["content", "name", "tool_calls", "tool_call_id", "reasoning_content", "reasoning_details"];
    shape.object(at, message, required, &more);
    for call in calls {
        shape.object(at, call, &["id", "type", "function"], &[]);
        shape.object(at, &call["function"], &["name", "arguments"], &[]);
        shape.require(call["function"]["arguments"].is_string(), format_args!("{at}: arguments"));
    }
    shape.require(
        (message["role"] == "tool") == message["tool_call_id"].is_string(),
        format_args!("{at}: a result without its call"),
    );
    match message["role"].as_str() {
        // Instructions may stand anywhere (API reference, chat completions, `messages`).
        Some("system" | "developer" | "user" | "assistant" | "tool") => {}
        _ => shape.fail(format!("{at}.role: unknown")),
    }
    match &message["content"] {
        Value::String(_) => {}
        Value::Null if !calls.is_empty() => {}
        Value::Array(parts) if message["role"] == "user" && !parts.is_empty() => {
            for (n, part) in parts.iter().enumerate() {
                let at = format_args!("{at}.content[{n}]");
                match part["type"].as_str() {
                    Some("text") => {
                        // OpenRouter's mark; OpenAI refuses it.
                        shape.object(at, part, &["type", "text"], &["cache_control"]);
                    }
                    Some("image_url") => {
                        shape.object(at, part, &["type", "image_url"], &[]);
                        let url = part["image_url"]["url"].as_str().unwrap_or_default();
                        let data = url
                            .strip_prefix("data:image/")
                            .and_then(|rest| rest.split_once(";base64,"));
                        shape.require(
                            url.starts_with("https://")
                                || data.is_some_and(|(_, data)| !data.is_empty()),
                            format_args!("{at}: not the URL of a picture"),
                        );
                    }
                    _ => shape.fail(format!("{at}.type: unknown")),
                }
            }
        }
        _ => shape.fail(format!("{at}.content: neither text nor parts")),
    }
}

fn embeddings(body: &Value, shape: &mut Shape<'_>) -> Route {
    let Some(fields) =
        shape.object("body", body, &["model", "input"], &["dimensions", "encoding_format", "user"])
    else {
        return Route::Unknown;
    };
    shape.text("model", fields.get("model"));
    shape.integer("dimensions", fields.get("dimensions"), 1);
    // 2,048 texts per request (API reference, embeddings, `input`).
    shape.texts("input", fields.get("input"), 2048);
    let texts = body["input"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|t| t.as_str().map(str::to_owned))
        .collect();
    let width = body["dimensions"].as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or(8);
    Route::Embed { model: body["model"].as_str().unwrap_or_default().to_owned(), texts, width }
}
