//! Receives ids, room kinds, flags, edits, deletions, reactions and button presses.

use galatea_core::{Button, Content, Incoming, IncomingEvent, IncomingMessage, Outgoing, Press};

use super::{applies_if, scene_with_spot};
use crate::connector_suite::{ConnectorHarness, Outcome, Said, Scene, Spot, SpotKind};

fn check_place(incoming: &Incoming, spot: &Spot) {
    let connection = &incoming.connection;
    assert_eq!(connection.world.remote, spot.world, "world");
    assert_eq!(connection.room.remote, spot.room, "room");
    assert_eq!(connection.room.kind, spot.channel, "kind of room");
    assert_eq!(connection.room.parent, spot.parent, "parent of the room");
    let speaker = connection.entity.as_ref().unwrap_or_else(|| panic!("a speaker"));
    assert_eq!(
        (&speaker.remote, speaker.name.as_deref(), speaker.is_bot),
        (&spot.speaker, Some(spot.speaker_name.as_str()), false),
        "speaker"
    );
}

async fn hear<H: ConnectorHarness>(kind: SpotKind) -> Outcome {
    let scene = Scene::<H>::start().await;
    let Some(spot) = scene.platform.spot(kind).await else {
        return Outcome::NotApplicable("the platform has no such place");
    };
    let id = scene.platform.say(&spot, Said::text("good morning 👋")).await;
    let (incoming, message) = heard(&scene, 1).await;
    check_place(&incoming, &spot);
    let only_mentions = scene.platform.hears_only_mentions();
    let text = message.content.text.as_str();
    assert!(
        text == "good morning 👋" || (only_mentions && text.ends_with(" good morning 👋")),
        "{text:?}"
    );
    assert_eq!(message.id, id);
    assert!(incoming.at.0 > 0, "the platform's time");
    assert_eq!(
        (message.addressed.mention, message.addressed.reply, message.reply_to),
        (only_mentions, false, None)
    );
    Outcome::Holds
}

async fn heard<H: ConnectorHarness>(scene: &Scene<H>, nth: usize) -> (Incoming, IncomingMessage) {
    scene.gateway.wait_messages(nth).await.swap_remove(nth - 1)
}

/// A direct message arrives with the platform's ids.
pub async fn receives_a_direct_message<H: ConnectorHarness>() -> Outcome {
    hear::<H>(SpotKind::Direct).await
}

/// A group message arrives with the platform's ids.
pub async fn receives_a_group_message<H: ConnectorHarness>() -> Outcome {
    hear::<H>(SpotKind::Group).await
}

/// A thread message arrives with the platform's ids, and its room names its parent.
pub async fn receives_a_thread_message<H: ConnectorHarness>() -> Outcome {
    hear::<H>(SpotKind::Thread).await
}

/// A mention is flagged; the agent's name in plain text is not.
pub async fn flags_mentions<H: ConnectorHarness>() -> Outcome {
    let (scene, spot) = scene_with_spot!(H, Group);
    applies_if!(!scene.platform.hears_only_mentions(), "the platform reports only mentions");
    scene.platform.say(&spot, Said::text("Galatea said so")).await;
    scene.platform.say(&spot, Said { mention: true, ..Said::text("are you there?") }).await;
    assert!(!heard(&scene, 1).await.1.addressed.mention, "a name is not a mention");
    let (_, message) = heard(&scene, 2).await;
    assert!(message.addressed.mention && message.content.text.contains("are you there?"));
    Outcome::Holds
}

/// A reply to the agent is flagged and names its target; a reply to another person is not flagged.
pub async fn flags_replies<H: ConnectorHarness>() -> Outcome {
    let (scene, spot) = scene_with_spot!(H, Group);
    let theirs = scene.platform.say(&spot, Said::text("hello")).await;
    heard(&scene, 1).await;
    let ours = scene.send_text(&spot, "hello yourself").await;
    scene.platform.say(&spot, Said { reply_to: Some(ours.clone()), ..Said::text("thanks") }).await;
    scene
        .platform
        .say(&spot, Said { reply_to: Some(theirs.clone()), ..Said::text("as I said") })
        .await;
    let (_, to_us) = heard(&scene, 2).await;
    assert_eq!((to_us.addressed.reply, to_us.reply_to), (true, Some(ours)));
    let (_, to_them) = heard(&scene, 3).await;
    assert_eq!((to_them.addressed.reply, to_them.reply_to), (false, Some(theirs)));
    Outcome::Holds
}

/// A person's edit is reported with the message's id.
pub async fn tells_edits<H: ConnectorHarness>() -> Outcome {
    let (scene, spot) = scene_with_spot!(H, Direct);
    let said = scene.platform.say(&spot, Said::text("tpyo")).await;
    heard(&scene, 1).await;
    applies_if!(
        scene.platform.edit(&spot, &said, "typo").await,
        "the platform does not report edits"
    );
    let found = |incoming: &Incoming| match &incoming.event {
        IncomingEvent::Edited { id, content, .. } => Some((id.clone(), content.text.clone())),
        _ => None,
    };
    let edit = scene.gateway.wait_for(|g| g.events().iter().find_map(found)).await;
    assert_eq!(edit, (said, "typo".to_owned()));
    Outcome::Holds
}

/// A person's deletion is reported with the message's id.
pub async fn tells_deletions<H: ConnectorHarness>() -> Outcome {
    let (scene, spot) = scene_with_spot!(H, Direct);
    let said = scene.platform.say(&spot, Said::text("oops")).await;
    heard(&scene, 1).await;
    applies_if!(
        scene.platform.delete(&spot, &said).await,
        "the platform does not report deletions"
    );
    let found = |incoming: &Incoming| match &incoming.event {
        IncomingEvent::Deleted { ids } => Some(ids.clone()),
        _ => None,
    };
    assert_eq!(scene.gateway.wait_for(|g| g.events().iter().find_map(found)).await, [said]);
    Outcome::Holds
}

/// A person's reaction to the agent's message is reported.
pub async fn tells_reactions<H: ConnectorHarness>() -> Outcome {
    let (scene, spot) = scene_with_spot!(H, Direct);
    scene.platform.say(&spot, Said::text("hello")).await;
    heard(&scene, 1).await;
    let ours = scene.send_text(&spot, "hi").await;
    applies_if!(
        scene.platform.react(&spot, &ours, "👍").await,
        "the platform does not report reactions"
    );
    let found = |incoming: &Incoming| match &incoming.event {
        IncomingEvent::Reacted { id, added, removed } => {
            Some((id.clone(), added.clone(), removed.clone()))
        }
        _ => None,
    };
    let reaction = scene.gateway.wait_for(|g| g.events().iter().find_map(found)).await;
    assert_eq!(reaction, (ours, vec!["👍".to_owned()], Vec::new()));
    Outcome::Holds
}

/// A pressed button is reported with its message and data.
pub async fn tells_presses<H: ConnectorHarness>() -> Outcome {
    let (scene, spot) = scene_with_spot!(H, Direct);
    applies_if!(scene.can().buttons, "the platform has no buttons");
    scene.platform.say(&spot, Said::text("hello")).await;
    heard(&scene, 1).await;
    let button = Button { text: "Yes".into(), press: Press::Data("answer:yes".into()) };
    let ask = Outgoing::Message {
        content: Content { buttons: vec![vec![button]], ..Content::text("Well?") },
        reply_to: None,
    };
    let ours = scene.send(&spot, &ask).await.swap_remove(0).id.unwrap_or_else(|| panic!("an id"));
    scene.platform.press(&spot, &ours, "answer:yes").await;
    let found = |incoming: &Incoming| match &incoming.event {
        IncomingEvent::Pressed { message, data, .. } => {
            Some((message.clone(), data.clone(), incoming.connection.room.remote.clone()))
        }
        _ => None,
    };
    let press = scene.gateway.wait_for(|g| g.events().iter().find_map(found)).await;
    assert_eq!(press, (Some(ours), "answer:yes".to_owned(), spot.room));
    Outcome::Holds
}

/// Messages of one room arrive in the order in which they were sent.
pub async fn keeps_order_in_a_room<H: ConnectorHarness>() -> Outcome {
    let (scene, spot) = scene_with_spot!(H, Direct);
    let mut said = Vec::new();
    for n in 0..30 {
        said.push(scene.platform.say(&spot, Said::text(&format!("number {n}"))).await);
    }
    let heard: Vec<_> =
        scene.gateway.wait_messages(30).await.into_iter().map(|(_, m)| m.id).collect();
    assert_eq!(heard, said);
    Outcome::Holds
}
