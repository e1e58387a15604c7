//! OpenAI's Responses API (API reference, `POST /responses`, and its streaming events).

use galatea_core::model::Finish;
use serde_json::{Value, json};

use crate::models::{
    reply::Answer,
    server::Route,
    shape::{Shape, pieces},
};

const OPTIONAL: [&str; 17] = [
    "instructions",
    "tools",
    "tool_choice",
    "include",
    "parallel_tool_calls",
    "max_output_tokens",
    "temperature",
    "top_p",
    "reasoning",
    "store",
    "stream",
    "metadata",
    "text",
    "truncation",
    "include",
    "prompt_cache_key",
    "safety_identifier",
];

pub(super) fn inspect(body: &Value, shape: &mut Shape<'_>) -> Route {
    let Some(fields) = shape.object("body", body, &["model", "input"], &OPTIONAL) else {
        return Route::Unknown;
    };
    shape.text("model", fields.get("model"));
    let model = body["model"].as_str().unwrap_or_default().to_owned();
    for flag in ["stream", "store", "parallel_tool_calls"] {
        shape.flag(flag, fields.get(flag));
    }
    if fields.contains_key("instructions") {
        shape.text("instructions", fields.get("instructions"));
    }
    shape.integer("max_output_tokens", fields.get("max_output_tokens"), 16);
    shape.number("temperature", fields.get("temperature"), 0.0, 2.0);
    shape.number("top_p", fields.get("top_p"), 0.0, 1.0);
    let effort = body["reasoning"]["effort"].as_str();
    if let Some(reasoning) = fields.get("reasoning") {
        shape.object("reasoning", reasoning, &[], &["effort", "summary"]);
        let at_rest = effort != Some("none")
            || model.ends_with("-luna")
            || model.ends_with("-terra")
            || model == "gpt-6-sol";
        let known = effort
            .is_none_or(|word| ["none", "low", "medium", "high", "xhigh", "max"].contains(&word));
        shape.require(at_rest && known, format_args!("reasoning.effort: not one of {model}"));
    }
    if model.starts_with("gpt-6") && effort != Some("none") {
        for name in ["temperature", "top_p"] {
            shape.require(
                !fields.contains_key(name),
                format_args!("{name}: unsupported parameter for {model}"),
            );
        }
    }
    for (i, item) in shape.list("input", fields.get("input")).iter().enumerate() {
        message(i, item, shape);
    }
    if fields.contains_key("tools") {
        for (i, tool) in shape.list("tools", fields.get("tools")).iter().enumerate() {
            let at = format_args!("tools[{i}]");
            // An absent `strict` counts as true, which requires schemas of another form.
            shape.object(at, tool, &["type", "name", "parameters", "strict"], &["description"]);
            shape.require(
                tool["type"] == "function" && tool["strict"] == false,
                format_args!("{at}: not a loose function"),
            );
            shape.tool_name(format_args!("{at}.name"), tool.get("name"));
            shape.schema(format_args!("{at}.parameters"), tool.get("parameters"));
        }
    }
    Route::Respond { model, stream: body["stream"].as_bool().unwrap_or(false) }
}

fn message(i: usize, item: &Value, shape: &mut Shape<'_>) {
    let at = format_args!("input[{i}]");
    match item["type"].as_str() {
        Some("function_call") => {
            let optional = ["id", "status"];
            shape.object(at, item, &["type", "call_id", "name", "arguments"], &optional);
            return;
        }
        Some("function_call_output") => {
            shape.object(at, item, &["type", "call_id", "output"], &[]);
            return;
        }
        Some("reasoning") => {
            shape.object(
                at,
                item,
                &["type", "summary"],
                &["id", "encrypted_content", "content", "status"],
            );
            return;
        }
        // An item of an earlier answer, as it was.
        Some("message") if item["role"] == "assistant" => return,
        _ => {}
    }
    shape.object(at, item, &["role", "content"], &["type"]);
    let role = item["role"].as_str().unwrap_or_default();
    shape.require(
        ["user", "assistant", "system", "developer"].contains(&role),
        format_args!("{at}.role: unknown"),
    );
    let parts = match &item["content"] {
        Value::String(_) => return,
        Value::Array(parts) if role != "assistant" && !parts.is_empty() => parts,
        _ => return shape.fail(format!("{at}.content: neither text nor parts")),
    };
    for (n, part) in parts.iter().enumerate() {
        let at = format_args!("{at}.content[{n}]");
        match part["type"].as_str() {
            Some("input_text") => {
                shape.object(at, part, &["type", "text"], &[]);
                shape.require(part["text"].is_string(), format_args!("{at}.text: not a string"));
            }
            Some("input_image") => {
                shape.object(at, part, &["type", "image_url", "detail"], &[]);
                let url = part["image_url"].as_str().unwrap_or_default();
                let data =
                    url.strip_prefix("data:image/").and_then(|rest| rest.split_once(";base64,"));
                shape.require(
                    url.starts_with("https://") || data.is_some_and(|(_, data)| !data.is_empty()),
                    format_args!("{at}: not the URL of a picture"),
                );
            }
            _ => shape.fail(format!("{at}.type: unknown")),
        }
    }
}

/// The response object in its final state.
fn response(model: &str, answer: &Answer, output: &[Value], read_details: Value) -> Value {
    let (status, details) = match answer.finish {
        Finish::Length | Finish::Deadline => {
            ("incomplete", json!({ "reason": "max_output_tokens" }))
        }
        Finish::Filtered => ("incomplete", json!({ "reason": "content_filter" })),
        Finish::Stop | Finish::Tools => ("completed", Value::Null),
    };
    let (read, written) = answer.usage;
    let usage = json!({
        "input_tokens": read, "input_tokens_details": read_details,
        "output_tokens": written, "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": read + written,
    });
    json!({
        "id": "resp_1", "object": "response", "created_at": 1_700_000_000, "status": status, "error": null, "incomplete_details": details,
        "model": model, "output": output, "usage": usage, "store": false,
    })
}

/// Output items; `whole` includes their contents.
fn items(answer: &Answer, whole: bool) -> Vec<Value> {
    let mut output = vec![json!({ "type": "reasoning", "id": "rs_1", "summary": [] })];
    if !answer.text.is_empty() {
        let text = json!({ "type": "output_text", "text": answer.text, "annotations": [] });
        let content = if whole { vec![text] } else { Vec::new() };
        output.push(json!({ "type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content }));
    }
    for (i, (name, arguments)) in answer.tools.iter().enumerate() {
        let arguments = if whole { arguments.as_str() } else { "" };
        let item = json!({ "type": "function_call", "id": format!("fc_{i}"), "call_id": format!("call_{i}"), "name": name, "arguments": arguments, "status": "completed" });
        output.push(item);
    }
    output
}

pub(super) fn answer(
    model: &str,
    stream: bool,
    answer: &Answer,
    details: Value,
) -> (Vec<u8>, &'static str) {
    let done = items(answer, true);
    let last = response(model, answer, &done, details);
    if !stream {
        return (last.to_string().into_bytes(), "application/json");
    }
    let mut out = String::new();
    let mut number = 0;
    let mut event = |kind: &str, mut body: Value| {
        body["type"] = json!(kind);
        body["sequence_number"] = json!(number);
        number += 1;
        out.push_str(&format!("event: {kind}\ndata: {body}\n\n"));
    };
    let begun = json!({ "response": { "id": "resp_1", "object": "response", "status": "in_progress", "error": null, "model": model, "output": [] } });
    event("response.created", begun.clone());
    event("response.in_progress", begun);
    for (index, (empty, whole)) in items(answer, false).into_iter().zip(&done).enumerate() {
        event("response.output_item.added", json!({ "output_index": index, "item": empty }));
        match whole["type"].as_str() {
            Some("message") => {
                let at = json!({ "item_id": "msg_1", "output_index": index, "content_index": 0 });
                let with = |name: &str, value: Value| {
                    let mut body = at.clone();
                    body[name] = value;
                    body
                };
                event(
                    "response.content_part.added",
                    with("part", json!({ "type": "output_text", "text": "", "annotations": [] })),
                );
                for piece in pieces(&answer.text, 6) {
                    event("response.output_text.delta", with("delta", json!(piece)));
                }
                event("response.output_text.done", with("text", json!(answer.text)));
                event("response.content_part.done", with("part", whole["content"][0].clone()));
            }
            Some("function_call") => {
                let arguments = whole["arguments"].as_str().unwrap_or_default();
                for piece in pieces(arguments, 5) {
                    event(
                        "response.function_call_arguments.delta",
                        json!({ "item_id": whole["id"], "output_index": index, "delta": piece }),
                    );
                }
                event(
                    "response.function_call_arguments.done",
                    json!({ "item_id": whole["id"], "output_index": index, "arguments": arguments }),
                );
            }
            _ => {}
        }
        event("response.output_item.done", json!({ "output_index": index, "item": whole }));
    }
    let end =
        if last["status"] == "completed" { "response.completed" } else { "response.incomplete" };
    event(end, json!({ "response": last }));
    (out.into_bytes(), "text/event-stream; charset=utf-8")
}

pub(super) fn empty(stream: bool) -> (Vec<u8>, &'static str) {
    answer("x", stream, &Answer::default(), json!({ "cached_tokens": 0 }))
}

pub(super) fn stream_error() -> Vec<u8> {
    let failed = json!({ "type": "response.failed", "response": {
        "id": "resp_1", "object": "response", "status": "failed", "output": [], "error": { "code": "server_error", "message": "The model failed" },
    } });
    // The blank lines end an event that the body may have begun.
    format!("\n\nevent: response.failed\ndata: {failed}\n\n").into_bytes()
}
