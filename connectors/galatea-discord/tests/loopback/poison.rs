//! Tests of malformed events: each is lost alone, is recorded as a gap by its number, and does not
//! come back forever.

use crate::support::{Running, config, gateway, start, with};
use galatea_core::SystemClock;
use galatea_testkit::discord::{Channel, DiscordApi, Effect, Fault, User};
use std::sync::Arc;

async fn stage() -> (DiscordApi, User, Channel, Running) {
    let api = DiscordApi::start().await;
    let ann = api.user("Ann", "ann_b");
    let direct = ann.direct();
    let running = start(config(&api));
    api.wait_connected(1).await;
    (api, ann, direct, running)
}

async fn texts(running: &Running, count: usize) -> Vec<String> {
    running.heard(count).await.into_iter().map(|m| m.content.text).collect()
}

/// An id close to `first` that the server never assigns. The server counts up from `first` if the
/// clock steps back.
fn raw_id(first: u64, n: u64) -> u64 {
    first + (1 << 20) + n
}

/// A message event of Ann's with additional fields.
fn event(ann: &User, channel: &Channel, id: u64, more: &str) -> String {
    format!(
        r#"{{"op":0,"s":{{s}},"t":"MESSAGE_CREATE","d":{{"id":"{id}","channel_id":"{}","author":{{"id":"{}","username":"ann_b"}},"timestamp":"2026-01-01T00:00:00Z",{more}}}}}"#,
        channel.id, ann.id
    )
}

#[tokio::test]
async fn half_a_surrogate_and_deep_nesting_cost_no_message() {
    let (api, ann, direct, running) = stage().await;
    let first = ann.says(&direct, "first").send();
    texts(&running, 1).await;
    let deep = format!(r#""content":"deep","embeds":{}{}"#, "[".repeat(4_000), "]".repeat(4_000));
    api.sends_raw(&event(&ann, &direct, raw_id(first, 1), r#""content":"half \ud83d here""#));
    api.sends_raw(&event(&ann, &direct, raw_id(first, 2), &deep));
    ann.says(&direct, "last").send();
    assert_eq!(texts(&running, 4).await, ["first", "half \u{FFFD} here", "deep", "last"]);
    assert_eq!((api.identified(), api.resumed()), (1, 0), "it needs no reconnect");
    api.wait_acknowledged().await;
}

#[tokio::test]
async fn an_unknown_payload_is_skipped_and_noted_without_its_words() {
    let (api, ann, direct, running) = stage().await;
    let first = ann.says(&direct, "first").send();
    texts(&running, 1).await;
    for odd in [
        r#"{"op":0,"s":{s},"t":"A_NEW_EVENT","d":{"x":[1,2]}}"#,
        r#"{"op":77,"d":null}"#,
        r#"{"op":4294967296,"d":{},"s":-1,"t":7}"#,
        r#"{"op":0,"s":{s},"t":"MESSAGE_CREATE","d":17}"#,
        r#"{"op":0,"s":{s},"t":"MESSAGE_CREATE","d":[{"id":"1"}]}"#,
        r#"{"op":0,"s":{s},"t":"GUILD_CREATE","d":{"id":{},"channels":7,"roles":{"a":1}}}"#,
        r#"{"op":0,"s":{s},"t":"INTERACTION_CREATE","d":{"id":"x","token":5,"type":"2"}}"#,
        "this is not JSON, secret-words",
    ] {
        api.sends_raw(odd);
    }
    api.sends_raw(&event(&ann, &direct, raw_id(first, 1), r#""content":{"secret-words":true}"#));
    ann.says(&direct, "last").send();
    assert_eq!(texts(&running, 2).await, ["first", "last"]);
    let gaps = running
        .until("the gaps", |g| {
            Some(g.gaps()).filter(|gaps| {
                gaps.iter().any(|gap| gap.reason.contains(&(raw_id(first, 1)).to_string()))
            })
        })
        .await;
    let reported = format!("{gaps:?}");
    assert!(reported.contains("event ") && !reported.contains("secret-words"), "{reported}");
    assert_eq!((api.identified(), api.resumed()), (1, 0));
    api.wait_acknowledged().await;
}

/// The event comes again after every resume.
#[tokio::test]
async fn an_event_over_the_limit_is_asked_for_once_more_and_then_passed_over() {
    let (api, ann, direct, running) = stage().await;
    ann.says(&direct, "first").send();
    texts(&running, 1).await;
    api.wait_acknowledged().await;
    api.sends_raw(&format!(
        r#"{{"op":0,"s":{{s}},"t":"MESSAGE_CREATE","d":{{"content":"{}"}}}}"#,
        "x".repeat(65 << 20)
    ));
    ann.says(&direct, "last").send();
    assert_eq!(texts(&running, 2).await, ["first", "last"]);
    let gaps = running.gateway.gaps();
    assert!(gaps.len() == 1 && gaps[0].reason.contains("too large"), "{gaps:?}");
    assert_eq!((api.identified(), api.resumed()), (1, 2));
    // The next process does not receive it again.
    api.wait_acknowledged().await;
    let gateway = running.end().await;
    let running = with(config(&api), gateway, Arc::new(SystemClock));
    ann.says(&direct, "after all").send();
    assert_eq!(texts(&running, 3).await[2], "after all");
    assert_eq!((api.identified(), running.gateway.gaps().len()), (1, 1));
}

#[tokio::test]
async fn a_history_with_a_message_that_cannot_be_read_is_heard_all_the_same() {
    let (api, ann, direct, running) = stage().await;
    let first = ann.says(&direct, "first").send();
    texts(&running, 1).await;
    let gateway = running.end().await;
    api.forget_sessions();
    let said = |id: u64, content: &str| {
        let author = ann.id;
        format!(
            r#"{{"id":"{id}","channel_id":"{}","author":{{"id":"{author}","username":"ann_b"}},"timestamp":"2026-01-01T00:00:00Z","content":{content}}}"#,
            direct.id
        )
    };
    let page = format!(
        "[{},{},17]",
        said(raw_id(first, 2), r#""half \udc00""#),
        said(raw_id(first, 1), r#"["secret-words"]"#)
    );
    api.fault(Fault::new(Effect::Body(page)).on("GET /channels/{}/messages").at(direct.id));
    let running = with(config(&api), gateway, Arc::new(SystemClock));
    assert_eq!(texts(&running, 2).await[1], "half \u{FFFD}");
    let gaps = running.until("the gap", |g| Some(g.gaps()).filter(|gaps| !gaps.is_empty())).await;
    assert!(
        format!("{gaps:?}").contains("cannot be read")
            && !format!("{gaps:?}").contains("secret-words"),
        "{gaps:?}"
    );
}

/// A new bot without any message yet must catch up from the time of its first session.
#[tokio::test]
async fn what_a_new_bot_misses_in_its_first_lost_session_is_read() {
    let api = DiscordApi::start().await;
    let ann = api.user("Ann", "ann_b");
    let general = api.guild("Garden", &[&ann]).general();
    ann.says(&general, "long before it came").send();
    // Older than the overlap.
    api.age_messages(std::time::Duration::from_secs(600));
    let gateway = gateway();
    let running = with(config(&api), gateway, Arc::new(SystemClock));
    api.wait_connected(1).await;
    running.until("its place to be stored", |g| g.stored_cursor("gateway/0")).await;
    let gateway = running.end().await;
    api.forget_sessions();
    ann.says(&general, "while it was away").send();
    let running = with(config(&api), gateway, Arc::new(SystemClock));
    assert_eq!(texts(&running, 1).await, ["while it was away"]);
    running.end().await;
}
