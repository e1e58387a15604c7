//! Tests of receiving: what people do on Discord arrives as events.

use crate::support::{Running, config, send, start, with};
use galatea_core::{
    ChannelType, Content, Health, IncomingEvent, IncomingMessage, Media, MediaKind, Outgoing,
    OwnStatus, RemoteId, world::Role,
};
use galatea_testkit::discord::{DiscordApi, Options, User};

async fn stage() -> (DiscordApi, User, Running) {
    let api = DiscordApi::start().await;
    let ann = api.user("Ann", "ann_b");
    let running = start(config(&api));
    api.wait_connected(1).await;
    (api, ann, running)
}

fn message(event: &IncomingEvent) -> Option<IncomingMessage> {
    if let IncomingEvent::Message(m) = event { Some(m.clone()) } else { None }
}

#[tokio::test]
async fn a_guild_becomes_a_world_with_its_rooms() {
    let api = DiscordApi::start().await;
    let (ann, bob) = (api.user("Ann", "ann_b"), api.user("Bob", "bob"));
    let guild = api.guild("Garden", &[&ann, &bob]);
    let forum = guild.channel("ideas", 15);
    let post = ann.opens_thread(&forum, "Roses");
    guild.channel("talk", 2);
    guild.channel("category", 4);
    let running = start(config(&api));
    let sync = running.until("the guild", |s| s.syncs().first().cloned()).await;
    assert_eq!(
        (sync.world.remote, sync.world.name.as_deref()),
        (RemoteId::new(guild.id), Some("Garden"))
    );
    assert_eq!(sync.world.owner, Some(RemoteId::new(ann.id)));
    assert_eq!(sync.world.roles, [(RemoteId::new(ann.id), Role::Owner)]);
    let kinds: Vec<_> = sync.rooms.iter().map(|r| (r.name.as_deref().unwrap(), r.kind)).collect();
    assert_eq!(
        kinds,
        [
            ("general", ChannelType::Group),
            ("ideas", ChannelType::Forum),
            ("Roses", ChannelType::Thread),
            ("talk", ChannelType::VoiceGroup)
        ]
    );
    let thread = sync.rooms.iter().find(|r| r.remote == RemoteId::new(post.id)).unwrap();
    assert_eq!(
        (thread.parent.clone(), thread.metadata["isForumPost"].as_bool()),
        (Some(RemoteId::new(forum.id)), Some(true))
    );
    let people: Vec<_> = sync.entities.iter().map(|(e, _)| e.name.as_deref().unwrap()).collect();
    assert_eq!(people, ["Ann", "Bob"]);
    running.end().await;
}

#[tokio::test]
async fn a_forum_post_and_a_new_thread_are_rooms_with_parents() {
    let (api, ann, running) = stage().await;
    let guild = api.guild("Garden", &[&ann]);
    let forum = guild.channel("ideas", 15);
    let post = ann.opens_thread(&forum, "Roses");
    ann.says(&post, "what about roses?").send();
    let incoming = running.event("the post", |e| message(&e.event).map(|_| e.clone())).await;
    let room = incoming.connection.room;
    assert_eq!(
        (room.kind, room.name.as_deref(), room.parent),
        (ChannelType::Thread, Some("Roses"), Some(RemoteId::new(forum.id)))
    );
    let known = running.until("the thread's room", |s| {
        s.syncs()
            .iter()
            .flat_map(|w| &w.rooms)
            .find(|r| r.remote == RemoteId::new(post.id))
            .cloned()
    });
    assert_eq!(known.await.parent, Some(RemoteId::new(forum.id)));
}

#[tokio::test]
async fn mentions_by_name_and_by_role_count_and_replies_are_replies() {
    let (api, ann, running) = stage().await;
    let guild = api.guild("Garden", &[&ann]);
    let general = guild.general();
    let other = guild.role("gardeners", 0, &[ann.id]);
    ann.says(&general, "Galatea said so").send();
    ann.says(&general, &format!("hey {}", api.mention())).send();
    ann.says(&general, &format!("hey <@&{}>", guild.own_role())).send();
    ann.says(&general, &format!("hey <@&{other}> in <#{}>", general.id)).send();
    let heard = running.heard(4).await;
    let mentions: Vec<bool> = heard.iter().map(|m| m.addressed.mention).collect();
    assert_eq!(mentions, [false, true, true, false]);
    assert_eq!(heard[1].content.text, "hey @Galatea");
    assert!(heard[3].content.text.ends_with("in #general"), "{}", heard[3].content.text);
    assert!(
        heard[0]
            .content
            .url
            .as_deref()
            .unwrap()
            .starts_with(&format!("https://discord.com/channels/{}/{}/", guild.id, general.id))
    );
}

#[tokio::test]
async fn administrators_are_known_by_their_roles() {
    let (api, ann, running) = stage().await;
    let (bob, guild) = (api.user("Bob", "bob"), api.guild("Garden", &[&ann]));
    bob.joins(&guild);
    guild.role("mods", 1 << 3, &[bob.id]);
    guild.renames("Garten");
    bob.says(&guild.general(), "I am in charge").send();
    let world = running
        .event("the message", |e| message(&e.event).map(|_| e.connection.world.clone()))
        .await;
    assert_eq!(world.name.as_deref(), Some("Garten"));
    assert_eq!(
        world.roles,
        [(RemoteId::new(ann.id), Role::Owner), (RemoteId::new(bob.id), Role::Admin)]
    );
}

#[tokio::test]
async fn comings_and_goings_are_reported() {
    let (api, ann, running) = stage().await;
    let (bob, guild) = (api.user("Bob", "bob"), api.guild("Garden", &[&ann]));
    let joined = |e: &galatea_core::Incoming| {
        matches!(e.event, IncomingEvent::OwnStatus(OwnStatus::Joined))
            .then(|| e.connection.world.remote.clone())
    };
    assert_eq!(running.event("our own joining", joined).await, RemoteId::new(guild.id));
    bob.joins(&guild);
    bob.leaves(&guild);
    let who = |entities: &[galatea_core::EntityRef]| entities[0].name.clone().unwrap();
    let came = running.event("Bob", |e| {
        if let IncomingEvent::Joined { entities } = &e.event { Some(who(entities)) } else { None }
    });
    assert_eq!(came.await, "Bob");
    let left = running.event("Bob going", |e| {
        if let IncomingEvent::Left { entities } = &e.event { Some(who(entities)) } else { None }
    });
    assert_eq!(left.await, "Bob");
    let side = guild.channel("side", 0);
    side.is_removed();
    let closed = |e: &galatea_core::Incoming| {
        matches!(e.event, IncomingEvent::OwnStatus(OwnStatus::Closed))
            .then(|| e.connection.room.remote.clone())
    };
    assert_eq!(running.event("a channel going", closed).await, RemoteId::new(side.id));
    guild.removes_bot();
    let thrown = |e: &galatea_core::Incoming| {
        matches!(e.event, IncomingEvent::OwnStatus(OwnStatus::Removed))
            .then(|| e.connection.world.remote.clone())
    };
    assert_eq!(running.event("our own removal", thrown).await, RemoteId::new(guild.id));
}

#[tokio::test]
async fn deletions_in_bulk_and_reactions_are_reported() {
    let (api, ann, running) = stage().await;
    let guild = api.guild("Garden", &[&ann]);
    let general = guild.general();
    let ids: Vec<u64> = (0..3).map(|n| ann.says(&general, &format!("spam {n}")).send()).collect();
    running.heard(3).await;
    ann.reacts(&general, ids[0], "wave:12");
    ann.unreacts(&general, ids[0], "wave:12");
    ann.deletes(&general, &ids);
    let gone = running
        .event("the deletion", |e| {
            if let IncomingEvent::Deleted { ids } = &e.event { Some(ids.clone()) } else { None }
        })
        .await;
    assert_eq!(gone, ids.iter().map(RemoteId::new).collect::<Vec<_>>());
    let events = running.gateway.events();
    let reactions: Vec<_> = events
        .iter()
        .filter_map(|e| {
            if let IncomingEvent::Reacted { added, removed, .. } = &e.event {
                Some((added.clone(), removed.clone()))
            } else {
                None
            }
        })
        .collect();
    assert_eq!(
        reactions,
        [(vec!["wave:12".to_owned()], vec![]), (vec![], vec!["wave:12".to_owned()])]
    );
}

#[tokio::test]
async fn files_come_with_an_address_that_can_be_fetched() {
    let (api, ann, running) = stage().await;
    ann.says(&ann.direct(), "look")
        .with_file("note.txt", "text/plain; charset=utf-8", b"hello world")
        .send();
    let heard = running.heard(1).await;
    let file = &heard[0].content.attachments[0];
    assert_eq!(
        (file.title.as_str(), file.mime.as_deref(), file.size, file.content_type),
        ("note.txt", Some("text/plain"), Some(11), MediaKind::Document)
    );
    let handler = running.connector.send_handler();
    assert_eq!(handler.fetch(file, 1000).await.unwrap(), b"hello world");
    assert!(handler.fetch(file, 5).await.is_err(), "too large");
    for url in ["http://169.254.169.254/latest", "https://example.org/x", "file:///etc/passwd"] {
        assert!(
            handler.fetch(&Media { url: url.into(), ..Media::default() }, 1000).await.is_err(),
            "{url}"
        );
    }
    assert!(api.violations().is_empty());
}

#[tokio::test]
async fn without_message_content_it_hears_what_is_meant_for_it() {
    let api =
        DiscordApi::with(Options { content: false, members: false, ..Options::default() }).await;
    let (ann, bob) = (api.user("Ann", "ann_b"), api.user("Bob", "bob"));
    let guild = api.guild("Garden", &[&ann, &bob]);
    let running = start(config(&api));
    api.wait_connected(1).await;
    assert_eq!(api.intents()[0] & (1 << 15 | 1 << 1), 0, "only granted intents are requested");
    ann.says(&guild.general(), "to everyone").send();
    ann.says(&guild.general(), &format!("{} to you", api.mention())).send();
    ann.says(&ann.direct(), "in private").send();
    let heard: Vec<_> = running.heard(2).await.into_iter().map(|m| m.content.text).collect();
    assert_eq!(heard, ["@Galatea to you", "in private"]);
    let degraded = running.until("a word about it", |s| {
        s.health().iter().find_map(|h| {
            if let galatea_core::Health::Degraded { reason } = h {
                Some(reason.clone())
            } else {
                None
            }
        })
    });
    assert!(degraded.await.contains("Message Content"));
    running.gateway.fail_receives(2);
    ann.says(&ann.direct(), "while the store is away").send();
    running.heard(3).await;
    let after = running.until("the store to be back", |s| {
        let health = s.health();
        let away = health.iter().rposition(|h| matches!(h, Health::Retrying { .. }))?;
        health.get(away + 1..).and_then(|since| since.last().cloned())
    });
    assert!(
        matches!(after.await, Health::Degraded { reason } if reason.contains("Message Content")),
        "the limitation is reported again after the store is back"
    );
}

#[tokio::test]
async fn commands_are_registered_once_and_become_commands() {
    let (api, ann, running) = stage().await;
    let guild = api.guild("Garden", &[&ann]);
    let id = ann.uses(&guild.general(), "ask", Some("how do roses grow?"));
    let heard = running.heard(1).await.swap_remove(0);
    let command = heard.command.unwrap();
    assert_eq!(
        (command.name.as_str(), command.args.as_str(), heard.content.text.as_str()),
        ("ask", "how do roses grow?", "/ask how do roses grow?")
    );
    assert_eq!(heard.id.as_str(), format!("interaction:{id}"));
    assert_eq!(api.acknowledged(id), Some(5), "acknowledged before the answer is made");
    let again =
        with(config(&api), running.end().await, std::sync::Arc::new(galatea_core::SystemClock));
    api.wait_for("it to be back", |h| (h.resumed() == 1).then_some(())).await;
    again.end().await;
    assert_eq!(api.command_writes(), 1, "existing commands are not written again");
}

/// An echo of our own message has nothing to store, but its sequence number is committed.
#[tokio::test]
async fn a_message_of_ours_is_acknowledged_without_company() {
    let (api, ann, running) = stage().await;
    let direct = ann.direct();
    ann.says(&direct, "hello?").send();
    running.heard(1).await;
    let handler = running.until("the handler", |gateway| gateway.handler()).await;
    let sent = send(
        &*handler,
        &direct.id.to_string(),
        &Outgoing::Message { content: Content::text("hello"), reply_to: None },
    )
    .await;
    assert!(sent.iter().all(Result::is_ok));
    api.wait_acknowledged().await;
    assert_eq!(running.heard(1).await.len(), 1, "an echo is not a message to answer");
    running.end().await;
}

#[tokio::test]
async fn direct_channels_are_remembered_in_the_order_of_their_use() {
    let (api, ann, running) = stage().await;
    let bob = api.user("Bob", "bob");
    let channels = [ann.direct(), bob.direct()];
    for (user, channel) in [&ann, &bob].into_iter().zip(&channels) {
        user.says(channel, "hi").send();
    }
    running.heard(2).await;
    let known = serde_json::json!(channels.map(|channel| channel.id));
    running
        .until("the channels", |gateway| {
            gateway.stored_state("direct").filter(|stored| *stored == known)
        })
        .await;
    assert!(running.gateway.stored_cursor("direct").is_none(), "a list is no position");
    running.end().await;
}

/// What only an embed, a poll or a sticker says arrives, also forwarded; and what a person's proxy posts
/// again is known as the same.
#[tokio::test]
async fn messages_without_words_of_their_own_arrive() {
    let api = DiscordApi::with(Options::default()).await;
    let ann = api.user("Ann", "ann_b");
    let general = api.guild("Garden", &[&ann]).general();
    let running = start(config(&api));
    api.wait_connected(1).await;
    let embed = serde_json::json!([{ "type": "rich", "title": "Release 7", "fields": [{ "name": "Branch", "value": "main" }] }]);
    let snapshot = serde_json::json!({ "type": 0, "content": "", "embeds": embed, "attachments": [], "timestamp": "2026-05-01T10:00:00.000000+00:00",
        "edited_timestamp": null, "flags": 0, "mentions": [], "mention_roles": [] });
    let forward = serde_json::json!({ "message_reference": { "type": 1, "channel_id": general.id.to_string(), "message_id": "7" }, "message_snapshots": [{ "message": snapshot }] });
    ann.says(&general, "").with(&forward).send();
    ann.says(&general, "").with(&serde_json::json!({ "embeds": embed })).send();
    ann.says(&general, "A: hello").send();
    ann.says(&general, "hello").through_webhook(77, 466_378_653_216_014_359, "Alter").send();
    let heard = running.heard(4).await;
    assert!(heard[0].content.quotes[0].text.contains("Branch: main"), "{:?}", heard[0]);
    assert!(heard[1].content.text.contains("Release 7"), "{:?}", heard[1]);
    let replaces = heard[3].content.extra.get("replaces").cloned();
    assert_eq!(replaces, Some(heard[2].id.as_str().into()));
    running.end().await;
}
