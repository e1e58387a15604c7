//! Tests of polling: no update is confirmed before it is stored, and none is lost after a fault.

use galatea_core::{ChannelType, Health, IncomingEvent, OwnStatus, RemoteId, world::Role};
use galatea_testkit::{
    clock::ManualClock,
    telegram::{BotApi, Effect, ErrorBody, Fault},
};
use std::time::Duration;

use super::support::{config, gateway, send, start, with};
use galatea_core::{Button, Outgoing, Press};

#[tokio::test]
async fn messages_arrive_and_are_confirmed_after_they_are_stored() {
    let api = BotApi::start().await;
    let running = start(config(&api));
    let ann = api.user("Ann", "ann_b");
    let id = ann.says(&ann.direct(), "hello").send();
    let messages = running.heard(1).await;
    assert_eq!(
        (messages[0].id.as_str().to_owned(), messages[0].content.text.as_str()),
        (format!("{}:{id}", ann.id), "hello")
    );
    api.wait_confirmed().await;
    let gateway = running.end().await;
    let cursor = gateway.stored_cursor("updates").unwrap();
    // The next start continues where the last one ended.
    ann.says(&ann.direct(), "again").send();
    let running = with(config(&api), gateway, std::sync::Arc::new(galatea_core::SystemClock));
    let messages = running.heard(2).await;
    assert_eq!(
        messages.iter().map(|m| m.content.text.as_str()).collect::<Vec<_>>(),
        ["hello", "again"]
    );
    let first = &api
        .calls_of("getUpdates")
        .into_iter()
        .rfind(|c| c.answer.as_ref().is_some_and(|a| a["result"][0]["message"]["text"] == "again"))
        .unwrap();
    assert_eq!(first.params["offset"].to_string(), cursor.position);
    running.end().await;
}

#[tokio::test]
async fn a_store_that_fails_confirms_nothing() {
    let api = BotApi::start().await;
    let (clock, gateway) = (ManualClock::new(), gateway());
    gateway.fail_receives(usize::MAX);
    let running = with(config(&api), gateway, clock.shared());
    let ann = api.user("Ann", "ann_b");
    ann.says(&ann.direct(), "precious").send();
    running.until("a refusal", |g| (!g.refused().is_empty()).then_some(())).await;
    assert_eq!(api.pending_updates(), 1);
    running
        .until("health", |s| {
            s.health().iter().any(|h| matches!(h, Health::Retrying { .. })).then_some(())
        })
        .await;
    running.gateway.fail_receives(0);
    clock.wait_for_sleepers(1).await;
    clock.advance(Duration::from_secs(30));
    assert_eq!(running.heard(1).await[0].content.text, "precious");
    api.wait_confirmed().await;
    assert!(matches!(
        running
            .until("health", |s| s
                .health()
                .last()
                .cloned()
                .filter(|h| matches!(h, Health::Up { .. })))
            .await,
        Health::Up { .. }
    ));
    running.end().await;
}

#[tokio::test]
async fn trouble_on_the_line_is_waited_out() {
    for effect in [
        Effect::ServerError(502, ErrorBody::Html),
        Effect::ServerError(500, ErrorBody::Json),
        Effect::Garbage,
        Effect::LoseResponse,
        Effect::CutAfter(60),
        Effect::RateLimited(5),
    ] {
        let api = BotApi::start().await;
        let clock = ManualClock::new();
        api.fault(Fault::new(effect.clone()).on("getUpdates"));
        let ann = api.user("Ann", "ann_b");
        ann.says(&ann.direct(), "hello").send();
        let running = with(config(&api), gateway(), clock.shared());
        clock.wait_for_sleepers(1).await;
        if matches!(effect, Effect::RateLimited(_)) {
            api.allow_violation("getUpdates");
        }
        clock.advance(Duration::from_secs(60));
        if matches!(effect, Effect::RateLimited(_)) {
            // The server uses the machine's clock, so its wait may not be over when ours is.
            running.end().await;
            continue;
        }
        assert_eq!(running.heard(1).await[0].content.text, "hello", "{effect:?}");
        running.end().await;
    }
}

#[tokio::test]
async fn another_poller_is_reported_and_gets_way() {
    let api = BotApi::start().await;
    let clock = ManualClock::new();
    let first = with(config(&api), gateway(), clock.shared());
    api.wait_for("a poll", |h| (!h.calls_of("getUpdates").is_empty()).then_some(())).await;
    let second = start(config(&api));
    let code = first
        .until("a conflict", |s| {
            s.health().iter().find_map(|h| {
                if let Health::Retrying { code, .. } = h { code.clone() } else { None }
            })
        })
        .await;
    assert_eq!(code, "GAL-TG-409");
    clock.wait_for_sleepers(1).await;
    second.end().await;
    clock.advance(Duration::from_secs(30));
    let ann = api.user("Ann", "ann_b");
    ann.says(&ann.direct(), "hello").send();
    first.heard(1).await;
    first.end().await;
}

#[tokio::test]
async fn update_numbers_may_jump_backwards() {
    let api = BotApi::start().await;
    let running = start(config(&api));
    let ann = api.user("Ann", "ann_b");
    ann.says(&ann.direct(), "one").send();
    running.heard(1).await;
    api.wait_confirmed().await;
    api.jump_update_id(5);
    ann.says(&ann.direct(), "two").send();
    let messages = running.heard(2).await;
    assert_eq!(messages[1].content.text, "two");
    running.end().await;
}

#[tokio::test]
async fn albums_arrive_as_one_message() {
    let api = BotApi::start().await;
    let running = start(config(&api));
    let ann = api.user("Ann", "ann_b");
    let ids = ann.sends_album(&ann.direct(), &[b"a", b"b", b"c"], "my *garden*");
    let messages = running.heard(1).await;
    assert_eq!(
        (messages[0].id.as_str().to_owned(), messages[0].content.attachments.len()),
        (format!("{}:{}", ann.id, ids[0]), 3)
    );
    assert_eq!(messages[0].content.text, "my *garden*");
    api.wait_confirmed().await;
    ann.says(&ann.direct(), "after").send();
    assert_eq!(running.heard(2).await.len(), 2);
    let bytes = running.connector.download(&messages[0].content.attachments[1].url).await.unwrap();
    assert_eq!(bytes, &b"b"[..]);
    running.end().await;
}

#[tokio::test]
async fn groups_are_synced_with_their_administrators() {
    let api = BotApi::start().await;
    api.set_privacy(false);
    let (ann, bob) = (api.user("Ann", "ann_b"), api.user("Bob", ""));
    let group = api.supergroup("Garden", &[&ann, &bob]);
    let running = start(config(&api));
    bob.says(&group, "hello").send();
    bob.says(&group, "again").send();
    let sync = running.until("a sync", |s| s.syncs().first().cloned()).await;
    assert_eq!(sync.world.owner, Some(RemoteId::new(ann.id)));
    assert!(sync.world.roles.contains(&(RemoteId::new(ann.id), Role::Owner)));
    assert_eq!(
        (sync.rooms[0].remote.as_str(), sync.rooms[0].kind),
        (group.id.to_string().as_str(), ChannelType::Group)
    );
    running.heard(2).await;
    assert_eq!(api.calls_of("getChatAdministrators").len(), 1, "fetched once");
    group.promote(&bob);
    api.wait_confirmed().await;
    running.end().await;
}

#[tokio::test]
async fn coming_and_going_is_reported() {
    let api = BotApi::start().await;
    let ann = api.user("Ann", "ann_b");
    let group = api.group("Garden", &[&ann]);
    let running = start(config(&api));
    ann.removes_bot(&group);
    running
        .event("removal", |e| {
            matches!(e.event, IncomingEvent::OwnStatus(OwnStatus::Removed)).then_some(())
        })
        .await;
    ann.adds_bot(&group);
    running
        .event("return", |e| {
            matches!(e.event, IncomingEvent::OwnStatus(OwnStatus::Joined)).then_some(())
        })
        .await;
    let moved = ann.migrates(&group);
    let to = running
        .event("a move", |e| {
            if let IncomingEvent::RoomMoved { to } = &e.event { Some(to.clone()) } else { None }
        })
        .await;
    assert_eq!(to.as_str(), moved.id.to_string());
    running.end().await;
}

#[tokio::test]
async fn presses_edits_and_reactions_arrive() {
    let api = BotApi::start().await;
    let running = start(config(&api));
    let ann = api.user("Ann", "ann_b");
    let direct = ann.direct();
    let said = ann.says(&direct, "hello").send();
    running.heard(1).await;
    ann.edits(&direct, said, "hello there");
    running
        .event("an edit", |e| {
            if let IncomingEvent::Edited { content, .. } = &e.event {
                Some(content.text.clone())
            } else {
                None
            }
        })
        .await;
    let handler = running.connector.send_handler();
    let ask = Outgoing::ask(
        "sure?",
        vec![vec![Button { text: "Yes".into(), press: Press::Data("yes".into()) }]],
    );
    send(&*handler, &ann.id.to_string(), &ask).await.remove(0).unwrap();
    let shown = api.wait_shown(ann.id, 1).await;
    assert_eq!(shown[0].buttons, [[("Yes".to_owned(), "yes".to_owned())]]);
    let query = ann.presses(&direct, shown[0].id, "yes");
    let data = running
        .event("a press", |e| {
            if let IncomingEvent::Pressed { data, .. } = &e.event {
                Some(data.clone())
            } else {
                None
            }
        })
        .await;
    assert_eq!(data, "yes");
    api.wait_for("the answer", |h| h.is_answered(&query).then_some(())).await;
    running.end().await;
}

#[tokio::test]
async fn topics_are_rooms_with_their_names() {
    let api = BotApi::start().await;
    api.set_privacy(false);
    let ann = api.user("Ann", "ann_b");
    let forum = api.forum("Garden", &[&ann]);
    let running = start(config(&api));
    let topic = ann.opens_topic(&forum, "Roses");
    let room = running
        .until("a named topic", |s| {
            s.syncs()
                .iter()
                .flat_map(|y| &y.rooms)
                .find(|r| r.name.as_deref() == Some("Roses"))
                .cloned()
        })
        .await;
    assert_eq!(
        (room.remote.as_str().to_owned(), room.kind),
        (format!("{}-{topic}", forum.id), ChannelType::Thread)
    );
    ann.says(&forum, "in it").in_topic(topic).send();
    ann.says(&forum, "in general").send();
    running.heard(2).await;
    let rooms: Vec<String> =
        running.gateway.events().iter().map(|e| e.connection.room.remote.to_string()).collect();
    assert_eq!(rooms, [format!("{}-{topic}", forum.id), forum.id.to_string()]);
    running.end().await;
}

#[tokio::test]
async fn a_mention_in_a_group_is_seen() {
    let api = BotApi::start().await;
    let ann = api.user("Ann", "ann_b");
    let group = api.supergroup("Garden", &[&ann]);
    let running = start(config(&api));
    ann.says(&group, &format!("🤖 @{} hi", api.bot_username().to_uppercase())).send();
    assert!(running.heard(1).await[0].addressed.mention);
    running.end().await;
}
