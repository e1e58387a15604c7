//! The loopback Discord server notices broken rules and does its faults.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use galatea_testkit::discord::{Channel, DiscordApi, Effect, Fault, Options};
use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};
use std::time::Duration;

struct Caller {
    api: DiscordApi,
    http: Client,
}

impl Caller {
    async fn new(options: Options) -> (Self, Channel) {
        let api = DiscordApi::with(options).await;
        let ann = api.user("Ann", "ann_b");
        let general = api.guild("Garden", &[&ann]).general();
        (
            Self { api, http: Client::builder().user_agent("DiscordBot (x, 1)").build().unwrap() },
            general,
        )
    }

    async fn call(
        &self,
        method: Method,
        path: &str,
        body: Value,
    ) -> (StatusCode, Value, reqwest::header::HeaderMap) {
        let request = self
            .http
            .request(method, format!("{}/api/v10{path}", self.api.url()))
            .header("authorization", format!("Bot {}", self.api.token()));
        let request = if body.is_null() { request } else { request.json(&body) };
        let answer = request.send().await.unwrap();
        let (status, headers) = (answer.status(), answer.headers().clone());
        (status, answer.json().await.unwrap_or_default(), headers)
    }

    async fn post(
        &self,
        channel: &Channel,
        body: Value,
    ) -> (StatusCode, Value, reqwest::header::HeaderMap) {
        self.call(Method::POST, &format!("/channels/{}/messages", channel.id), body).await
    }
}

fn good(nonce: &str) -> Value {
    json!({ "content": "hi", "nonce": nonce, "enforce_nonce": true, "allowed_mentions": { "parse": [] } })
}

#[tokio::test]
async fn what_breaks_a_rule_is_refused_and_remembered() {
    let (caller, general) = Caller::new(Options::default()).await;
    let with = |field: &str, value: Value| {
        let mut body = good("n");
        body[field] = value;
        body
    };
    let button = |id: &str| json!({ "type": 2, "style": 2, "label": "x", "custom_id": id });
    let wrong = [
        with("content", json!("x".repeat(2001))),
        with("content", json!(" ")),
        with("allowed_mentions", json!({ "parse": ["everyone"] })),
        with("allowed_mentions", Value::Null),
        with("nonce", json!("x".repeat(26))),
        with("nonce", Value::Null),
        with("enforce_nonce", json!(false)),
        with("embeds", json!(vec![json!({}); 11])),
        with("flags", json!(1)),
        with("bogus", json!(1)),
        with("attachments", json!([{ "id": 0, "filename": "x" }])),
        with("components", json!([{ "type": 1, "components": [button("a"), button("a")] }])),
        with("components", json!(vec![json!({ "type": 1, "components": [button("a")] }); 6])),
        with("message_reference", json!({ "message_id": "7" })),
    ];
    for body in &wrong {
        let (status, answer, _) = caller.post(&general, body.clone()).await;
        assert_eq!(status, 400, "{body}");
        assert!(answer["code"].as_u64().unwrap() > 0 && answer["message"].is_string());
    }
    assert_eq!(caller.api.violations().len(), wrong.len(), "{:#?}", caller.api.violations());
    caller.api.allow_violation("");
    assert!(caller.api.shown(general.id).is_empty());
}

#[tokio::test]
async fn limits_are_reported_and_a_client_that_ignores_them_is_noticed() {
    let (caller, general) =
        Caller::new(Options { bucket: (2, Duration::from_secs(60)), ..Options::default() }).await;
    caller.post(&general, good("1")).await;
    let (_, _, headers) = caller.post(&general, good("2")).await;
    assert_eq!(headers["x-ratelimit-remaining"], "0");
    let (status, body, headers) = caller.post(&general, good("3")).await;
    assert_eq!((status.as_u16(), body["global"].as_bool()), (429, Some(false)));
    assert!(body["retry_after"].as_f64().unwrap() > 50.0 && headers.contains_key("retry-after"));
    assert!(caller.api.violations()[0].contains("Remaining"));
    caller.api.allow_violation("Remaining");
    assert_eq!(caller.api.invalid_calls(), 1);
}

#[tokio::test]
async fn faults_do_what_they_say() {
    let (caller, general) = Caller::new(Options::default()).await;
    caller.api.fault(Fault::new(Effect::ApplyThenError(500)).on("POST /channels/{}/messages"));
    assert_eq!(caller.post(&general, good("1")).await.0, 500);
    assert_eq!(caller.api.shown(general.id).len(), 1, "it was done all the same");
    caller.api.fault(
        Fault::new(Effect::SharedLimit(Duration::from_secs(9))).on("POST /channels/{}/messages"),
    );
    let (_, _, headers) = caller.post(&general, good("2")).await;
    assert_eq!(headers["x-ratelimit-scope"], "shared");
    assert_eq!(caller.api.shown(general.id).len(), 1);
}
