//! Two steps of a conversation with tools in every wire format: an answer as the service documents it,
//! with thoughts and two calls, and the request with the results.

use galatea_core::{
    TextModel,
    model::{ChatMessage, ChatPart, TextAnswer, TextRequest, ToolChoice, ToolSpec},
};
use galatea_testkit::models::{Dialect, Reply};
use serde_json::{Value, json};
use std::sync::Arc;

use crate::{
    ask::ask,
    pairs::{Pair, anthropic, google, ollama, openai, responses},
};

fn question() -> TextRequest {
    let tool = |name: &str| ToolSpec {
        name: name.into(),
        description: "Tells the weather.".into(),
        parameters: json!({ "type": "object", "properties": { "day": { "type": "string" } } })
            .into(),
    };
    TextRequest {
        tools: vec![tool("rain"), tool("sun")].into(),
        ..TextRequest::prompt(Some("You are kind.".into()), "Rain or sun on Monday?")
    }
}

/// The question with what was called and what came of it.
fn with_results(answer: &TextAnswer) -> TextRequest {
    let mut request = question();
    let results = answer.tool_calls.iter().enumerate().map(|(n, call)| ChatPart::ToolResult {
        id: call.id.clone(),
        name: call.name.clone(),
        text: format!("result {n}"),
        failed: n == 1,
    });
    let results = results.collect();
    Arc::make_mut(&mut request.messages).extend([
        ChatMessage::called(&answer.text, &answer.tool_calls, answer.opaque.clone()),
        ChatMessage::results(results),
    ]);
    request
}

/// Plays both steps; gives the body of the second request.
async fn played<D: Dialect>(pair: &Pair<D>, recorded: Value) -> Value {
    let model = &pair.models.large;
    pair.server.enqueue(Reply::Json(recorded));
    let answer = ask(model, &question()).await.0.unwrap();
    let called: Vec<(&str, &str)> =
        answer.tool_calls.iter().map(|c| (c.name.as_str(), c.arguments.as_str())).collect();
    assert_eq!(called, [("rain", r#"{"day":"Monday"}"#), ("sun", r#"{"day":"Monday"}"#)]);
    let second = sent(pair, model, &with_results(&answer)).await;
    // Another model reads the calls and the results, and nothing that only this one can.
    let mut foreign = answer.clone();
    if let Some(opaque) = &mut foreign.opaque {
        opaque.model = "another".into();
        let body = sent(pair, model, &with_results(&foreign)).await;
        assert!(!body.to_string().contains("SIGNED"), "{body}");
        assert!(body.to_string().contains("result 1"), "{body}");
    }
    // At the last step the tools stay described and none may be called.
    let mut last = with_results(&answer);
    last.tool_choice = ToolChoice::None;
    sent(pair, model, &last).await;
    pair.server.assert_clean();
    second
}

async fn sent<D: Dialect>(
    pair: &Pair<D>,
    model: &Arc<dyn TextModel>,
    request: &TextRequest,
) -> Value {
    pair.server.enqueue(Reply::text("Rain."));
    ask(model, request).await.0.unwrap();
    pair.server.last().unwrap().body
}

#[tokio::test]
async fn chat_completions_pair_results_with_calls_by_id() {
    let call = |id: &str, name: &str| json!({ "id": id, "type": "function", "function": { "name": name, "arguments": "{\"day\":\"Monday\"}" } });
    let message = json!({
        "role": "assistant", "content": null, "tool_calls": [call("call_a", "rain"), call("call_b", "sun")],
        "reasoning_content": "SIGNED thought",
    });
    let pair = openai().await;
    let body = played(
        &pair,
        json!({ "id": "c", "object": "chat.completion", "created": 1, "model": "gpt-4o", "choices": [{ "index": 0, "message": message, "finish_reason": "tool_calls" }], "usage": { "prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18 } }),
    )
    .await;
    let messages = body["messages"].as_array().unwrap();
    let (step, results) = (&messages[2], &messages[3..]);
    assert_eq!(step["tool_calls"], message["tool_calls"]);
    assert_eq!(step["reasoning_content"], "SIGNED thought");
    assert_eq!(step.get("content"), None);
    assert_eq!(
        results,
        [
            json!({ "role": "tool", "content": "result 0", "tool_call_id": "call_a" }),
            json!({ "role": "tool", "content": "result 1", "tool_call_id": "call_b" }),
        ]
    );
    assert_eq!(pair.server.last().unwrap().body["tool_choice"], "none");
}

#[tokio::test]
async fn responses_send_their_items_back_as_they_were() {
    let call = |id: &str, name: &str| json!({ "type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": name, "arguments": "{\"day\":\"Monday\"}", "status": "completed" });
    let output = json!([
        { "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "SIGNED" },
        call("call_a", "rain"), call("call_b", "sun"),
    ]);
    let pair = responses().await;
    let body = played(
        &pair,
        json!({ "id": "r", "object": "response", "created_at": 1, "status": "completed", "error": null, "incomplete_details": null, "model": "gpt-6.1-terra", "output": output, "usage": { "input_tokens": 9, "output_tokens": 9 } }),
    )
    .await;
    let input = body["input"].as_array().unwrap();
    assert_eq!(Value::from(input[1..4].to_vec()), output);
    assert_eq!(
        input[4..],
        [
            json!({ "type": "function_call_output", "call_id": "call_a", "output": "result 0" }),
            json!({ "type": "function_call_output", "call_id": "call_b", "output": "result 1" }),
        ]
    );
    assert_eq!(body["include"], json!(["reasoning.encrypted_content"]));
    assert_eq!(pair.server.last().unwrap().body["tool_choice"], "none");
}

#[tokio::test]
async fn anthropic_gets_signed_thoughts_in_their_place_and_all_results_in_one_message() {
    let call = |id: &str, name: &str| json!({ "type": "tool_use", "id": id, "name": name, "input": { "day": "Monday" } });
    let content = json!([
        { "type": "thinking", "thinking": "Weather?", "signature": "SIGNED==" },
        { "type": "redacted_thinking", "data": "SIGNED2" },
        { "type": "text", "text": "Let me look." },
        call("toolu_a", "rain"), call("toolu_b", "sun"),
    ]);
    let pair = anthropic().await;
    let body = played(
        &pair,
        json!({ "id": "m", "type": "message", "role": "assistant", "model": "claude", "content": content, "stop_reason": "tool_use", "stop_sequence": null, "usage": { "input_tokens": 9, "output_tokens": 9 } }),
    )
    .await;
    let messages = &body["messages"];
    assert_eq!(messages[1], json!({ "role": "assistant", "content": content }));
    assert_eq!(
        messages[2],
        json!({ "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": "toolu_a", "content": "result 0" },
            { "type": "tool_result", "tool_use_id": "toolu_b", "content": "result 1", "is_error": true },
        ] })
    );
    assert_eq!(pair.server.last().unwrap().body["tool_choice"], json!({ "type": "none" }));
}

#[tokio::test]
async fn gemini_gets_its_thought_signatures_back_with_the_calls() {
    let call =
        |name: &str| json!({ "functionCall": { "name": name, "args": { "day": "Monday" } } });
    let mut first = call("rain");
    first["thoughtSignature"] = json!("SIGNED");
    let parts = json!([first, call("sun")]);
    let pair = google().await;
    let body = played(
        &pair,
        json!({ "candidates": [{ "content": { "role": "model", "parts": parts }, "finishReason": "STOP", "index": 0 }], "usageMetadata": { "promptTokenCount": 9, "candidatesTokenCount": 9 } }),
    )
    .await;
    assert_eq!(body["contents"][1], json!({ "role": "model", "parts": parts }));
    assert_eq!(
        body["contents"][2]["parts"],
        json!([
            { "functionResponse": { "name": "rain", "response": { "output": "result 0" } } },
            { "functionResponse": { "name": "sun", "response": { "error": "result 1" } } },
        ])
    );
    let config = &pair.server.last().unwrap().body["toolConfig"];
    assert_eq!(config, &json!({ "functionCallingConfig": { "mode": "NONE" } }));
}

#[tokio::test]
async fn ollama_gets_results_by_the_names_of_the_tools() {
    let call =
        |name: &str| json!({ "function": { "name": name, "arguments": { "day": "Monday" } } });
    let mut pair = ollama().await;
    let models = pair.fresh(&[("OLLAMA_LARGE_MODEL", "llama3.2"), ("MODEL_TOOLS", "true")]);
    pair.models = models;
    let body = played(
        &pair,
        json!({ "model": "m", "created_at": "x", "message": { "role": "assistant", "content": "", "thinking": "SIGNED hm", "tool_calls": [call("rain"), call("sun")] }, "done": true, "done_reason": "stop", "prompt_eval_count": 9, "eval_count": 9 }),
    )
    .await;
    let messages = body["messages"].as_array().unwrap();
    assert_eq!(messages[2]["tool_calls"], json!([call("rain"), call("sun")]));
    assert_eq!(messages[2]["thinking"], "SIGNED hm");
    assert_eq!(
        messages[3..],
        [
            json!({ "role": "tool", "content": "result 0", "tool_name": "rain" }),
            json!({ "role": "tool", "content": "result 1", "tool_name": "sun" }),
        ]
    );
    assert_eq!(pair.server.last().unwrap().body.get("tools"), None, "it cannot be told otherwise");
}
