//! Order, secret, retries, and the conflict with getUpdates.

use super::*;
use axum::{Router, extract::State, http::HeaderMap, http::StatusCode, routing::post};
use galatea_testkit::{
    clock::ManualClock,
    telegram::{BotApi, Options},
};
use std::sync::{Arc, Mutex};

#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<(String, i64)>>>, Arc<Mutex<usize>>);

async fn receiver(fail_first: usize) -> (String, Seen) {
    let seen = Seen::default();
    *seen.1.lock().unwrap() = fail_first;
    let app = Router::new()
        .route(
            "/hook",
            post(
                |State(seen): State<Seen>, headers: HeaderMap, body: axum::Json<Value>| async move {
                    let secret = headers
                        .get("X-Telegram-Bot-Api-Secret-Token")
                        .and_then(|v| v.to_str().ok())
                        .unwrap_or_default()
                        .to_owned();
                    seen.0.lock().unwrap().push((secret, body["update_id"].as_i64().unwrap()));
                    let mut failures = seen.1.lock().unwrap();
                    if *failures > 0 {
                        *failures -= 1;
                        return StatusCode::SERVICE_UNAVAILABLE;
                    }
                    StatusCode::OK
                },
            ),
        )
        .with_state(seen.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    (url, seen)
}

#[tokio::test]
async fn updates_are_posted_in_order_with_the_secret_until_2xx() {
    let clock = ManualClock::new();
    let api = BotApi::with(Options { clock: Arc::new(clock.clone()), ..Options::default() }).await;
    let ann = api.user("Ann", "");
    let (url, seen) = receiver(1).await;
    ok(&api, "setWebhook", json!({ "url": url, "secret_token": "s3cret_-" })).await;
    for i in 0..3 {
        ann.says(&ann.direct(), &format!("{i}")).send();
    }
    clock.wait_for_sleepers(1).await;
    let info = ok(&api, "getWebhookInfo", json!({})).await;
    assert_eq!(info["url"], url);
    assert_eq!(info["pending_update_count"], 3, "nothing is confirmed by a 503");
    assert!(info["last_error_message"].as_str().unwrap().contains("503"));
    clock.advance_to_next();
    api.wait_confirmed().await;
    let seen = seen.0.lock().unwrap().clone();
    let ids: Vec<i64> = seen.iter().map(|(_, id)| *id).collect();
    assert_eq!(ids, [ids[0], ids[0], ids[0] + 1, ids[0] + 2]);
    assert!(seen.iter().all(|(secret, _)| secret == "s3cret_-"));
}

#[tokio::test]
async fn polling_and_webhook_exclude_each_other() {
    let clock = ManualClock::new();
    let api = BotApi::with(Options { clock: Arc::new(clock.clone()), ..Options::default() }).await;
    let handle = api.handle();
    let poll =
        tokio::spawn(async move { fails(&handle, "getUpdates", json!({ "timeout": 50 })).await });
    clock.wait_for_sleepers(1).await;
    let (url, _) = receiver(0).await;
    ok(&api, "setWebhook", json!({ "url": url })).await;
    assert_eq!(poll.await.unwrap(), (409, "Conflict: terminated by setWebhook request".to_owned()));
    let (status, text) = fails(&api, "getUpdates", json!({})).await;
    assert_eq!(status, 409);
    assert_eq!(
        text,
        "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
    );
    ok(&api, "deleteWebhook", json!({})).await;
    assert!(updates(&api, json!({})).await.is_empty());
    violates(&api, "setWebhook", json!({ "url": "https://example.org/hook" })).await;
    violates(&api, "setWebhook", json!({ "url": url, "secret_token": "not allowed" })).await;
}
