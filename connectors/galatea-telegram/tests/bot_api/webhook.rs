//! Webhook mode: stored before 200, 503 when the store fails, nothing without the secret.

use galatea_core::Health;
use galatea_http::{HttpClient, HttpOptions};
use galatea_telegram::{Mode, TelegramConfig};
use galatea_testkit::telegram::BotApi;

use super::support::{config, gateway, start, with};

/// A free port, released again. The server retries its calls, so a short gap does no harm.
fn webhook(api: &BotApi) -> TelegramConfig {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut settings = config(api);
    settings.mode = Mode::Webhook;
    settings.webhook_url = Some(format!("http://127.0.0.1:{port}/tele{{gram}}").parse().unwrap());
    settings.webhook_listen = ([127, 0, 0, 1], port).into();
    settings
}

#[tokio::test]
async fn updates_are_stored_and_kept_by_telegram_until_they_are() {
    let api = BotApi::start().await;
    api.allow_violation("https");
    api.allow_violation("port");
    let gateway = gateway();
    gateway.fail_receives(usize::MAX);
    let running = with(webhook(&api), gateway, std::sync::Arc::new(galatea_core::SystemClock));
    running.until("up", |s| s.health().iter().any(|h| matches!(h, Health::Up { detail } if detail.contains("webhook"))).then_some(())).await;
    let ann = api.user("Ann", "ann_b");
    ann.says(&ann.direct(), "one").send();
    ann.says(&ann.direct(), "two").send();
    running.until("a refusal", |g| (!g.refused().is_empty()).then_some(())).await;
    assert_eq!(api.pending_updates(), 2);
    running.gateway.fail_receives(0);
    let messages = running.heard(2).await;
    assert_eq!(messages.iter().map(|m| m.content.text.as_str()).collect::<Vec<_>>(), ["one", "two"]);
    api.wait_confirmed().await;
    running.until("up again", |s| matches!(s.health().last(), Some(Health::Up { .. })).then_some(())).await;
    let call = &api.calls_of("setWebhook")[0];
    assert!(call.params["secret_token"].as_str().unwrap().len() >= 43);
    assert_eq!(call.params["allowed_updates"].as_array().unwrap().len(), 8);
    running.end().await;
}

#[tokio::test]
async fn nothing_is_taken_without_the_secret() {
    let api = BotApi::start().await;
    api.allow_violation("https");
    api.allow_violation("port");
    let settings = webhook(&api);
    let url = settings.webhook_url.clone().unwrap();
    let running = start(settings);
    running.until("up", |s| (!s.health().is_empty()).then_some(())).await;
    let secret = api.calls_of("setWebhook")[0].params["secret_token"].as_str().unwrap().to_owned();
    let http = HttpClient::new(HttpOptions::default()).unwrap();
    let forged = serde_json::json!({"update_id": 1, "message": {"message_id": 1, "date": 1, "chat": {"id": 5, "type": "private"}, "text": "forged"}});
    let post = |url: String, secret: Option<String>, body: serde_json::Value| {
        let request = http.post(&url).json(&body);
        let request = match secret {
            Some(secret) => request.header("x-telegram-bot-api-secret-token", &secret),
            None => request,
        };
        async move { request.send().await.unwrap().status() }
    };
    for wrong in [None, Some(String::new()), Some("x".to_owned()), Some(secret[1..].to_owned()), Some(format!("{secret}x")), Some(secret.to_uppercase())] {
        assert_eq!(post(url.to_string(), wrong.clone(), forged.clone()).await, 401, "{wrong:?}");
    }
    assert_eq!(post(url.join("/other").unwrap().to_string(), Some(secret.clone()), forged.clone()).await, 404);
    assert_eq!(post(url.to_string(), Some(secret.clone()), serde_json::json!("no update")).await, 200, "refusing it would only bring it again");
    assert_eq!(post(url.to_string(), Some(secret.clone()), serde_json::json!({"update_id": 3, "message": "x".repeat(2 << 20)})).await, 413);
    assert!(running.gateway.events().is_empty());
    assert_eq!(post(url.to_string(), Some(secret), forged).await, 200);
    assert_eq!(running.heard(1).await[0].content.text, "forged");
    running.end().await;
}
