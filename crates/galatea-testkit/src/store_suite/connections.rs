//! Worlds, Rooms, entities and participants: stored once and merged field by field, in any order of
//! arrival.

use galatea_core::{
    Account, ChannelType, EntityId, ParticipantState, RemoteId, Role, RoomId, Source, Store,
    WorldId,
    store::{ConnectionChange, EntityChange, RoomChange, WorldChange},
    world::Ownership,
};
use serde_json::json;
use std::{collections::BTreeMap, sync::Arc};

use super::fixtures::{SOURCE, Scene, account, object, set_participant_state};

/// Fifty tasks that connect the same new room store it once, with two participants.
pub async fn fifty_connects_at_once_make_one_room_with_two_participants(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let tasks: Vec<_> = (0..50)
        .map(|_| {
            let store = Arc::clone(&store);
            tokio::spawn(async move { store.connect(scene.connections()).await })
        })
        .collect();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    assert_eq!(store.participants(scene.room).await.unwrap().len(), 2);
    assert_eq!(store.rooms(scene.world).await.unwrap().len(), 1);
    assert_eq!(store.worlds(scene.agent).await.unwrap().len(), 1);
    let entities = store.entities_in_room(scene.room).await.unwrap();
    assert_eq!(entities.len(), 2);
    assert_eq!(entities.iter().find(|e| e.id == scene.person).unwrap().names, ["Pygmalion"]);
}

/// People who take part in several Rooms of the World are listed once, people of another World not.
pub async fn people_of_a_world_are_listed_once(store: Arc<dyn Store>) {
    let (scene, elsewhere) = (Scene::new(), Scene::new());
    let beside = scene.other_room();
    let newcomer = EntityId::fresh();
    store.connect(scene.connections()).await.unwrap();
    store.connect(elsewhere.connections()).await.unwrap();
    let mut more = beside.connections();
    more.entities.push(scene.entity_change(newcomer, &["Cleo"]));
    more.participants.push((newcomer, beside.room));
    store.connect(more).await.unwrap();
    let mut expected = vec![scene.itself(), scene.person, newcomer];
    expected.sort();
    let found = store.entities_in_world(scene.world, 10).await.unwrap();
    assert_eq!(found.iter().map(|entity| entity.id).collect::<Vec<_>>(), expected);
    assert!(found.iter().any(|entity| entity.id == newcomer && entity.names == ["Cleo"]));
    assert_eq!(store.entities_in_world(scene.world, 2).await.unwrap().len(), 2);
}

/// The platform's id serves as the name until an event carries one; an event without a name keeps
/// the stored name.
pub async fn names_told_replace_and_names_missing_keep(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let named = |name: Option<&str>| ConnectionChange {
        worlds: vec![WorldChange { name: name.map(str::to_owned), ..scene.world_change() }],
        rooms: vec![RoomChange { name: name.map(str::to_owned), ..scene.room_change() }],
        ..ConnectionChange::default()
    };
    let names = || async {
        (
            store.world(scene.world).await.unwrap().unwrap().name,
            store.room(scene.room).await.unwrap().unwrap().name,
        )
    };
    store.connect(named(None)).await.unwrap();
    assert_eq!(names().await, ("w1".to_owned(), scene.room_remote().0));
    store.connect(named(Some("Cyprus"))).await.unwrap();
    store.connect(named(None)).await.unwrap();
    assert_eq!(names().await, ("Cyprus".to_owned(), "Cyprus".to_owned()));
    store.connect(named(Some("Paphos"))).await.unwrap();
    assert_eq!(names().await, ("Paphos".to_owned(), "Paphos".to_owned()));
}

/// Metadata is merged by key, objects one level deep. Null removes a key; deeper objects are
/// replaced.
pub async fn metadata_is_merged_one_level_deep(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let (a, b) = (scene.itself(), scene.person);
    let world = |metadata| ConnectionChange {
        worlds: vec![WorldChange { metadata: object(metadata), ..scene.world_change() }],
        ..ConnectionChange::default()
    };
    store.connect(world(json!({"roles": {a.to_string(): "OWNER"}, "ownership": {"ownerId": a}, "topic": "stone", "gone": 1}))).await.unwrap();
    store
        .connect(world(json!({"roles": {b.to_string(): "ADMIN"}, "gone": null, "new": [1, null]})))
        .await
        .unwrap();
    let metadata = store.world(scene.world).await.unwrap().unwrap().metadata;
    assert_eq!(metadata.roles, BTreeMap::from([(a, Role::Owner), (b, Role::Admin)]));
    assert_eq!(metadata.ownership, Some(Ownership { owner_id: a }));
    assert_eq!(metadata.extra, object(json!({"topic": "stone", "new": [1, null]})));

    let entity = |metadata| ConnectionChange {
        entities: vec![EntityChange {
            metadata: object(metadata),
            ..scene.entity_change(b, &["P"])
        }],
        ..ConnectionChange::default()
    };
    store
        .connect(entity(
            json!({"suite": {"id": "1", "name": "P", "deep": {"old": 1}}, "kept": true}),
        ))
        .await
        .unwrap();
    store.connect(entity(json!({"suite": {"name": "Pyg", "deep": {"new": 2}}}))).await.unwrap();
    let stored = store.entities(&[b]).await.unwrap().remove(0);
    assert_eq!(
        stored.metadata,
        object(json!({"suite": {"id": "1", "name": "Pyg", "deep": {"new": 2}}, "kept": true}))
    );

    let room = |metadata| ConnectionChange {
        rooms: vec![RoomChange { metadata: object(metadata), ..scene.room_change() }],
        ..ConnectionChange::default()
    };
    store.connect(room(json!({"threadId": 4}))).await.unwrap();
    store
        .connect(room(json!({"isForumTopic": true, "threadId": {"now": "an object"}})))
        .await
        .unwrap();
    let stored = store.room(scene.room).await.unwrap().unwrap().metadata;
    assert_eq!(stored, object(json!({"threadId": {"now": "an object"}, "isForumTopic": true})));
}

/// New names come first, known names follow, without repeats.
pub async fn newest_names_come_first_without_repeats(store: Arc<dyn Store>) {
    let scene = Scene::new();
    for names in [&["Ann", "ann1"][..], &["Anna", "ann1"], &["Ann"], &["Ann", "Ann"], &[]] {
        store
            .connect(ConnectionChange {
                entities: vec![scene.entity_change(scene.person, names)],
                ..ConnectionChange::default()
            })
            .await
            .unwrap();
    }
    assert_eq!(store.entities(&[scene.person]).await.unwrap()[0].names, ["Ann", "Anna", "ann1"]);
}

/// Rows of the past leave what is stored as it is, and add what it lacks. A person who was forgotten
/// stays without names.
pub async fn rows_of_the_past_add_what_is_missing(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let forgotten = EntityId::fresh();
    let now = || ConnectionChange {
        worlds: vec![WorldChange {
            name: Some("Cyprus".into()),
            metadata: object(
                json!({ "roles": { scene.itself().to_string(): "OWNER" }, "settings": { "tone": "calm" } }),
            ),
            ..scene.world_change()
        }],
        rooms: vec![RoomChange {
            name: Some("Atelier".into()),
            metadata: object(json!({ "topic": "stone" })),
            ..scene.room_change()
        }],
        entities: vec![
            EntityChange {
                metadata: object(json!({ "suite": { "id": "1" } })),
                ..scene.entity_change(scene.person, &["Anna", "ann1"])
            },
            scene.entity_change(forgotten, &[]),
        ],
        ..ConnectionChange::default()
    };
    let parent = Some(RoomId::fresh());
    let before = || ConnectionChange {
        worlds: vec![WorldChange {
            source: Source::new("elsewhere"),
            remote: RemoteId::new("w9"),
            name: Some("Crete".into()),
            metadata: object(
                json!({ "roles": { scene.person.to_string(): "ADMIN" }, "old": { "deep": 1 }, "username": "ann" }),
            ),
            ..scene.world_change()
        }],
        rooms: vec![RoomChange {
            world: WorldId::fresh(),
            parent,
            source: Source::new("elsewhere"),
            account: Account("default".into()),
            remote: RemoteId::new("r9"),
            kind: ChannelType::Feed,
            name: Some("Cellar".into()),
            metadata: object(
                json!({ "topic": "wood", "old": 1, "username": "ann", "continued": { "text": "and" } }),
            ),
            ..scene.room_change()
        }],
        entities: vec![
            EntityChange {
                metadata: object(json!({ "suite": { "id": "2", "name": "A" }, "old": 1 })),
                ..scene.entity_change(scene.person, &["Ann", "ann1"])
            },
            EntityChange {
                metadata: object(json!({ "suite": { "id": "3" } })),
                ..scene.entity_change(forgotten, &["Bob"])
            },
        ],
        past: true,
        ..ConnectionChange::default()
    };
    for change in [now(), before(), before()] {
        store.connect(change).await.unwrap();
    }
    let world = store.world(scene.world).await.unwrap().unwrap();
    let known = scene.world_change();
    assert_eq!(
        (world.source, world.remote, world.name.as_str()),
        (known.source, known.remote, "Cyprus")
    );
    let metadata = serde_json::to_value(&world.metadata).unwrap();
    assert_eq!(metadata["roles"], json!({ scene.itself().to_string(): "OWNER" }));
    assert_eq!(metadata["settings"], json!({ "tone": "calm" }));
    assert_eq!(metadata["old"], json!({ "deep": 1 }));
    assert_eq!(metadata.get("username"), None, "forgetting a person may have removed it");
    let room = store.room(scene.room).await.unwrap().unwrap();
    assert_eq!(
        (room.source, room.account, room.remote, room.world_id, room.kind, room.name.as_str()),
        (SOURCE, account(), scene.room_remote(), scene.world, scene.room_change().kind, "Atelier")
    );
    assert_eq!(
        (room.parent_id, room.metadata),
        (parent, object(json!({ "topic": "stone", "old": 1 }))),
        "neither a person's name nor the rest of an old answer"
    );
    let person = store.entities(&[scene.person]).await.unwrap().remove(0);
    assert_eq!(person.names, ["Anna", "ann1", "Ann"]);
    assert_eq!(person.metadata, object(json!({ "suite": { "id": "1" }, "old": 1 })));
    let person = store.entities(&[forgotten]).await.unwrap().remove(0);
    assert!(person.names.is_empty() && person.metadata.is_empty(), "{person:?}");
    // A new row is stored whole.
    let other = Scene::new();
    let mut change = before();
    (change.worlds[0].id, change.rooms[0].id) = (other.world, other.room);
    store.connect(change.clone()).await.unwrap();
    let world = store.world(other.world).await.unwrap().unwrap();
    assert_eq!((world.name.as_str(), &world.metadata.extra["username"]), ("Crete", &json!("ann")));
    let room = store.room(other.room).await.unwrap().unwrap();
    assert_eq!(room.metadata, change.rooms[0].metadata);
    // A stored row keeps it.
    store.connect(change).await.unwrap();
    assert_eq!(store.room(other.room).await.unwrap().unwrap().metadata, room.metadata);
}

/// A stored parent is kept when later events have none; kind and place follow the newest event.
pub async fn a_known_parent_is_kept(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let parent = Some(RoomId::fresh());
    for change in [
        RoomChange { parent, ..scene.room_change() },
        RoomChange { kind: galatea_core::ChannelType::Thread, ..scene.room_change() },
    ] {
        store
            .connect(ConnectionChange { rooms: vec![change], ..ConnectionChange::default() })
            .await
            .unwrap();
    }
    let room = store.room(scene.room).await.unwrap().unwrap();
    assert_eq!((room.parent_id, room.kind), (parent, galatea_core::ChannelType::Thread));
    assert_eq!(
        (room.source, room.account, room.remote, room.world_id),
        (SOURCE, account(), scene.room_remote(), scene.world)
    );
}

/// Connecting a known participant keeps its state.
pub async fn participants_are_inserted_only_if_absent(store: Arc<dyn Store>) {
    let scene = Scene::new();
    store.connect(scene.connections()).await.unwrap();
    set_participant_state(
        &*store,
        scene.agent,
        scene.room,
        scene.itself(),
        Some(ParticipantState::Muted),
    )
    .await;
    store.connect(scene.connections()).await.unwrap();
    assert_eq!(
        store.participant_state(scene.room, scene.itself()).await.unwrap(),
        Some(ParticipantState::Muted)
    );
    assert_eq!(store.participants(scene.room).await.unwrap().len(), 2);
}

/// A state is set, replaced and cleared; it inserts a missing participant.
pub async fn participant_states_are_set_and_cleared(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let state = || store.participant_state(scene.room, scene.person);
    assert_eq!(state().await.unwrap(), None);
    for wanted in [Some(ParticipantState::Followed), Some(ParticipantState::Muted), None] {
        set_participant_state(&*store, scene.agent, scene.room, scene.person, wanted).await;
        assert_eq!(state().await.unwrap(), wanted);
        assert_eq!(store.participants(scene.room).await.unwrap().len(), 1);
    }
}

/// Empty changes succeed.
pub async fn an_empty_change_is_fine(store: Arc<dyn Store>) {
    store.connect(ConnectionChange::default()).await.unwrap();
    assert_eq!(
        store.ingest(galatea_core::store::Ingest::default()).await.unwrap(),
        galatea_core::store::Ingested::default()
    );
    store.save_memories(&[]).await.unwrap();
    store.settle(Vec::new()).await.unwrap();
    store.begin_turn(&[]).await.unwrap();
}

/// Lists contain what belongs to them; unknown ids are left out.
pub async fn worlds_rooms_and_entities_are_listed(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let second = Scene { world: WorldId::fresh(), ..scene.other_room() };
    let stranger = Scene::new();
    for (place, name) in [(scene, "b"), (second, "a"), (stranger, "c")] {
        let mut change = place.connections();
        change.worlds[0].name = Some(name.to_owned());
        store.connect(change).await.unwrap();
    }
    let names: Vec<String> =
        store.worlds(scene.agent).await.unwrap().into_iter().map(|w| w.name).collect();
    assert_eq!(names, ["a", "b"], "by name, of this agent only");
    assert_eq!(
        store.rooms(second.world).await.unwrap().iter().map(|r| r.id).collect::<Vec<_>>(),
        [second.room]
    );
    assert_eq!(store.entities(&[scene.person, EntityId::fresh()]).await.unwrap().len(), 1);
    assert_eq!(store.entities(&[]).await.unwrap(), []);
    assert_eq!(store.world(WorldId::fresh()).await.unwrap(), None);
    assert_eq!(store.room(RoomId::fresh()).await.unwrap(), None);
}
