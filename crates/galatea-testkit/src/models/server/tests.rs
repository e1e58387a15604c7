//! Tests that the servers report violations of the documents.

use super::super::{AnthropicServer, GoogleServer, OllamaServer, OpenAiServer};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// Sends a request without the defaults that a client library would add.
async fn send(
    address: std::net::SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &Value,
) -> String {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let mut text = format!(
        "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    let mut socket = TcpStream::connect(address).await.unwrap();
    socket.write_all(format!("{text}\r\n{body}").as_bytes()).await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    answer
}

const JSON: (&str, &str) = ("content-type", "application/json");

fn hi() -> Value {
    json!([{ "role": "user", "content": "hi" }])
}

#[tokio::test]
async fn openai_is_strict() {
    let server = OpenAiServer::start("k").await.unwrap();
    let auth = [JSON, ("authorization", "Bearer k")];
    let good = json!({ "model": "gpt-4o", "messages": hi() });
    assert!(
        send(server.address(), "POST", "/v1/chat/completions", &auth, &good)
            .await
            .starts_with("HTTP/1.1 200")
    );
    server.assert_clean();
    let bad = [
        json!({ "model": "gpt-4o" }),
        json!({ "model": "gpt-4o", "messages": [] }),
        json!({ "model": "gpt-4o", "messages": hi(), "top_k": 3 }),
        json!({ "model": "gpt-4o", "messages": hi(), "temperature": 3 }),
        json!({ "model": "gpt-4o", "messages": hi(), "seed": null }),
        json!({ "model": "gpt-5-nano", "messages": hi(), "max_tokens": 3 }),
        json!({ "model": "gpt-4o", "messages": hi(), "stream_options": { "include_usage": true } }),
        json!({ "model": "gpt-4o", "messages": [{ "role": "robot", "content": "x" }] }),
        json!({ "model": "gpt-4o", "messages": hi(), "tools": [{ "type": "function", "function": { "name": "bad name", "parameters": { "type": "object" } } }] }),
        json!({ "model": "gpt-4o", "messages": hi(), "tools": [{ "type": "function", "function": { "name": "x", "parameters": { "type": "null" } } }] }),
    ];
    for body in bad {
        assert!(
            send(server.address(), "POST", "/v1/chat/completions", &auth, &body)
                .await
                .starts_with("HTTP/1.1 400"),
            "{body}"
        );
        assert!(!server.take_violations().is_empty(), "{body}");
    }
    for headers in [
        [JSON, ("authorization", "k")],
        [JSON, ("x-api-key", "k")],
        [("content-type", "text/plain"), ("authorization", "Bearer k")],
    ] {
        send(server.address(), "POST", "/v1/chat/completions", &headers, &good).await;
        assert!(!server.take_violations().is_empty(), "{headers:?}");
    }
    assert!(
        send(
            server.address(),
            "POST",
            "/v1/chat/completions",
            &[JSON, ("authorization", "Bearer other")],
            &good
        )
        .await
        .starts_with("HTTP/1.1 401")
    );
    send(server.address(), "GET", "/v1/nothing", &auth[1..], &Value::Null).await;
    assert_eq!(server.take_violations().len(), 1);
    assert_eq!(server.requests().len(), server.count());
}

#[tokio::test]
async fn anthropic_is_strict() {
    let server = AnthropicServer::start("k").await.unwrap();
    let headers = [JSON, ("x-api-key", "k"), ("anthropic-version", "2023-06-01")];
    let good = json!({ "model": "m", "max_tokens": 9, "messages": hi() });
    assert!(
        send(server.address(), "POST", "/v1/messages", &headers, &good)
            .await
            .starts_with("HTTP/1.1 200")
    );
    server.assert_clean();
    let bad = [
        json!({ "model": "m", "messages": hi() }),
        json!({ "model": "m", "max_tokens": 9, "messages": [{ "role": "assistant", "content": "x" }] }),
        json!({ "model": "m", "max_tokens": 9, "messages": [{ "role": "user", "content": "x" }, { "role": "user", "content": "y" }] }),
        json!({ "model": "m", "max_tokens": 9, "messages": [{ "role": "user", "content": "x" }, { "role": "assistant", "content": "y " }] }),
        json!({ "model": "m", "max_tokens": 9, "messages": [{ "role": "user", "content": [{ "type": "text", "text": "" }] }] }),
        json!({ "model": "m", "max_tokens": 9, "messages": hi(), "temperature": 0.5, "top_p": 0.5 }),
        json!({ "model": "m", "max_tokens": 9, "messages": hi(), "seed": 1 }),
    ];
    for body in bad {
        send(server.address(), "POST", "/v1/messages", &headers, &body).await;
        assert!(!server.take_violations().is_empty(), "{body}");
    }
    send(server.address(), "POST", "/v1/messages", &headers[..2], &good).await;
    assert!(!server.take_violations().is_empty(), "no version");
}

#[tokio::test]
async fn ollama_and_google_are_strict() {
    let server = OllamaServer::with(super::super::Ollama, None).await.unwrap();
    assert!(
        send(
            server.address(),
            "POST",
            "/api/chat",
            &[JSON],
            &json!({ "model": "m", "messages": hi() })
        )
        .await
        .starts_with("HTTP/1.1 200")
    );
    server.assert_clean();
    for body in [
        json!({ "model": "m", "messages": hi(), "max_tokens": 1 }),
        json!({ "model": "m", "messages": hi(), "options": { "max_tokens": 1 } }),
    ] {
        send(server.address(), "POST", "/api/chat", &[JSON], &body).await;
        assert!(!server.take_violations().is_empty(), "{body}");
    }

    let server = GoogleServer::start("k").await.unwrap();
    let headers = [JSON, ("x-goog-api-key", "k")];
    let good = json!({ "contents": [{ "role": "user", "parts": [{ "text": "hi" }] }] });
    assert!(
        send(server.address(), "POST", "/v1beta/models/g:generateContent", &headers, &good)
            .await
            .starts_with("HTTP/1.1 200")
    );
    server.assert_clean();
    for (path, body) in [
        ("/v1beta/models/g:streamGenerateContent", good.clone()),
        ("/v1beta/models/g:generateContent?key=k", good.clone()),
        (
            "/v1beta/models/g:generateContent",
            json!({ "contents": [{ "role": "assistant", "parts": [{ "text": "hi" }] }] }),
        ),
        (
            "/v1beta/models/g:generateContent",
            json!({ "contents": [{ "role": "model", "parts": [{ "text": "hi" }] }] }),
        ),
        (
            "/v1beta/models/other:batchEmbedContents",
            json!({ "requests": [{ "model": "models/g", "content": { "parts": [{ "text": "x" }] } }] }),
        ),
    ] {
        send(server.address(), "POST", path, &headers, &body).await;
        assert!(!server.take_violations().is_empty(), "{path} {body}");
    }
}

#[tokio::test]
#[should_panic(expected = "requests against the API document")]
async fn a_violation_fails_the_test_at_its_end() {
    let server = OpenAiServer::start("k").await.unwrap();
    send(server.address(), "GET", "/v1/nothing", &[("authorization", "Bearer k")], &Value::Null)
        .await;
}
