//! Lists, changes and repeated requests, over a filled database.

use axum::http::StatusCode;
use galatea_core::store::{OperatorRole, OutboxState};
use galatea_testkit::store_suite::fixtures::{Scene, settlement};
use serde_json::Value;
use std::collections::BTreeSet;

use crate::support::{Server, ask};

async fn fill(server: &Server, scene: Scene, messages: i64) {
    for n in 0..messages {
        let message = scene.message(&format!("m{n}"), n);
        let mut ingest = Scene::batch(std::slice::from_ref(&message));
        ingest.connections = scene.connections();
        server.store.ingest(ingest).await.unwrap();
        let record = scene.turn(&[&message]);
        let part = record.deliveries[0].delivery.id;
        server.store.finish_turn(record).await.unwrap();
        if n == 0 {
            server.store.settle(vec![settlement(part, OutboxState::Dead)]).await.unwrap();
        }
    }
}

/// Every item of a list, page by page.
async fn all(server: &Server, token: &str, path: &str, cursor: &str) -> Vec<Value> {
    let (mut out, mut next) = (Vec::new(), None::<String>);
    loop {
        let joint = if path.contains('?') { '&' } else { '?' };
        let more = next.map(|next| format!("&{cursor}={next}")).unwrap_or_default();
        let answer =
            server.answer(ask("GET", &format!("{path}{joint}limit=3{more}")).token(token)).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
        let page = answer.json();
        out.extend(page["items"].as_array().unwrap().iter().cloned());
        next = page["next"].as_str().map(str::to_owned);
        if next.is_none() {
            return out;
        }
    }
}

#[tokio::test]
async fn every_list_has_each_row_once() {
    let server = Server::new().await;
    let token = server.token(OperatorRole::Viewer).await;
    let scene = Scene::new();
    fill(&server, scene, 8).await;
    fill(&server, scene.other_room(), 4).await;
    let agent = scene.agent;
    let room = scene.room;
    for (path, cursor, rows) in [
        ("/api/v1/turns".to_owned(), "before", 12),
        (format!("/api/v1/turns?room={room}"), "before", 8),
        ("/api/v1/turns?state=done".to_owned(), "before", 12),
        ("/api/v1/turns?state=dead".to_owned(), "before", 0),
        (format!("/api/v1/outbox?agent={agent}"), "before", 12),
        ("/api/v1/outbox?state=dead".to_owned(), "before", 2),
        (format!("/api/v1/rooms?agent={agent}"), "after", 2),
        (format!("/api/v1/people?agent={agent}"), "after", 2),
        (format!("/api/v1/memories?agent={agent}&kind=messages"), "before", 24),
    ] {
        let items = all(&server, &token, &path, cursor).await;
        let ids: BTreeSet<&str> = items.iter().map(|item| item["id"].as_str().unwrap()).collect();
        assert_eq!((items.len(), ids.len()), (rows, rows), "{path}");
    }
    let messages = all(&server, &token, &format!("/api/v1/rooms/{room}/messages"), "before").await;
    assert_eq!(messages.len(), 16, "questions and answers");
    let turns = all(&server, &token, "/api/v1/turns", "before").await;
    let id = turns[0]["id"].as_str().unwrap();
    let detail =
        server.answer(ask("GET", &format!("/api/v1/turns/{id}")).token(&token)).await.json();
    assert_eq!(detail["turn"]["verdict"]["decision"], "skip");
    assert_eq!(detail["parts"].as_array().unwrap().len(), 1);
    let counts = server.answer(ask("GET", "/api/v1/counts").token(&token)).await.json();
    assert_eq!(counts["dead"], 2);
}

#[tokio::test]
async fn a_part_is_sent_again_once_per_key_and_recorded() {
    let server = Server::new().await;
    let token = server.token(OperatorRole::Operator).await;
    let owner = server.token(OperatorRole::Owner).await;
    fill(&server, Scene::new(), 1).await;
    let dead = all(&server, &token, "/api/v1/outbox?state=dead", "before").await;
    let id = dead[0]["id"].as_str().unwrap();
    let retry = |key: &str| {
        ask("POST", &format!("/api/v1/outbox/{id}/retry"))
            .token(&token)
            .header("idempotency-key", key)
    };
    let first = server.answer(retry("one")).await;
    assert_eq!((first.status, &first.json()["state"]), (StatusCode::OK, &Value::from("pending")));
    let again = server.answer(retry("one")).await;
    assert_eq!((again.status, &again.text), (first.status, &first.text));
    assert_eq!(again.headers["idempotency-replayed"], "true");
    let other = ask("POST", &format!("/api/v1/outbox/{id}/drop")).token(&token);
    let other = server.answer(other.header("idempotency-key", "one")).await;
    assert_eq!(other.code(), "GAL-API-KEY", "the key of another request");
    let second = server.answer(retry("two")).await;
    assert_eq!(second.code(), "GAL-OUTBOX-STATE", "it waits already");
    let changes = all(&server, &owner, "/api/v1/changes", "before").await;
    let retries: Vec<&Value> =
        changes.iter().filter(|change| change["operation"] == "outbox.retry").collect();
    assert_eq!(retries.len(), 1, "{changes:?}");
    assert_eq!(retries[0]["before"]["state"], "dead");
    assert_eq!(retries[0]["after"]["state"], "pending");
    assert!(retries[0]["origin"].as_str().unwrap().contains("token operator"));
}

#[tokio::test]
async fn an_answer_that_the_reader_has_is_not_sent_again() {
    let server = Server::new().await;
    let token = server.token(OperatorRole::Viewer).await;
    fill(&server, Scene::new(), 2).await;
    let read = || ask("GET", "/api/v1/turns").token(&token);
    let first = server.answer(read()).await;
    let tag = first.headers["etag"].to_str().unwrap().to_owned();
    let same = server.answer(read().header("if-none-match", &tag)).await;
    assert_eq!((same.status, same.text.as_str()), (StatusCode::NOT_MODIFIED, ""));
    fill(&server, Scene::new(), 1).await;
    let changed = server.answer(read().header("if-none-match", &tag)).await;
    assert_eq!(changed.status, StatusCode::OK);
}
