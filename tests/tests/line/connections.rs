//! Worlds, Rooms, entities and participants.

use galatea_core::{
    Addressed, Batch, ChannelType, Content, EntityRef, Incoming, IncomingEvent, MemoryId, RemoteId,
    Role, RoomRef, WorldRef, WorldSync,
};
use galatea_store::Database;
use std::sync::Arc;

use crate::{
    house::{Plan, dm, group},
    models::{Gated, echo},
    platform::PATIENCE,
};

#[tokio::test]
async fn a_direct_message_is_answered_and_stored_under_elizaos_ids() {
    let house = Plan::new(echo()).build().await;
    let spot = dm("123456789012345678");
    let id = house.say(&spot, "hello").await;
    assert_eq!(house.platform.until_shown(spot.room, 1).await, ["re: hello"]);
    house.quiet().await;
    // Id from elizaOS's createUniqueUuid for the platform's id with agent "Eliza".
    assert_eq!(house.agent.to_string(), "b850bc30-45f8-0041-a00a-83df46d8555d");
    assert_eq!(house.room(&spot).to_string(), "270b9075-fe57-01b4-838a-eadec6854efb");
    let room = house.store.room(house.room(&spot)).await.unwrap().unwrap();
    assert_eq!(
        (room.name.as_str(), room.kind, room.world_id),
        ("Room 123456789012345678", ChannelType::Dm, house.world(&spot))
    );
    let world = house.store.world(house.world(&spot)).await.unwrap().unwrap();
    assert_eq!(world.name, "World 123456789012345678");
    let entity = house.store.entities(&[house.entity(&spot)]).await.unwrap().pop().unwrap();
    assert_eq!(entity.names, ["Person 123456789012345678", "user123456789012345678"]);
    let memory = house.store.memory(id).await.unwrap().unwrap();
    assert_eq!((memory.content.text.as_str(), memory.entity_id), ("hello", house.entity(&spot)));
    assert_eq!(id, MemoryId(house.identity.swizzle("123456789012345678-1")));
    let said = house.explain(id).await;
    assert!(said.summary.starts_with("answered: "), "{said:?}");
    assert_eq!(said.deliveries.len(), 1);
}

#[tokio::test]
async fn fifty_callers_at_once_make_one_connection() {
    let house = Arc::new(Plan::new(echo()).build().await);
    let spot = group("-100", "7");
    let calls: Vec<_> = (0..50)
        .map(|_| {
            let (house, spot) = (Arc::clone(&house), spot.clone());
            tokio::spawn(async move {
                house.gateway.ensure_connection(&spot.connection()).await.unwrap()
            })
        })
        .collect();
    for call in calls {
        let place = call.await.unwrap();
        assert_eq!(
            (place.room, place.entity, place.world),
            (house.room(&spot), house.entity(&spot), house.world(&spot))
        );
    }
    let mut participants: Vec<_> = house
        .store
        .participants(house.room(&spot))
        .await
        .unwrap()
        .into_iter()
        .map(|p| p.entity_id)
        .collect();
    participants.sort();
    let mut expected = vec![house.entity(&spot), house.identity.entity()];
    expected.sort();
    assert_eq!(participants, expected);
}

#[tokio::test]
async fn a_known_connection_costs_no_sql_and_a_changed_one_one_statement() {
    let store = Database::in_memory().await.unwrap();
    let house = Plan::new(echo()).store(&store).build().await;
    // The first answer goes out only after recovery has finished, so that no other statement
    // disturbs the count.
    house.say(&dm("9"), "hello").await;
    house.platform.until_shown("9", 1).await;
    house.quiet().await;
    let spot = group("-100", "7");
    house.gateway.ensure_connection(&spot.connection()).await.unwrap();
    let before = store.statements();
    for _ in 0..100 {
        house.gateway.ensure_connection(&spot.connection()).await.unwrap();
    }
    assert_eq!(store.statements(), before);
    let mut renamed = spot.connection();
    renamed.entity.as_mut().unwrap().name = Some("Someone Else".into());
    house.gateway.ensure_connection(&renamed).await.unwrap();
    assert_eq!(store.statements(), before + 1);
    let entity = house.store.entities(&[house.entity(&spot)]).await.unwrap().pop().unwrap();
    assert_eq!(entity.names[0], "Someone Else");
}

/// Number of statements of a run with this many turns, from start to a complete stop. Grouped
/// writes may cost less, but never more.
async fn statements(turns: usize) -> u64 {
    let store = Database::in_memory().await.unwrap();
    let house = Plan::new(echo()).store(&store).build().await;
    let spot = dm("7");
    for n in 1..=turns {
        house.say(&spot, "hello").await;
        house.platform.until_shown("7", n).await;
    }
    assert!(house.orchestrator.stop(PATIENCE).await, "it drains");
    store.statements()
}

#[tokio::test]
async fn an_ordinary_turn_of_a_known_room_costs_six_statements_at_most() {
    let (one, eleven) = (statements(1).await, statements(11).await);
    let each = (eleven - one) as f64 / 10.0;
    // Ingest, recall, commit, settle, and the reads of evaluators.
    assert!(each <= 6.0, "{each} statements for each turn");
}

#[tokio::test]
async fn owner_and_roles_survive_plain_messages_and_change_with_the_next_sync() {
    let house = Plan::new(echo()).build().await;
    let spot = group("-100", "7");
    let id = |person: &str| galatea_core::EntityId(house.identity.swizzle(person));
    // A message before any sync creates the world, without an owner.
    house.say(&spot, "first").await;
    house.quiet().await;
    let mut world = WorldRef::new(RemoteId::new("-100"), None);
    world.owner = Some(RemoteId::new("1"));
    world.roles = vec![(RemoteId::new("1"), Role::Owner), (RemoteId::new("2"), Role::Admin)];
    let sync = |world: WorldRef| WorldSync {
        world,
        rooms: vec![RoomRef::new(RemoteId::new("-100"), None, ChannelType::Group)],
        entities: Vec::new(),
    };
    house.gateway.ensure_connections(sync(world)).await.unwrap();
    house.say(&spot, "second").await;
    house.quiet().await;
    let stored = house.store.world(house.world(&spot)).await.unwrap().unwrap();
    assert_eq!(stored.name, "World -100");
    assert_eq!(stored.metadata.ownership.unwrap().owner_id, id("1"));
    assert_eq!(stored.metadata.roles.get(&id("2")), Some(&Role::Admin));
    let mut later = WorldRef::new(RemoteId::new("-100"), Some("Renamed".into()));
    later.owner = Some(RemoteId::new("2"));
    later.roles = vec![(RemoteId::new("2"), Role::Owner), (RemoteId::new("1"), Role::None)];
    house.gateway.ensure_connections(sync(later)).await.unwrap();
    let stored = house.store.world(house.world(&spot)).await.unwrap().unwrap();
    assert_eq!(
        (stored.name.as_str(), stored.metadata.ownership.unwrap().owner_id),
        ("Renamed", id("2"))
    );
    assert_eq!(
        (stored.metadata.roles[&id("2")], stored.metadata.roles[&id("1")]),
        (Role::Owner, Role::None)
    );
}

#[tokio::test]
async fn a_sync_puts_everyone_into_every_room() {
    let house = Plan::new(echo()).build().await;
    let rooms: Vec<_> =
        ["-1", "-2", "-3"].map(|r| RoomRef::new(RemoteId::new(r), None, ChannelType::Group)).into();
    let person = |id: &str| EntityRef::new(RemoteId::new(id), Some(id.to_owned()), None);
    let sync = WorldSync {
        world: WorldRef::new(RemoteId::new("guild"), Some("Guild".into())),
        rooms,
        entities: vec![(person("7"), Vec::new()), (person("8"), vec![RemoteId::new("-2")])],
    };
    house.gateway.ensure_connections(sync).await.unwrap();
    for (room, count) in [("-1", 2), ("-2", 3), ("-3", 2)] {
        assert_eq!(
            house.store.participants(house.room(&group(room, "7"))).await.unwrap().len(),
            count,
            "{room}"
        );
    }
}

#[tokio::test]
async fn a_topic_knows_its_parent() {
    let house = Plan::new(echo()).build().await;
    let spot = group("-100-42", "7");
    let mut connection = spot.connection();
    connection.world.remote = RemoteId::new("-100");
    connection.room.parent = Some(RemoteId::new("-100"));
    house.gateway.ensure_connection(&connection).await.unwrap();
    // A later event without a parent keeps it.
    connection.room.parent = None;
    house.gateway.ensure_connection(&connection).await.unwrap();
    let room = house.store.room(house.room(&spot)).await.unwrap().unwrap();
    assert_eq!(room.parent_id, Some(house.room(&group("-100", "7"))));
}

#[tokio::test]
async fn the_same_batch_twice_gives_one_answer() {
    let house = Plan::new(echo()).build().await;
    let spot = dm("7");
    let batch = vec![house.message(&spot, "a"), house.message(&spot, "b")];
    let id = house.id_of(&batch[0]);
    let first = house.receive(batch.clone()).await;
    assert_eq!((first.stored, first.duplicates), (2, 0));
    let again = house.receive(batch.clone()).await;
    assert_eq!((again.stored, again.duplicates), (0, 2));
    house.quiet().await;
    let answers = house.platform.attempts();
    let late = house.receive(batch).await;
    assert_eq!((late.stored, late.duplicates), (0, 2));
    house.quiet().await;
    assert_eq!(house.platform.attempts(), answers);
    assert!(house.explain(id).await.summary.starts_with("answered"));
}

#[tokio::test]
async fn a_message_that_elizaos_stored_under_its_own_id_is_known() {
    let house = Plan::new(echo()).build().await;
    let spot = dm("7");
    house.gateway.ensure_connection(&spot.connection()).await.unwrap();
    // elizaOS's form: the id is derived from the message number alone.
    let old = galatea_core::Memory {
        id: MemoryId(house.identity.swizzle("42")),
        kind: galatea_core::MemoryKind::Messages,
        agent_id: house.agent,
        entity_id: house.entity(&spot),
        room_id: house.room(&spot),
        world_id: None,
        content: Content::text("old"),
        metadata: Default::default(),
        created_at: house.clock.now(),
    };
    house.store.save_memories(&[old]).await.unwrap();
    let with_legacy = |spot: &crate::house::Spot| {
        let mut incoming = spot.message(house.clock.now(), &format!("{}-42", spot.room), "old");
        if let IncomingEvent::Message(message) = &mut incoming.event {
            message.legacy_id = Some(RemoteId::new("42"));
        }
        incoming
    };
    assert_eq!(house.receive(vec![with_legacy(&spot)]).await.duplicates, 1);
    // Another chat's message of that number is another message; elizaOS would have lost it.
    assert_eq!(house.receive(vec![with_legacy(&dm("8"))]).await.stored, 1);
    house.platform.until_shown("8", 1).await;
    house.quiet().await;
    assert!(house.platform.texts("7").is_empty());
}

#[tokio::test]
async fn an_edit_replaces_the_stored_text() {
    let house = Plan::new(echo()).build().await;
    let spot = dm("7");
    let id = house.say(&spot, "teh").await;
    house.quiet().await;
    let edit = Incoming {
        connection: spot.connection(),
        event: IncomingEvent::Edited {
            id: RemoteId::new("7-1"),
            content: Content::text("the"),
            addressed: Addressed::default(),
        },
        at: house.clock.now(),
    };
    house.gateway.receive(Batch { events: vec![edit], ..Batch::default() }).await.unwrap();
    assert_eq!(house.store.memory(id).await.unwrap().unwrap().content.text, "the");
    assert_eq!(house.platform.texts("7").len(), 1, "an edit is not a new message");
}

#[tokio::test]
async fn an_edit_that_mentions_the_agent_asks_once() {
    let house = Plan::new(echo()).build().await;
    let spot = group("-100", "7");
    let edit = |id: &str, text: &str| Incoming {
        connection: spot.connection(),
        event: IncomingEvent::Edited {
            id: RemoteId::new(id),
            content: Content::text(text),
            addressed: Addressed { mention: true, reply: false },
        },
        at: house.clock.now(),
    };
    house.say(&spot, "what is it").await;
    house.quiet().await;
    assert!(house.platform.texts("-100").is_empty(), "the message did not address the agent");
    for again in ["what is it, bot?", "what is it, bot??"] {
        house.receive(vec![edit("-100-1", again)]).await;
        house.quiet().await;
        assert_eq!(house.platform.texts("-100").len(), 1, "{again}");
    }
    assert_eq!(
        house.platform.shown()[0].reply_to.as_deref(),
        Some("-100-1"),
        "the message that was changed is quoted"
    );
    // An answered message is not answered again, and a message that arrives together with its edit
    // is answered once.
    house.say(&spot.clone().mentioning(), "and this").await;
    house.quiet().await;
    house.receive(vec![edit("-100-2", "and this, bot")]).await;
    house
        .receive(vec![
            spot.message(house.clock.now(), "-100-77", "hello"),
            edit("-100-77", "hello bot"),
            edit("-100-77", "hello bot!"),
        ])
        .await;
    house.quiet().await;
    assert_eq!(house.platform.texts("-100").len(), 3);
}

/// An edit whose original still waits for its turn: the original is decided first, and the edit
/// starts a turn only if the original was not answered.
#[tokio::test]
async fn an_edit_that_mentions_the_agent_before_the_originals_turn_is_answered_once() {
    let model = Gated::new(echo(), "wait");
    let house = Plan::new(Arc::clone(&model) as _).build().await;
    let spot = group("-100", "7");
    house.say(&spot.clone().mentioning(), "wait").await;
    model.reached(1).await;
    house.say(&spot, "what is it").await;
    house.say(&spot, "Eliza, and that").await;
    for (id, text) in [("-100-2", "what is it, bot"), ("-100-3", "Eliza, and that, bot")] {
        let event = IncomingEvent::Edited {
            id: RemoteId::new(id),
            content: Content::text(text),
            addressed: Addressed { mention: true, reply: false },
        };
        let at = house.clock.now();
        house.receive(vec![Incoming { connection: spot.connection(), event, at }]).await;
    }
    model.open(10);
    house.quiet().await;
    let quoted: Vec<_> =
        house.platform.shown().into_iter().filter_map(|shown| shown.reply_to).collect();
    assert_eq!(quoted, ["-100-1", "-100-3", "-100-2"], "{:?}", house.platform.texts("-100"));
}
