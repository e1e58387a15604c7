//! The newest lines of the log, as a list and as a stream.

use axum::{body::Body, http::StatusCode};
use futures::StreamExt as _;
use galatea_core::{Timestamp, store::OperatorRole};
use galatea_host::ops::logs::{LogLevel, LogLine};
use std::time::Duration;

use crate::support::{Server, ask};

fn line(level: LogLevel, text: &str) -> LogLine {
    LogLine {
        seq: 0,
        at: Timestamp(5),
        level,
        target: "galatea".to_owned(),
        text: text.to_owned(),
        turn: Some("018f".to_owned()),
    }
}

#[tokio::test]
async fn lines_are_listed_by_level_and_number() {
    let server = Server::new().await;
    let token = server.token(OperatorRole::Operator).await;
    let ring = server.ops.log_ring();
    ring.push(line(LogLevel::Debug, "a detail"));
    ring.push(line(LogLevel::Info, "it began"));
    ring.push(line(LogLevel::Warn, "it failed"));
    let get = async |query: &str| {
        let answer = server.answer(ask("GET", &format!("/api/v1/logs{query}")).token(&token)).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
        let items = answer.json()["items"].as_array().unwrap().clone();
        items.iter().map(|item| item["text"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(get("").await, ["it began", "it failed"]);
    assert_eq!(get("?level=debug").await.len(), 3);
    assert_eq!(get("?level=debug&after=2").await, ["it failed"]);
    assert_eq!(get("?level=debug&limit=1").await, ["it failed"], "the newest");
    let odd = server.answer(ask("GET", "/api/v1/logs?level=loud").token(&token)).await;
    assert_eq!(odd.status, StatusCode::BAD_REQUEST);
    let viewer = server.token(OperatorRole::Viewer).await;
    let refused = server.answer(ask("GET", "/api/v1/logs").token(&viewer)).await;
    assert_eq!(refused.code(), "GAL-AUTH-ROLE");
}

#[tokio::test]
async fn a_stream_goes_on_with_each_new_line_once() {
    let server = Server::new().await;
    let token = server.token(OperatorRole::Operator).await;
    let ring = server.ops.log_ring();
    ring.push(line(LogLevel::Info, "before"));
    let request = ask("GET", "/api/v1/logs").token(&token).header("accept", "text/event-stream");
    let response = server.raw(request).await;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let mut body = Body::into_data_stream(response.into_body());
    let mut next = async || {
        let piece = tokio::time::timeout(Duration::from_secs(10), body.next()).await;
        String::from_utf8(piece.unwrap().unwrap().unwrap().to_vec()).unwrap()
    };
    assert!(next().await.contains("\"text\":\"before\""));
    ring.push(line(LogLevel::Debug, "not wanted"));
    ring.push(line(LogLevel::Warn, "after"));
    let piece = next().await;
    assert!(piece.starts_with("id: 3\nevent: line\n") && piece.contains("after"), "{piece}");
}
