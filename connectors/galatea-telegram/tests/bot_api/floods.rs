//! Tests of flood waits: what the runtime learns from each refusal. The runtime's rate gate then
//! holds further calls back.

use galatea_core::{Content, ErrorKind, Outgoing, Reach, Retry, SendHandler, Sent, SystemClock};
use galatea_testkit::telegram::{BotApi, Effect, Fault, Options, Pace};
use std::{sync::Arc, time::Duration};

use super::support::{address, build, config, send};

fn say(text: &str) -> Outgoing {
    Outgoing::Message { content: Content::text(text), reply_to: None }
}

#[tokio::test]
async fn a_flood_wait_is_for_the_whole_chat_and_lasts_as_long_as_telegram_said() {
    let (api, folder) = (BotApi::start().await, tempfile::tempdir().unwrap());
    let handler: Arc<dyn SendHandler> =
        build(config(&api), folder.path(), Arc::new(SystemClock)).send_handler();
    let ann = api.user("Ann", "ann_b");
    ann.says(&ann.direct(), "hi").send();
    let room = ann.id.to_string();
    let sent = send(&*handler, &room, &say("one")).await.remove(0).unwrap().id.unwrap();
    for (method, wait) in [("sendChatAction", 60), ("editMessageText", 9), ("sendMessage", 7)] {
        api.fault(Fault::new(Effect::RateLimited(wait)).on(method));
    }
    let edit = Outgoing::Edit { id: sent, content: Content::text("two") };
    for (refused, wait) in [
        (handler.typing(&address(&room)).await.err(), 60),
        (send(&*handler, &room, &edit).await.remove(0).err(), 9),
        (send(&*handler, &room, &say("three")).await.remove(0).err(), 7),
    ] {
        let error = refused.unwrap();
        assert_eq!(
            (error.kind(), error.code(), error.retry(), error.sent(), error.reach()),
            (
                ErrorKind::RateLimited,
                Some("GAL-TG-429"),
                Retry::After(Duration::from_secs(wait)),
                Sent::No,
                Reach::World
            )
        );
    }
}

#[tokio::test]
async fn published_limits_are_answered_with_their_wait() {
    let options = Options { pace: Pace::published(), ..Default::default() };
    let (api, folder) = (BotApi::with(options).await, tempfile::tempdir().unwrap());
    let handler = build(config(&api), folder.path(), Arc::new(SystemClock)).send_handler();
    let ann = api.user("Ann", "ann_b");
    ann.says(&ann.direct(), "hi").send();
    let room = ann.id.to_string();
    send(&*handler, &room, &say("one")).await.remove(0).unwrap();
    let error = send(&*handler, &room, &say("two")).await.remove(0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RateLimited);
}
