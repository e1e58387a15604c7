//! Google's Gemini API: `generateContent`, `streamGenerateContent`, `batchEmbedContents`, models
//! (ai.google.dev/api).

use galatea_core::model::Finish;
use serde_json::{Value, json};

use super::{
    reply::{Answer, Fault},
    server::{Dialect, Recorded, Route},
    shape::{Shape, pieces, vector},
};

/// Dialect of Google's API.
#[derive(Debug, Clone, Copy, Default)]
pub struct Google;

impl Dialect for Google {
    const KEY: Option<(&'static str, &'static str)> = Some(("x-goog-api-key", ""));
    const BASE: &'static str = "/v1beta";

    fn inspect(&self, request: &Recorded, violations: &mut Vec<String>) -> Route {
        let mut shape = Shape { violations };
        if (request.method.as_str(), request.path.as_str()) == ("GET", "/v1beta/models") {
            shape.require(
                request.query.is_empty() || request.query == "pageSize=1000",
                "query: neither empty nor the largest page size",
            );
            return Route::Models(None);
        }
        let rest = request.path.strip_prefix("/v1beta/models/").unwrap_or_default();
        let (model, method) = rest.split_once(':').unwrap_or((rest, ""));
        shape.require(!model.is_empty(), "path: no model");
        match (request.method.as_str(), method) {
            ("POST", "generateContent") => generate(model, false, &request.body, &mut shape),
            ("POST", "streamGenerateContent") => {
                shape.require(request.query == "alt=sse", "query: not alt=sse");
                generate(model, true, &request.body, &mut shape)
            }
            ("POST", "batchEmbedContents") => embed(model, &request.body, &mut shape),
            ("GET", "") => Route::Models(Some(model.to_owned())),
            (method, _) => {
                shape.fail(format!("no such operation: {method} {}", request.path));
                Route::Unknown
            }
        }
    }

    fn answer(&self, route: &Route, answer: &Answer) -> (Vec<u8>, &'static str) {
        let Route::Chat { model, stream, .. } = route else {
            return (Vec::new(), "application/json");
        };
        let finish = match answer.finish {
            Finish::Stop | Finish::Tools => "STOP",
            Finish::Length | Finish::Deadline => "MAX_TOKENS",
            Finish::Filtered => "SAFETY",
        };
        let (input, output) = answer.usage;
        let usage = json!({ "promptTokenCount": input, "cachedContentTokenCount": self.cached(input), "candidatesTokenCount": output - output.min(2), "thoughtsTokenCount": output.min(2), "totalTokenCount": input + output });
        let call = |(name, arguments): &(String, String)| json!({ "functionCall": { "name": name, "args": serde_json::from_str::<Value>(arguments).unwrap_or(Value::Null) } });
        let chunk = |parts: Vec<Value>, finish: Option<&str>, usage: Option<&Value>| {
            let mut candidate =
                json!({ "content": { "role": "model", "parts": parts }, "index": 0 });
            if let Some(finish) = finish {
                candidate["finishReason"] = json!(finish);
            }
            let mut body =
                json!({ "candidates": [candidate], "modelVersion": model, "responseId": "r1" });
            if let Some(usage) = usage {
                body["usageMetadata"] = usage.clone();
            }
            body
        };
        if !stream {
            let mut parts = vec![json!({ "text": "thinking about it", "thought": true })];
            if !answer.text.is_empty() {
                parts.push(json!({ "text": answer.text }));
            }
            parts.extend(answer.tools.iter().map(call));
            return (
                chunk(parts, Some(finish), Some(&usage)).to_string().into_bytes(),
                "application/json; charset=UTF-8",
            );
        }
        let mut out = String::new();
        let mut event = |body: Value| out.push_str(&format!("data: {body}\r\n\r\n"));
        for piece in pieces(&answer.text, 6) {
            event(chunk(vec![json!({ "text": piece })], None, None));
        }
        for tool in &answer.tools {
            event(chunk(vec![call(tool)], None, None));
        }
        event(chunk(vec![json!({ "text": "" })], Some(finish), Some(&usage)));
        (out.into_bytes(), "text/event-stream")
    }

    fn other(&self, route: &Route) -> Value {
        match route {
            Route::Embed { texts, width, .. } => {
                json!({ "embeddings": texts.iter().map(|text| json!({ "values": vector(text, *width) })).collect::<Vec<_>>() })
            }
            Route::Models(Some(model)) => {
                json!({ "name": format!("models/{model}"), "displayName": model, "supportedGenerationMethods": ["generateContent"] })
            }
            _ => json!({ "models": [] }),
        }
    }

    fn failure(&self, fault: &Fault, route: &Route, key: &str) -> (u16, Value) {
        let model = match route {
            Route::Chat { model, .. } | Route::Embed { model, .. } | Route::Models(Some(model)) => {
                model.as_str()
            }
            _ => "",
        };
        let error = |code: u16, status: &str, message: String, details: Value| {
            (
                code,
                json!({ "error": { "code": code, "message": message, "status": status, "details": details } }),
            )
        };
        let reason = |reason: &str| json!([{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "googleapis.com" }]);
        match fault {
            Fault::BadKey => error(400, "INVALID_ARGUMENT", format!("API key not valid ({key}). Please pass a valid API key."), reason("API_KEY_INVALID")),
            Fault::NoMoney => error(403, "PERMISSION_DENIED", "This API method requires billing to be enabled.".to_owned(), reason("BILLING_DISABLED")),
            Fault::RateLimited(after) => {
                let delay = after.map_or_else(|| "17s".to_owned(), |after| format!("{after}s"));
                error(
                    429,
                    "RESOURCE_EXHAUSTED",
                    "You exceeded your current quota, please check your plan and billing details.".to_owned(),
                    json!([{ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay }]),
                )
            }
            Fault::UnknownModel => {
                error(404, "NOT_FOUND", format!("models/{model} is not found for API version v1beta, or is not supported for generateContent."), json!([]))
            }
            Fault::TooLong => {
                error(400, "INVALID_ARGUMENT", "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).".to_owned(), json!([]))
            }
            Fault::TooBig => error(413, "INVALID_ARGUMENT", "Request payload size exceeds the limit: 20971520 bytes.".to_owned(), json!([])),
            Fault::NoTools => error(400, "INVALID_ARGUMENT", "Function calling is not enabled for this model".to_owned(), json!([])),
            Fault::Overloaded => error(503, "UNAVAILABLE", "The model is overloaded. Please try again later.".to_owned(), json!([])),
            Fault::ServerTimeout => error(408, "CANCELLED", "Request timed out".to_owned(), json!([])),
            _ => error(500, "INTERNAL", format!("An internal error has occurred (key {key})"), json!([])),
        }
    }

    fn empty(&self, route: &Route) -> (Vec<u8>, &'static str) {
        match route {
            Route::Chat { stream: true, .. } => (
                b"data: {\"candidates\":[{\"finishReason\":\"STOP\",\"index\":0}]}\r\n\r\n"
                    .to_vec(),
                "text/event-stream",
            ),
            Route::Embed { .. } => (b"{}".to_vec(), "application/json"),
            _ => (b"{\"candidates\":[]}".to_vec(), "application/json"),
        }
    }

    fn stream_error(&self, _: &Route) -> Vec<u8> {
        b"data: {\"error\":{\"code\":503,\"message\":\"The model is overloaded.\",\"status\":\"UNAVAILABLE\"}}\r\n\r\n".to_vec()
    }
}

fn generate(model: &str, stream: bool, body: &Value, shape: &mut Shape<'_>) -> Route {
    let Some(fields) = shape.object(
        "body",
        body,
        &["contents"],
        &["systemInstruction", "tools", "toolConfig", "generationConfig", "safetySettings"],
    ) else {
        return Route::Unknown;
    };
    if let Some(system) = fields.get("systemInstruction") {
        shape.object("systemInstruction", system, &["parts"], &["role"]);
        shape.text("systemInstruction.parts[0].text", system["parts"][0].get("text"));
    }
    for (i, content) in shape.list("contents", fields.get("contents")).iter().enumerate() {
        let at = format_args!("contents[{i}]");
        shape.object(at, content, &["role", "parts"], &[]);
        shape.require(
            matches!(content["role"].as_str(), Some("user" | "model")),
            format_args!("{at}.role: neither user nor model"),
        );
        shape.require(i > 0 || content["role"] == "user", "contents: the first is not the user's");
        for (n, part) in
            shape.list(format_args!("{at}.parts"), content.get("parts")).iter().enumerate()
        {
            let at = format_args!("{at}.parts[{n}]");
            if part.get("inlineData").is_some() {
                shape.object(at, part, &["inlineData"], &[]);
                shape.object(at, &part["inlineData"], &["mimeType", "data"], &[]);
                shape.base64(at, part["inlineData"].get("data"));
            } else if part.get("functionCall").is_some() {
                shape.object(at, part, &["functionCall"], &["thoughtSignature"]);
                shape.object(at, &part["functionCall"], &["name", "args"], &["id"]);
            } else if part.get("functionResponse").is_some() {
                shape.object(at, part, &["functionResponse"], &[]);
                shape.object(at, &part["functionResponse"], &["name", "response"], &["id"]);
            } else {
                shape.object(at, part, &["text"], &["thought", "thoughtSignature"]);
                shape.require(part["text"].is_string(), format_args!("{at}.text: not a string"));
            }
        }
    }
    for (i, tool) in fields.get("tools").and_then(Value::as_array).into_iter().flatten().enumerate()
    {
        shape.object(format_args!("tools[{i}]"), tool, &["functionDeclarations"], &[]);
        for (n, function) in
            shape.list("functionDeclarations", tool.get("functionDeclarations")).iter().enumerate()
        {
            let at = format_args!("tools[{i}].functionDeclarations[{n}]");
            shape.object(at, function, &["name", "description", "parametersJsonSchema"], &[]);
            shape.tool_name(at, function.get("name"));
            shape.schema(at, function.get("parametersJsonSchema"));
        }
    }
    if let Some(config) = fields.get("generationConfig") {
        let known = [
            "maxOutputTokens",
            "temperature",
            "topP",
            "topK",
            "seed",
            "presencePenalty",
            "frequencyPenalty",
            "stopSequences",
            "thinkingConfig",
        ];
        shape.object("generationConfig", config, &[], &known);
        if model.starts_with("gemini-3") {
            for name in ["temperature", "topP", "topK"] {
                shape.require(
                    config.get(name).is_none(),
                    format_args!("{name}: to be left out for {model}"),
                );
            }
        }
        if let Some(thinking) = config.get("thinkingConfig") {
            shape.object("thinkingConfig", thinking, &["thinkingLevel"], &[]);
            let known = thinking["thinkingLevel"]
                .as_str()
                .is_some_and(|level| ["low", "medium", "high"].contains(&level));
            shape.require(
                known && model.starts_with("gemini-3"),
                format_args!("thinkingLevel: not one of {model}"),
            );
        }
        shape.integer("maxOutputTokens", config.get("maxOutputTokens"), 1);
        shape.integer("topK", config.get("topK"), 1);
        shape.integer("seed", config.get("seed"), i64::MIN);
        shape.number("temperature", config.get("temperature"), 0.0, 2.0);
        shape.number("topP", config.get("topP"), 0.0, 1.0);
        // At most five (API reference, GenerationConfig.stopSequences).
        shape.texts("stopSequences", config.get("stopSequences"), 5);
    }
    Route::Chat { model: model.to_owned(), stream, usage: true }
}

fn embed(model: &str, body: &Value, shape: &mut Shape<'_>) -> Route {
    shape.object("body", body, &["requests"], &[]);
    let list = shape.list("requests", body.get("requests"));
    // At most 100 in one batch (API error text of batchEmbedContents).
    shape.require(list.len() <= 100, "requests: more than 100");
    let mut texts = Vec::new();
    for (i, request) in list.iter().enumerate() {
        let at = format_args!("requests[{i}]");
        shape.object(
            at,
            request,
            &["model", "content"],
            &["taskType", "title", "outputDimensionality"],
        );
        shape.require(
            request["model"] == format!("models/{model}"),
            format_args!("{at}.model: differs from the path"),
        );
        shape.text(at, request["content"]["parts"][0].get("text"));
        texts.push(request["content"]["parts"][0]["text"].as_str().unwrap_or_default().to_owned());
    }
    Route::Embed { model: model.to_owned(), texts, width: 8 }
}
