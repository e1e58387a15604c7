//! Scheduled faults.

use super::*;
use galatea_testkit::{
    clock::ManualClock,
    telegram::{BotApi, Effect, ErrorBody, Fault, Options, User},
};
use std::{sync::Arc, time::Duration};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

async fn with_ann() -> (BotApi, User) {
    let api = BotApi::start().await;
    let ann = api.user("Ann", "");
    ann.says(&ann.direct(), "hi").send();
    (api, ann)
}

async fn post(api: &BotApi, ann: &User) -> Result<reqwest::Response, reqwest::Error> {
    let url = format!("{}/bot{}/sendMessage", api.url(), api.token());
    client().post(url).json(&json!({ "chat_id": ann.id, "text": "x" })).send().await
}

#[tokio::test]
async fn a_flood_wait_is_answered_and_enforced_per_chat() {
    let clock = ManualClock::new();
    let api = BotApi::with(Options { clock: Arc::new(clock.clone()), ..Options::default() }).await;
    let (ann, bob) = (api.user("Ann", ""), api.user("Bob", ""));
    for person in [&ann, &bob] {
        person.says(&person.direct(), "hi").send();
    }
    let send = |id: i64| json!({ "chat_id": id, "text": "x" });
    api.fault(Fault::new(Effect::RateLimited(7)).on("sendMessage").at(ann.id));
    ok(&api, "sendMessage", send(bob.id)).await;
    let (status, body) = call(&api, "sendMessage", send(ann.id)).await;
    assert_eq!((status, &body["parameters"]["retry_after"]), (429, &json!(7)));
    clock.advance(Duration::from_millis(6_999));
    ok(&api, "sendMessage", send(bob.id)).await;
    assert_eq!(violates(&api, "sendMessage", send(ann.id)).await.0, 429);
    clock.advance(Duration::from_millis(1));
    ok(&api, "sendMessage", send(ann.id)).await;
}

#[tokio::test]
async fn a_lost_response_is_applied_and_closes_without_a_byte() {
    let (api, ann) = with_ann().await;
    api.fault(Fault::new(Effect::LoseResponse).on("sendMessage"));
    let error = post(&api, &ann).await.unwrap_err();
    assert!(!error.is_connect() && !error.is_timeout(), "{error:?}");
    assert_eq!(api.shown(ann.id).len(), 1);
    assert!(api.calls_of("sendMessage")[0].answer.is_none());
    assert_eq!(post(&api, &ann).await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_late_call_appears_only_when_told() {
    let (api, ann) = with_ann().await;
    api.fault(Fault::new(Effect::ApplyLate).on("sendMessage"));
    assert!(post(&api, &ann).await.is_err());
    assert!(api.shown(ann.id).is_empty());
    api.apply_late();
    assert_eq!(api.shown(ann.id).len(), 1);
}

#[tokio::test]
async fn a_cut_falls_on_the_very_byte() {
    let (api, ann) = with_ann().await;
    for bytes in [1, 20, 150] {
        api.fault(Fault::new(Effect::CutAfter(bytes)).on("sendMessage"));
        let body = json!({ "chat_id": ann.id, "text": "x" }).to_string();
        let mut stream =
            tokio::net::TcpStream::connect(api.url().trim_start_matches("http://")).await.unwrap();
        let head = format!(
            "POST /bot{}/sendMessage HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            api.token(),
            body.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut got = Vec::new();
        stream.read_to_end(&mut got).await.unwrap();
        assert_eq!(got.len(), bytes, "{}", String::from_utf8_lossy(&got));
    }
    assert_eq!(api.shown(ann.id).len(), 3, "the calls were done all the same");
}

#[tokio::test]
async fn server_errors_garbage_and_wrong_types() {
    let (api, ann) = with_ann().await;
    api.fault(Fault::new(Effect::ServerError(502, ErrorBody::Html)).on("sendMessage"));
    let response = post(&api, &ann).await.unwrap();
    assert_eq!(
        (response.status().as_u16(), response.headers()["content-type"].to_str().unwrap()),
        (502, "text/html")
    );
    api.fault(Fault::new(Effect::ServerError(500, ErrorBody::Json)).on("sendMessage"));
    let body: Value = post(&api, &ann).await.unwrap().json().await.unwrap();
    assert_eq!(body["error_code"], 500);
    assert!(api.shown(ann.id).is_empty());
    api.fault(Fault::new(Effect::Garbage).on("sendMessage"));
    assert!(post(&api, &ann).await.unwrap().json::<Value>().await.is_err());
    api.fault(Fault::new(Effect::WrongType).on("sendMessage"));
    let response = post(&api, &ann).await.unwrap();
    assert_eq!(response.headers()["content-type"].to_str().unwrap(), "text/html");
    assert_eq!(response.json::<Value>().await.unwrap()["ok"], true);
    assert_eq!(api.shown(ann.id).len(), 2);
}

#[tokio::test]
async fn a_hanging_call_is_never_answered() {
    let (api, ann) = with_ann().await;
    api.fault(Fault::new(Effect::Hang).on("sendMessage"));
    let url = format!("{}/bot{}/sendMessage", api.url(), api.token());
    let id = ann.id;
    let hung = tokio::spawn(async move {
        client().post(url).json(&json!({ "chat_id": id, "text": "x" })).send().await
    });
    api.wait_for("the call", |h| (!h.calls_of("sendMessage").is_empty()).then_some(())).await;
    assert!(!hung.is_finished());
    hung.abort();
    assert!(api.shown(ann.id).is_empty());
    let url = format!("{}/bot{}/sendMessage", api.url(), api.token());
    api.fault(Fault::new(Effect::ApplyAndHang).on("sendMessage"));
    let hung = tokio::spawn(async move {
        client().post(url).json(&json!({ "chat_id": id, "text": "done" })).send().await
    });
    assert_eq!(api.wait_shown(ann.id, 1).await[0].text, "done");
    assert!(!hung.is_finished());
    hung.abort();
    assert_eq!(post(&api, &ann).await.unwrap().status(), 200, "others are served");
}

#[tokio::test]
async fn an_unreachable_server_answers_no_request() {
    let (api, ann) = with_ann().await;
    api.set_reachable(false);
    assert!(post(&api, &ann).await.is_err());
    api.set_reachable(true);
    assert_eq!(post(&api, &ann).await.unwrap().status(), 200);
}

#[tokio::test]
async fn an_open_poll_ends_when_the_server_goes_away_and_brings_nothing() {
    let (api, ann) = with_ann().await;
    let url = format!("{}/bot{}/getUpdates", api.url(), api.token());
    let next = updates(&api, json!({})).await[0]["update_id"].as_i64().unwrap() + 1;
    let poll = tokio::spawn(async move {
        client().post(url).json(&json!({ "offset": next, "timeout": 50 })).send().await
    });
    api.wait_for("the poll", |h| (h.calls_of("getUpdates").len() == 2).then_some(())).await;
    api.set_reachable(false);
    assert!(poll.await.unwrap().is_err());
    ann.says(&ann.direct(), "meanwhile").send();
    api.set_reachable(true);
    let waiting = updates(&api, json!({})).await;
    assert_eq!((waiting.len(), &waiting[0]["message"]["text"]), (1, &json!("meanwhile")));
}
