//! Tests of closed topics: the first refusal is remembered, shown, and forgotten when it ends.

use galatea_core::{
    Clock, Content, ErrorKind, Health, Outgoing, RemoteId, SendHandler, SystemClock,
};
use galatea_testkit::{clock::ManualClock, telegram::BotApi};
use std::{sync::Arc, time::Duration};

use super::support::{address, build, config, gateway, send, with};

fn say(text: &str) -> Outgoing {
    Outgoing::Message { content: Content::text(text), reply_to: None }
}

#[tokio::test]
async fn a_closed_topic_is_known_after_the_first_refusal() {
    let (api, folder) = (BotApi::start().await, tempfile::tempdir().unwrap());
    let clock = ManualClock::at(SystemClock.now());
    let handler: Arc<dyn SendHandler> =
        build(config(&api), folder.path(), clock.shared()).send_handler();
    let ann = api.user("Ann", "ann_b");
    let forum = api.forum("House", &[&ann]);
    let (closed, open) = (ann.opens_topic(&forum, "Old"), ann.opens_topic(&forum, "New"));
    let room = |topic: i64| format!("{}-{topic}", forum.id);
    let asked = RemoteId::new("1");
    let barred = |room: &str| handler.barred(&address(room), &asked);
    send(&*handler, &room(closed), &say("one")).await.remove(0).unwrap();
    assert!(barred(&room(closed)).is_none());
    ann.closes_topic(&forum, closed, true);
    assert!(barred(&room(closed)).is_none(), "the bot may have the right to write there");
    let error = send(&*handler, &room(closed), &say("two")).await.remove(0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Forbidden);
    assert!(error.message().contains("topic is closed") && error.fix().is_some(), "{error}");
    let known = barred(&room(closed)).unwrap();
    assert_eq!((known.message(), known.fix()), (error.message(), error.fix()));
    assert!(barred(&room(open)).is_none() && barred(&forum.id.to_string()).is_none());
    send(&*handler, &room(open), &say("three")).await.remove(0).unwrap();
    assert!(barred(&room(closed)).is_some());
    clock.advance(Duration::from_secs(600));
    assert!(barred(&room(closed)).is_none(), "it is tried again");
    ann.closes_topic(&forum, closed, false);
    send(&*handler, &room(closed), &say("four")).await.remove(0).unwrap();
}

#[tokio::test]
async fn status_names_a_closed_topic_until_it_is_opened() {
    let api = BotApi::start().await;
    let gateway = gateway();
    let running = with(config(&api), gateway.clone(), Arc::new(SystemClock));
    let ann = api.user("Ann", "ann_b");
    let forum = api.forum("House", &[&ann]);
    let topic = ann.opens_topic(&forum, "Old");
    ann.closes_topic(&forum, topic, true);
    let room = format!("{}-{topic}", forum.id);
    let health = async |wanted: fn(&Health) -> bool| {
        let waiting = async {
            while !gateway.health().last().is_some_and(wanted) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), waiting).await.unwrap();
    };
    health(|health| matches!(health, Health::Up { .. })).await;
    let handler = gateway.handler().unwrap();
    send(&*handler, &room, &say("one")).await.remove(0).unwrap_err();
    health(|health| matches!(health, Health::Degraded { reason } if reason.contains("topic is closed"))).await;
    ann.closes_topic(&forum, topic, false);
    health(|health| matches!(health, Health::Up { .. })).await;
    running.kill().await;
}
