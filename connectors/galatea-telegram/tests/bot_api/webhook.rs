//! Tests of webhook mode: an update is stored before the answer 200, a failing store gives 503, and
//! calls without the secret are refused.

use galatea_core::{Health, SystemClock};
use galatea_http::{HttpClient, HttpOptions};
use galatea_telegram::{Mode, TelegramConfig};
use galatea_testkit::{
    port::free_port,
    telegram::{BotApi, Options},
};
use std::{sync::Arc, time::Instant};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::support::{Running, build, config, gateway, start, with};

fn webhook(api: &BotApi) -> TelegramConfig {
    let port = free_port();
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
    running
        .until("up", |s| {
            s.health()
                .iter()
                .any(|h| matches!(h, Health::Up { detail } if detail.contains("webhook")))
                .then_some(())
        })
        .await;
    let ann = api.user("Ann", "ann_b");
    ann.says(&ann.direct(), "one").send();
    ann.says(&ann.direct(), "two").send();
    running.until("a refusal", |g| (!g.refused().is_empty()).then_some(())).await;
    assert_eq!(api.pending_updates(), 2);
    running.gateway.fail_receives(0);
    let messages = running.heard(2).await;
    assert_eq!(
        messages.iter().map(|m| m.content.text.as_str()).collect::<Vec<_>>(),
        ["one", "two"]
    );
    api.wait_confirmed().await;
    running
        .until("up again", |s| matches!(s.health().last(), Some(Health::Up { .. })).then_some(()))
        .await;
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
    for wrong in [
        None,
        Some(String::new()),
        Some("x".to_owned()),
        Some(secret[1..].to_owned()),
        Some(format!("{secret}x")),
        Some(secret.to_uppercase()),
    ] {
        assert_eq!(post(url.to_string(), wrong.clone(), forged.clone()).await, 401, "{wrong:?}");
    }
    assert_eq!(
        post(url.join("/other").unwrap().to_string(), Some(secret.clone()), forged.clone()).await,
        404
    );
    assert_eq!(
        post(url.to_string(), Some(secret.clone()), serde_json::json!("no update")).await,
        200,
        "a refused update would come again"
    );
    assert_eq!(
        post(
            url.to_string(),
            Some(secret.clone()),
            serde_json::json!({"update_id": 3, "message": "x".repeat(2 << 20)})
        )
        .await,
        200,
        "so would an update that is too large"
    );
    assert!(running.gateway.events().is_empty());
    let gaps = running.gateway.gaps();
    assert!(gaps.len() == 1 && gaps[0].reason.contains("number 3 "), "{gaps:?}");
    assert_eq!(post(url.to_string(), Some(secret), forged).await, 200);
    assert_eq!(running.heard(1).await[0].content.text, "forged");
    running.end().await;
}

/// Starts the webhook; returns its address and secret.
async fn hook(api: &BotApi) -> (super::support::Running, String, String) {
    api.allow_violation("https");
    api.allow_violation("port");
    let settings = webhook(api);
    let listen = settings.webhook_listen.to_string();
    let running = start(settings);
    running.until("up", |s| (!s.health().is_empty()).then_some(())).await;
    let secret = api.calls_of("setWebhook")[0].params["secret_token"].as_str().unwrap().to_owned();
    (running, listen, secret)
}

/// The head of a call, without its body.
fn head(secret: &str, length: usize) -> String {
    format!(
        "POST /tele%7Bgram%7D HTTP/1.1\r\nHost: h\r\nX-Telegram-Bot-Api-Secret-Token: {secret}\r\nContent-Length: {length}\r\n\r\n"
    )
}

#[tokio::test]
async fn poison_is_noted_and_not_sent_again_for_ever() {
    let api = BotApi::start().await;
    let (running, ..) = hook(&api).await;
    let ann = api.user("Ann", "ann_b");
    ann.says(&ann.direct(), "before").send();
    let poisons: [fn(i64) -> String; 3] = [
        |id| format!(r#"{{"update_id":{id},"message":{{"text":nonsense}}}}"#),
        |id| format!(r#"{{"update_id":{id},"message":{{"text":"{}"}}}}"#, "x".repeat(2 << 20)),
        |_| "no JSON at all".to_owned(),
    ];
    let ids = poisons.map(|poison| api.sends_raw(poison));
    ann.says(&ann.direct(), "after").send();
    let messages = running.heard(2).await;
    assert_eq!(
        messages.iter().map(|m| m.content.text.as_str()).collect::<Vec<_>>(),
        ["before", "after"]
    );
    api.wait_confirmed().await;
    let gaps = running.end().await.gaps();
    assert_eq!(gaps.len(), 2, "{gaps:?}");
    assert!(gaps.iter().zip(ids).all(|(gap, id)| gap.reason.contains(&id.to_string())), "{gaps:?}");
}

#[tokio::test]
async fn nothing_of_a_body_is_read_before_the_secret_is_right() {
    let api = BotApi::start().await;
    let (running, listen, secret) = hook(&api).await;
    for (path, secret, status) in
        [("/tele%7Bgram%7D", "wrong", "401"), ("/other", secret.as_str(), "404")]
    {
        let mut stream = TcpStream::connect(&listen).await.unwrap();
        stream
            .write_all(head(secret, 1_000).replace("/tele%7Bgram%7D", path).as_bytes())
            .await
            .unwrap();
        let mut answer = String::new();
        // The body is never sent, and the server closes the connection.
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
    }
    running.end().await;
}

#[tokio::test]
async fn a_true_call_is_answered_among_1500_half_sent_ones() {
    let api = BotApi::start().await;
    let (running, listen, _) = hook(&api).await;
    let mut halves = Vec::new();
    for n in 0..1_500 {
        let mut stream = TcpStream::connect(&listen).await.unwrap();
        // Half a head, or a whole one with a wrong secret and half a body.
        let bytes =
            if n % 2 == 0 { head("x", 9)[..60].to_owned() } else { head("wrong", 9) + "half" };
        stream.write_all(bytes.as_bytes()).await.unwrap();
        halves.push(stream);
    }
    let begun = Instant::now();
    let ann = api.user("Ann", "ann_b");
    ann.says(&ann.direct(), "hello").send();
    assert_eq!(running.heard(1).await[0].content.text, "hello");
    api.wait_confirmed().await;
    // Not asserted, because a busy machine may be slow. Another test, with deadlines of an hour,
    // asserts that idle connections are closed at once.
    println!("a true call was stored and answered after {:?}", begun.elapsed());
    for stream in halves.iter_mut().take(1_000) {
        let mut all = Vec::new();
        let _ = stream.read_to_end(&mut all).await;
        assert!(
            all.is_empty() || all.starts_with(b"HTTP/1.1 401 "),
            "closed, or refused without its body"
        );
    }
    running.end().await;
}

#[tokio::test]
async fn two_bots_in_one_data_folder_keep_their_own_webhooks() {
    let data = tempfile::tempdir().unwrap();
    let run = |config: TelegramConfig| {
        let clock = Arc::new(SystemClock);
        Running::start(build(config, data.path(), clock.clone()), gateway(), clock)
    };
    let mut bots = Vec::new();
    for token in [
        "7000000001:AAtestkit-first-token-0123456789abcde",
        "7000000002:AAtestkit-second-token-0123456789abcd",
    ] {
        let api = BotApi::with(Options { token: token.into(), ..Options::default() }).await;
        api.allow_violation("https");
        api.allow_violation("port");
        let settings = webhook(&api);
        bots.push((run(settings.clone()), api, settings));
    }
    let up =
        |health: &[Health]| health.iter().any(|h| matches!(h, Health::Up { .. })).then_some(());
    let secret = |api: &BotApi, nth: usize| {
        api.calls_of("setWebhook")[nth].params["secret_token"].as_str().unwrap().to_owned()
    };
    for (running, ..) in &bots {
        running.until("up", |s| up(&s.health())).await;
    }
    assert_ne!(secret(&bots[0].1, 0), secret(&bots[1].1, 0));
    for (running, api, settings) in bots {
        running.end().await;
        let again = run(settings);
        again.until("up", |s| up(&s.health())).await;
        assert_eq!(secret(&api, 0), secret(&api, 1));
        again.end().await;
        // Its address is known, so that polling may replace it.
        let polling = run(config(&api));
        polling.until("up", |s| up(&s.health())).await;
        assert_eq!(api.calls_of("deleteWebhook").len(), 1);
        polling.end().await;
    }
}
