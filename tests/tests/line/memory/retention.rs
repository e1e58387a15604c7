//! The owner of a World says how long it keeps messages; older ones go, with what was made from
//! them.

use galatea_core::{
    Account, Content, Derived, Memory, MemoryId, MemoryKind, MemoryScope, RemoteId, Source,
    Timestamp, World,
    store::{DerivedChange, Envelope, InboxEntry, Ingest, MemoryQuery},
};
use galatea_store::Database;
use galatea_testkit::{clock::ManualClock, models::ScriptedModel};
use std::{sync::Arc, time::Duration};

use crate::{
    house::{House, Plan, Spot, dm, group},
    models::echo,
    platform::PATIENCE,
};

const DAY: Duration = Duration::from_secs(24 * 3_600);

async fn texts(house: &House, kind: MemoryKind) -> Vec<String> {
    let query = MemoryQuery::new(house.agent, 1_000).kind(kind);
    house.store.memories(&query).await.unwrap().into_iter().map(|m| m.content.text).collect()
}

/// A new memory of this kind by the person at `at`.
fn memory(house: &House, at: &Spot, kind: MemoryKind, text: &str) -> Memory {
    Memory {
        id: MemoryId::fresh(),
        kind,
        agent_id: house.agent,
        entity_id: house.entity(at),
        room_id: house.room(at),
        world_id: Some(house.world(at)),
        content: Content::text(text),
        metadata: serde_json::Map::new(),
        created_at: house.clock.now(),
    }
}

/// A fact that one message says.
async fn learn(house: &House, at: &Spot, said: MemoryId, text: &str) {
    derive(house, at, MemoryKind::Facts, &[said], text).await;
}

/// Memories made from these.
async fn derive(
    house: &House,
    at: &Spot,
    kind: MemoryKind,
    from: &[MemoryId],
    text: &str,
) -> MemoryId {
    let memory = memory(house, at, kind, text);
    let id = memory.id;
    let new = vec![Derived::new(memory, MemoryScope::Room, from.to_vec())];
    let change = DerivedChange { new, ..DerivedChange::default() };
    assert_eq!(house.store.change_derived(house.agent, &change).await.unwrap(), 1);
    id
}

fn inbox_entry(house: &House, at: &Spot, text: &str) -> InboxEntry {
    let memory = memory(house, at, MemoryKind::Messages, text);
    InboxEntry {
        remote: RemoteId::new(memory.id.to_string()),
        memory,
        legacy_id: None,
        source: Source::new("elsewhere"),
        account: Account("1".to_owned()),
        room_remote: RemoteId::new(at.room),
        envelope: Envelope::default(),
    }
}

#[tokio::test]
async fn old_messages_of_a_world_go_with_what_was_made_from_them() {
    let store = Database::in_memory().await.unwrap();
    let clock = ManualClock::at(Timestamp(1_777_888_800_000));
    let plan = || Plan::new(echo()).store(&store).clock(clock.shared());
    let (kept, short) = (group("-200", "7"), group("-100", "7"));
    let house = plan().build().await;
    let mut summaries = Vec::new();
    for at in [&kept, &short] {
        let said = house.say(at, "I live in Ghent, old chatter").await;
        learn(&house, at, said, &format!("lives in Ghent, says {}", at.room)).await;
        for n in 0..120 {
            house.say(at, &format!("old chatter {n}")).await;
        }
        let old = derive(&house, at, MemoryKind::Summaries, &[said], "old").await;
        summaries.push(old);
    }
    let private = dm("9");
    let mut alone = house.message(&private, "old chatter in private");
    alone.connection.world.metadata = World::with_retention(2);
    house.receive(vec![alone]).await;
    house.quiet().await;
    clock.advance(3 * DAY);
    let mut set = house.message(&short, "chatter of today");
    set.connection.world.metadata = World::with_retention(2);
    let today = house.id_of(&set);
    house.receive(vec![set]).await;
    house.quiet().await;
    // The next summary of the Room is made of the first one and of a message that stays.
    let old = summaries[1];
    derive(&house, &short, MemoryKind::Summaries, &[old, today], "old and today").await;
    assert!(house.orchestrator.stop(Duration::from_secs(10)).await);
    assert_eq!(texts(&house, MemoryKind::Messages).await.len(), 245, "not by a stop");
    // Of a platform that is not connected: it waits for its turn, and is as old.
    let mut waits = inbox_entry(&house, &short, "still waits");
    waits.memory.created_at = Timestamp(1_777_888_800_000);
    let batch = Ingest { messages: vec![waits], ..Ingest::default() };
    house.store.ingest(batch).await.unwrap();

    let mut plan = plan();
    plan.reconcile_every = Duration::from_millis(20);
    let house = plan.build().await;
    let wait = async {
        while texts(&house, MemoryKind::Messages).await.len() > 125 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(tokio::time::timeout(PATIENCE, wait).await.is_ok(), "they were never deleted");
    let left = texts(&house, MemoryKind::Messages).await;
    assert_eq!(left.len(), 125, "another World's and today's stay");
    for text in ["chatter of today", "still waits", "old chatter in private"] {
        assert!(left.iter().any(|left| left == text), "{text}: {left:?}");
    }
    assert_eq!(texts(&house, MemoryKind::Facts).await, ["lives in Ghent, says -200"]);
    let mut summaries = texts(&house, MemoryKind::Summaries).await;
    summaries.sort();
    assert_eq!(summaries, ["old", "old and today"], "another World's, and what today is part of");
    for (at, states) in [(&short, true), (&kept, false)] {
        let before = house.platform.texts(at.room).len();
        let mut asked = house.message(at, "/privacy");
        let galatea_core::IncomingEvent::Message(message) = &mut asked.event else { panic!() };
        message.id = RemoteId::new(format!("{}-privacy", at.room));
        house.receive(vec![asked]).await;
        let said = house.platform.until_shown(at.room, before + 1).await[before].clone();
        assert_eq!(said.contains("are deleted after 2 days"), states, "{said}");
    }
}

#[tokio::test]
async fn the_owner_sets_and_confirms_it_and_an_admin_cannot() {
    let clock = ManualClock::at(Timestamp(1_777_888_800_000));
    let model = Arc::new(ScriptedModel::new());
    let call = "<response><actions><action><name>UPDATE_SETTINGS</name><params><key>retention_days</key><value>5</value></params></action></actions><text>Done.</text></response>";
    let house = Plan::new(Arc::clone(&model) as _)
        .plugin(galatea_bootstrap::plugin())
        .set("ACTION_CONFIRMATION", "never")
        .set("REFLECTION_INTERVAL", "0")
        .clock(clock.shared())
        .build()
        .await;
    let at = |person| group("-100", person).mentioning();
    let kept =
        async || house.store.world(house.world(&at("7"))).await.unwrap().unwrap().retention_days();
    for (person, expected) in [("8", None), ("7", Some(5))] {
        model.enqueue(call);
        let mut asked = house.message(&at(person), "please delete old messages after 5 days");
        asked.connection.world.owner = Some(RemoteId::new("7"));
        asked.connection.world.roles = vec![(RemoteId::new("8"), galatea_core::Role::Admin)];
        house.receive(vec![asked]).await;
        house.quiet().await;
        assert_eq!(kept().await, None, "{person}: not before it is confirmed, whatever is set");
        let Some(days) = expected else { continue };
        let question = house.platform.texts("-100").pop().unwrap();
        let name = house.store.world(house.world(&at("7"))).await.unwrap().unwrap().name;
        let said = format!("after {days} days messages in all rooms of {name} are deleted");
        assert!(question.contains(&said) && question.contains("please confirm"), "{question}");
        let (_, rest) = question.split_once("`ok-").unwrap();
        let word = format!("ok-{}", &rest[..5]);
        for (person, expected) in [("8", None), ("7", expected)] {
            let mut answer = house.message(&at(person), &word);
            answer.connection.world.owner = Some(RemoteId::new("7"));
            house.receive(vec![answer]).await;
            house.quiet().await;
            assert_eq!(kept().await, expected, "{person}");
        }
    }
    // To keep messages asks nothing.
    model.enqueue(call.replace("<value>5<", "<value>0<"));
    house.say(&at("7"), "please keep all messages").await;
    house.quiet().await;
    assert_eq!(kept().await, None);
}
