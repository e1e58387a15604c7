//! Tests of malformed updates: each is skipped and recorded as a gap, and the updates after it
//! arrive.

use galatea_core::Health;
use galatea_testkit::telegram::BotApi;
use serde_json::json;

use super::support::{config, start};

/// A private message of a person that the server does not know, written as bytes.
fn message(update: i64, text: &str) -> String {
    let chat = r#"{"id":501,"type":"private","first_name":"Ann"}"#;
    let from = r#"{"id":501,"is_bot":false,"first_name":"Ann"}"#;
    format!(
        r#"{{"update_id":{update},"message":{{"message_id":{update},"date":1767225600,"chat":{chat},"from":{from},"text":{text}}}}}"#
    )
}

/// Name of the case, whether the update may contain a message, and its bytes for an update number.
type Poison = (&'static str, bool, fn(i64) -> String);

/// Malformed updates of every kind.
fn poisons() -> Vec<Poison> {
    vec![
        ("a number out of range", true, |id| message(id, "1e999")),
        ("a text that is nested a thousand deep", true, |id| {
            message(id, &format!("{}{}", "[".repeat(1_000), "]".repeat(1_000)))
        }),
        ("a word that is not JSON", true, |id| message(id, "nonsense")),
        ("an unknown kind", false, |id| {
            json!({"update_id": id, "evil\u{1b}[31m\nERROR": {"x": 1}}).to_string()
        }),
        ("a message without words or date", false, |id| {
            json!({"update_id": id, "message": {"message_id": 1}}).to_string()
        }),
    ]
}

#[tokio::test]
async fn polling_gets_past_every_kind_of_poison() {
    for (name, lost, poison) in poisons() {
        let api = BotApi::start().await;
        let ann = api.user("Ann", "ann_b");
        ann.says(&ann.direct(), "before").send();
        let id = api.sends_raw(poison);
        ann.says(&ann.direct(), "after").send();
        let running = start(config(&api));
        let messages = running.heard(2).await;
        assert_eq!(
            messages.iter().map(|m| m.content.text.as_str()).collect::<Vec<_>>(),
            ["before", "after"],
            "{name}"
        );
        api.wait_confirmed().await;
        let gateway = running.end().await;
        let gaps = gateway.gaps();
        assert_eq!(gaps.len(), usize::from(lost), "{name}: {gaps:?}");
        assert!(
            gaps.iter().all(|g| g.reason.contains(&id.to_string())
                && g.count == Some(1)
                && !g.reason.contains("nonsense")),
            "{name}: {gaps:?}"
        );
        assert!(!gateway.health().iter().any(|h| matches!(h, Health::Retrying { .. })), "{name}");
    }
}

#[tokio::test]
async fn half_surrogates_and_deep_nesting_cost_no_message() {
    let api = BotApi::start().await;
    api.sends_raw(|id| message(id, r#""a\ud83db \ud83d\ude00""#));
    api.sends_raw(|id| {
        message(id, &format!(r#""fine","new_field":{}{}"#, "[".repeat(200), "]".repeat(200)))
    });
    let running = start(config(&api));
    let messages = running.heard(2).await;
    assert_eq!(
        messages.iter().map(|m| m.content.text.as_str()).collect::<Vec<_>>(),
        ["a\u{FFFD}b 😀", "fine"]
    );
    api.wait_confirmed().await;
    assert!(running.end().await.gaps().is_empty());
}

#[tokio::test]
async fn numbers_beyond_31_bits_are_confirmed() {
    for first in [(1_i64 << 31) - 1, (1 << 32) - 1, 1 << 52] {
        let api = BotApi::start().await;
        api.jump_update_id(first);
        let running = start(config(&api));
        let ann = api.user("Ann", "ann_b");
        for text in ["one", "two", "three"] {
            ann.says(&ann.direct(), text).send();
        }
        let messages = running.heard(3).await;
        assert_eq!(
            messages.iter().map(|m| m.content.text.as_str()).collect::<Vec<_>>(),
            ["one", "two", "three"],
            "{first}"
        );
        api.wait_confirmed().await;
        running.end().await;
    }
}

#[tokio::test]
async fn an_update_of_too_many_bytes_is_passed_over() {
    let api = BotApi::start().await;
    let ann = api.user("Ann", "ann_b");
    ann.says(&ann.direct(), "before").send();
    let id = api.sends_raw(|id| message(id, &format!("\"{}\"", "x".repeat(17 << 20))));
    ann.says(&ann.direct(), "after").send();
    let running = start(config(&api));
    let messages = running.heard(2).await;
    assert_eq!(
        messages.iter().map(|m| m.content.text.as_str()).collect::<Vec<_>>(),
        ["before", "after"]
    );
    api.wait_confirmed().await;
    // From a hundred, by halves, down to one at a time and up again, without spinning.
    assert!(api.calls_of("getUpdates").len() < 40, "{} calls", api.calls_of("getUpdates").len());
    let gaps = running.end().await.gaps();
    assert!(gaps.len() == 1 && gaps[0].reason.contains(&id.to_string()), "{gaps:?}");
}

#[tokio::test]
async fn an_update_without_a_number_is_no_endless_loop() {
    let api = BotApi::start().await;
    let ann = api.user("Ann", "ann_b");
    let running = start(config(&api));
    ann.says(&ann.direct(), "before").send();
    running.heard(1).await;
    api.sends_raw(|_| r#"{"update_id":"none","message":7}"#.to_owned());
    api.wait_confirmed().await;
    ann.says(&ann.direct(), "after").send();
    assert_eq!(running.heard(2).await[1].content.text, "after");
    api.wait_confirmed().await;
    let calls = api.calls_of("getUpdates").len();
    assert!(calls < 20, "{calls} calls");
    running.end().await;
}
