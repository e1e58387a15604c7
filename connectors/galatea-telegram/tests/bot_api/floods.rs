//! Tests of flood waits: which calls they delay, and for how long. Telegram and the bot share a
//! manual clock.

use galatea_core::{Content, ErrorKind, Outgoing, Retry, SendHandler, Sent, SystemClock};
use galatea_testkit::{
    clock::ManualClock,
    telegram::{BotApi, Effect, Fault, Options, Pace},
};
use std::{sync::Arc, time::Duration};

use super::support::{address, build, config, send};

struct Scene {
    api: BotApi,
    handler: Arc<dyn SendHandler>,
    clock: ManualClock,
    _folder: tempfile::TempDir,
}

async fn scene() -> Scene {
    let (clock, folder) = (ManualClock::new(), tempfile::tempdir().unwrap());
    let api = BotApi::with(Options { clock: clock.shared(), ..Options::default() }).await;
    let handler = build(config(&api), folder.path(), clock.shared()).send_handler();
    Scene { api, handler, clock, _folder: folder }
}

fn say(text: &str) -> Outgoing {
    Outgoing::Message { content: Content::text(text), reply_to: None }
}

#[tokio::test]
async fn a_flood_wait_is_kept_for_its_chat_only() {
    let s = scene().await;
    let (ann, bob) = (s.api.user("Ann", "ann_b"), s.api.user("Bob", ""));
    ann.says(&ann.direct(), "hi").send();
    bob.says(&bob.direct(), "hi").send();
    s.api.fault(Fault::new(Effect::RateLimited(7)).on("sendMessage").at(ann.id));
    let room = ann.id.to_string();
    let error = send(&*s.handler, &room, &say("one")).await.remove(0).unwrap_err();
    assert_eq!(
        (error.code(), error.retry(), error.sent()),
        (Some("GAL-TG-429"), Retry::After(Duration::from_secs(7)), Sent::No)
    );
    s.clock.advance(Duration::from_secs(3));
    let error = send(&*s.handler, &room, &say("one")).await.remove(0).unwrap_err();
    assert_eq!(
        (error.kind(), error.retry()),
        (ErrorKind::RateLimited, Retry::After(Duration::from_secs(4)))
    );
    s.handler.typing(&address(&room)).await.unwrap();
    assert_eq!(s.api.calls_of("sendMessage").len(), 1, "nothing else was sent to the chat");
    assert!(s.api.calls_of("sendChatAction").is_empty());
    send(&*s.handler, &bob.id.to_string(), &say("two")).await.remove(0).unwrap();
}

#[tokio::test]
async fn typing_or_a_change_that_has_to_wait_holds_no_answer_up() {
    let s = scene().await;
    let ann = s.api.user("Ann", "ann_b");
    ann.says(&ann.direct(), "hi").send();
    let room = ann.id.to_string();
    let sent = send(&*s.handler, &room, &say("one")).await.remove(0).unwrap().id.unwrap();
    s.api.fault(Fault::new(Effect::RateLimited(60)).on("sendChatAction"));
    s.api.fault(Fault::new(Effect::RateLimited(9)).on("editMessageText"));
    s.handler.typing(&address(&room)).await.unwrap_err();
    let edit = Outgoing::Edit { id: sent, content: Content::text("two") };
    for wait in [9, 5] {
        let error = send(&*s.handler, &room, &edit).await.remove(0).unwrap_err();
        assert_eq!(
            (error.kind(), error.retry()),
            (ErrorKind::RateLimited, Retry::After(Duration::from_secs(wait)))
        );
        s.clock.advance(Duration::from_secs(4));
    }
    send(&*s.handler, &room, &say("three")).await.remove(0).unwrap();
    s.handler.typing(&address(&room)).await.unwrap();
    assert_eq!(
        (s.api.calls_of("sendChatAction").len(), s.api.calls_of("editMessageText").len()),
        (1, 1),
        "each was refused once and then held back"
    );
    s.clock.advance(Duration::from_secs(60));
    s.handler.typing(&address(&room)).await.unwrap();
    send(&*s.handler, &room, &edit).await.remove(0).unwrap();
    assert_eq!(s.api.actions().len(), 1);
}

#[tokio::test]
async fn published_limits_are_answered_with_their_wait() {
    let options = Options { pace: Pace::published(), ..Default::default() };
    let (api, folder) = (BotApi::with(options).await, tempfile::tempdir().unwrap());
    let handler = build(config(&api), folder.path(), Arc::new(SystemClock)).send_handler();
    let ann = api.user("Ann", "ann_b");
    ann.says(&ann.direct(), "hi").send();
    let mut outcomes = Vec::new();
    for n in 0..3 {
        outcomes.push(send(&*handler, &ann.id.to_string(), &say(&format!("{n}"))).await.remove(0));
    }
    assert!(outcomes[0].is_ok());
    assert!(
        outcomes
            .iter()
            .skip(1)
            .all(|o| o.as_ref().is_err_and(|e| e.kind() == ErrorKind::RateLimited)),
        "{outcomes:?}"
    );
}
