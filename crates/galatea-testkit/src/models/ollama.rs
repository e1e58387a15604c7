//! Ollama's `/api/chat`, `/api/embed`, `/api/show` and `/api/tags` (docs/api.md of the ollama
//! repository).

use galatea_core::model::Finish;
use serde_json::{Value, json};

use super::{
    reply::{Answer, Fault},
    server::{Dialect, Recorded, Route},
    shape::{Shape, pieces, vector},
};

/// Dialect of Ollama's API.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ollama;

const OPTIONS: [&str; 12] = [
    "num_predict",
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "seed",
    "repeat_penalty",
    "frequency_penalty",
    "presence_penalty",
    "stop",
    "num_ctx",
    "num_keep",
];

impl Dialect for Ollama {
    const KEY: Option<(&'static str, &'static str)> = Some(("authorization", "Bearer "));
    const BASE: &'static str = "/api";

    fn inspect(&self, request: &Recorded, violations: &mut Vec<String>) -> Route {
        let mut shape = Shape { violations };
        match (request.method.as_str(), request.path.as_str()) {
            ("POST", "/api/chat") => chat(&request.body, &mut shape),
            ("POST", "/api/embed") => embed(&request.body, &mut shape),
            ("POST", "/api/show") => show(&request.body, &mut shape),
            ("GET", "/api/tags") => Route::Models(None),
            (method, path) => {
                shape.fail(format!("no such operation: {method} {path}"));
                Route::Unknown
            }
        }
    }

    fn answer(&self, route: &Route, answer: &Answer) -> (Vec<u8>, &'static str) {
        let Route::Chat { model, stream, .. } = route else {
            return (Vec::new(), "application/json");
        };
        let reason = if answer.finish == Finish::Length { "length" } else { "stop" };
        let calls: Vec<Value> = answer
            .tools
            .iter()
            .map(|(name, arguments)| json!({ "function": { "name": name, "arguments": serde_json::from_str::<Value>(arguments).unwrap_or(Value::Null) } }))
            .collect();
        let line = |message: Value| json!({ "model": model, "created_at": "2025-07-01T00:00:00Z", "message": message, "done": false });
        let finish = |message: Value| {
            let mut last = line(message);
            last["done"] = json!(true);
            last["done_reason"] = json!(reason);
            last["total_duration"] = json!(1);
            last["prompt_eval_count"] = json!(answer.usage.0);
            last["eval_count"] = json!(answer.usage.1);
            last
        };
        if !stream {
            let mut message = json!({ "role": "assistant", "content": answer.text });
            if !calls.is_empty() {
                message["tool_calls"] = Value::Array(calls);
            }
            return (finish(message).to_string().into_bytes(), "application/json; charset=utf-8");
        }
        let mut out = String::new();
        for piece in pieces(&answer.text, 6) {
            out.push_str(&line(json!({ "role": "assistant", "content": piece })).to_string());
            out.push('\n');
        }
        for call in calls {
            out.push_str(
                &line(json!({ "role": "assistant", "content": "", "tool_calls": [call] }))
                    .to_string(),
            );
            out.push('\n');
        }
        out.push_str(&finish(json!({ "role": "assistant", "content": "" })).to_string());
        out.push('\n');
        (out.into_bytes(), "application/x-ndjson")
    }

    fn other(&self, route: &Route) -> Value {
        match route {
            Route::Embed { model, texts, width } => {
                json!({ "model": model, "embeddings": texts.iter().map(|text| vector(text, *width)).collect::<Vec<_>>(), "prompt_eval_count": 3 })
            }
            Route::Details(_) => json!({
                "license": "MIT", "modelfile": "FROM x", "parameters": "temperature                    1", "template": "{{ .Prompt }}",
                "details": { "family": "gemma3" }, "capabilities": ["completion"],
                "model_info": { "general.architecture": "gemma3", "gemma3.context_length": 131_072 },
            }),
            _ => {
                let names = ["gemma3:latest", "llama3.2:latest", "nomic-embed-text:latest"];
                let models = names.map(|name| json!({ "name": name, "model": name, "size": 1 }));
                json!({ "models": models })
            }
        }
    }

    fn failure(&self, fault: &Fault, route: &Route, key: &str) -> (u16, Value) {
        let model = if let Route::Chat { model, .. }
        | Route::Embed { model, .. }
        | Route::Details(model) = route
        {
            model.as_str()
        } else {
            ""
        };
        let (status, text) = match fault {
            Fault::BadKey => (401, format!("unauthorized {key}")),
            Fault::NoMoney => (402, "payment required: usage limit reached".to_owned()),
            Fault::RateLimited(_) => (429, "too many requests".to_owned()),
            Fault::UnknownModel => {
                (404, format!("model \"{model}\" not found, try pulling it first"))
            }
            Fault::TooLong => (400, "the input length exceeds the context length".to_owned()),
            Fault::TooBig => (413, "request body too large".to_owned()),
            Fault::NoTools => {
                (400, format!("registry.ollama.ai/library/{model} does not support tools"))
            }
            Fault::Overloaded => {
                (503, "server busy, please try again. maximum pending requests exceeded".to_owned())
            }
            Fault::ServerTimeout => (408, "timed out waiting for llama runner to start".to_owned()),
            _ => (500, format!("llama runner process has terminated (key {key})")),
        };
        (status, json!({ "error": text }))
    }

    fn empty(&self, route: &Route) -> (Vec<u8>, &'static str) {
        if matches!(route, Route::Embed { .. }) {
            return (br#"{"model":"x","embeddings":[]}"#.to_vec(), "application/json");
        }
        let body = b"{\"model\":\"x\",\"created_at\":\"x\",\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\"}\n";
        (body.to_vec(), "application/x-ndjson")
    }

    fn cached(&self, _: u64) -> u64 {
        0
    }

    fn stream_error(&self, _: &Route) -> Vec<u8> {
        b"{\"error\":\"an error was encountered while running the model: CUDA error\"}\n".to_vec()
    }
}

fn chat(body: &Value, shape: &mut Shape<'_>) -> Route {
    let Some(fields) = shape.object(
        "body",
        body,
        &["model", "messages"],
        &["tools", "format", "options", "stream", "keep_alive", "think"],
    ) else {
        return Route::Unknown;
    };
    shape.text("model", fields.get("model"));
    shape.flag("stream", fields.get("stream"));
    for (i, message) in shape.list("messages", fields.get("messages")).iter().enumerate() {
        let at = format_args!("messages[{i}]");
        shape.object(
            at,
            message,
            &["role", "content"],
            &["images", "tool_calls", "tool_name", "thinking"],
        );
        let role = message["role"].as_str().unwrap_or_default();
        shape.require(
            ["system", "user", "assistant", "tool"].contains(&role),
            format_args!("{at}.role: unknown"),
        );
        shape.require(
            role != "system" || i == 0,
            format_args!("{at}: instructions after the first message"),
        );
        shape.require(message["content"].is_string(), format_args!("{at}.content: not a string"));
        for image in message["images"].as_array().into_iter().flatten() {
            shape.base64(format_args!("{at}.images"), Some(image));
        }
    }
    if let Some(options) = fields.get("options") {
        shape.object("options", options, &[], &OPTIONS);
        for name in OPTIONS {
            let Some(value) = options.get(name) else { continue };
            match name {
                "stop" => shape.texts("options.stop", Some(value), usize::MAX),
                "num_predict" | "top_k" | "seed" | "num_ctx" | "num_keep" => {
                    shape.integer(format_args!("options.{name}"), Some(value), i64::MIN)
                }
                _ => shape.number(format_args!("options.{name}"), Some(value), f64::MIN, f64::MAX),
            }
        }
    }
    if fields.contains_key("tools") {
        for (i, tool) in shape.list("tools", fields.get("tools")).iter().enumerate() {
            let at = format_args!("tools[{i}]");
            shape.require(tool["type"] == "function", format_args!("{at}.type: not function"));
            shape.object(
                format_args!("{at}.function"),
                &tool["function"],
                &["name", "description", "parameters"],
                &[],
            );
            shape.tool_name(format_args!("{at}.function.name"), tool["function"].get("name"));
            shape.schema(
                format_args!("{at}.function.parameters"),
                tool["function"].get("parameters"),
            );
        }
    }
    // Ollama streams unless the request turns it off.
    Route::Chat {
        model: body["model"].as_str().unwrap_or_default().to_owned(),
        stream: body["stream"].as_bool().unwrap_or(true),
        usage: true,
    }
}

fn show(body: &Value, shape: &mut Shape<'_>) -> Route {
    let Some(fields) = shape.object("body", body, &["model"], &["verbose"]) else {
        return Route::Unknown;
    };
    shape.text("model", fields.get("model"));
    Route::Details(body["model"].as_str().unwrap_or_default().to_owned())
}

fn embed(body: &Value, shape: &mut Shape<'_>) -> Route {
    let Some(fields) = shape.object(
        "body",
        body,
        &["model", "input"],
        &["truncate", "options", "keep_alive", "dimensions"],
    ) else {
        return Route::Unknown;
    };
    shape.text("model", fields.get("model"));
    shape.texts("input", fields.get("input"), usize::MAX);
    let texts = body["input"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|t| t.as_str().map(str::to_owned))
        .collect();
    Route::Embed { model: body["model"].as_str().unwrap_or_default().to_owned(), texts, width: 8 }
}
