//! Tests of original posts: requested when due, once, and never the same twice.

use galatea_core::{ChannelType, IncomingEvent};
use galatea_testkit::{clock::ManualClock, x::XApi};
use galatea_x::{Posting, XConfig};
use std::time::Duration;

use super::support::{at, config, gateway, say, send, start};
use galatea_testkit::connector_suite::running::patient;

fn posting(api: &XApi, immediately: bool) -> XConfig {
    let mut config = config(api);
    config.posting = Some(Posting {
        least: Duration::from_secs(5400),
        most: Duration::from_secs(9000),
        immediately,
        quiet: None,
    });
    config
}

#[tokio::test]
async fn a_post_is_asked_for_once_also_over_a_restart() {
    let api = XApi::start().await;
    let (folder, gateway) = (tempfile::tempdir().unwrap(), gateway());
    let running = start(posting(&api, true), folder.path(), &gateway);
    let (incoming, message) = running.messages(1).await.remove(0);
    assert_eq!(
        (incoming.connection.room.remote.0, incoming.connection.room.kind),
        (format!("{}-home", api.account()), ChannelType::Feed)
    );
    assert_eq!(incoming.connection.world.remote.0, api.account().to_string());
    assert_eq!(message.command.unwrap().name, "ask");
    let cursor = gateway.stored_cursor("posts").unwrap();
    assert!(
        gateway.batches().iter().any(|b| b.cursor.as_ref() == Some(&cursor)
            && matches!(b.events[..], [ref e] if matches!(e.event, IncomingEvent::Message(_)))),
        "in one commit"
    );
    running.kill().await;
    let running = start(posting(&api, true), folder.path(), &gateway);
    let looks = api.calls_of("GET /2/users/:id/mentions").len();
    api.wait_calls("GET /2/users/:id/mentions", looks + 2).await;
    assert_eq!(
        (gateway.messages().len(), gateway.stored_cursor("posts").unwrap()),
        (1, cursor),
        "not at every start"
    );
    running.end().await;
}

#[tokio::test]
async fn the_next_one_comes_when_it_is_due() {
    let api = XApi::start().await;
    let (folder, gateway) = (tempfile::tempdir().unwrap(), gateway());
    let clock = ManualClock::new();
    let mut config = posting(&api, true);
    // The clock of this test differs from X's, so the test makes no call to X.
    config.replies = false;
    let me = serde_json::json!({ "id": api.account(), "user_name": "galatea_test" });
    gateway.put_state("me", me);
    let running = at(config, folder.path(), &gateway, clock.shared());
    running.messages(1).await;
    for _ in 0..40 {
        clock.wait_for_sleepers(1).await;
        clock.advance(Duration::from_secs(300));
        if gateway.messages().len() > 1 {
            break;
        }
    }
    let asked = patient("the second", gateway.wait_messages(2)).await;
    let between = asked[1].0.at.since(asked[0].0.at).as_secs();
    assert!((5400..=9300).contains(&between), "{between}");
    running.end().await;
}

#[tokio::test]
async fn nothing_is_asked_for_that_could_not_be_posted() {
    let api = XApi::start().await;
    let (folder, gateway) = (tempfile::tempdir().unwrap(), gateway());
    let mut config = posting(&api, true);
    // Reading the account's name uses up the whole budget.
    config.daily_limit = galatea_x::Usd(10_000);
    let running = start(config, folder.path(), &gateway);
    let spent = |h: &galatea_core::Health| matches!(h, galatea_core::Health::Degraded { reason } if reason.contains("GAL-X-BUDGET"));
    running.until("the cap", |g| g.health().iter().any(spent).then_some(())).await;
    assert!(gateway.messages().is_empty(), "nothing could be posted");
    running.end().await;
}

#[tokio::test]
async fn original_posts_stand_alone_and_do_not_repeat_themselves() {
    let api = XApi::start().await;
    let folder = tempfile::tempdir().unwrap();
    let running = start(config(&api), folder.path(), &gateway());
    let handler = running.handler().await;
    let home = format!("{}-home", api.account());
    let prompt = galatea_core::Outgoing::Message {
        content: galatea_core::Content::text(
            "Eleven left-hand gloves since Sunday. No right ones.",
        ),
        reply_to: Some(galatea_core::RemoteId(format!("post-{}-17", api.account()))),
    };
    send(&*handler, &api, &home, &prompt).await.remove(0).unwrap();
    let error =
        send(&*handler, &api, &home, &say("Twelve left-hand gloves since Sunday. No right ones."))
            .await
            .remove(0)
            .unwrap_err();
    assert_eq!(error.code(), Some("GAL-X-SIMILAR"));
    for receipt in send(&*handler, &api, &home, &say(&"fog until ten ".repeat(30))).await {
        receipt.unwrap();
    }
    let shown = api.shown();
    assert_eq!(
        (shown[0].reply_to, shown[1].reply_to, shown[2].reply_to),
        (None, None, Some(shown[1].id)),
        "a thread of its own"
    );
    running.end().await;
}
