//! Transaction T1: messages are stored once and in order, in one commit with connections and
//! cursor.

use galatea_core::{
    Account, Addressed, Command, Content, Cursor, EntityId, Memory, MemoryId, RemoteId, RoomId,
    Source, Store, Timestamp,
    store::{ConnectionChange, ConnectorState, Envelope, InboxEntry, InboxState, Ingest, Mutation},
};
use std::sync::Arc;

use super::fixtures::{SOURCE, Scene, account};

async fn unfinished_ids(store: &Arc<dyn Store>, scene: Scene, limit: u32) -> Vec<MemoryId> {
    store
        .unfinished(scene.agent, &SOURCE, &account(), limit)
        .await
        .unwrap()
        .into_iter()
        .map(|i| i.entry.memory.id)
        .collect()
}

/// Accounts with messages that wait, of all agents, each once.
pub async fn accounts_with_waiting_messages_are_told(store: Arc<dyn Store>) {
    assert_eq!(store.waiting_accounts().await.unwrap(), []);
    let scene = Scene::new();
    let messages = [scene.message("one", 1), scene.message("two", 2)];
    store.ingest(Scene::batch(&messages)).await.unwrap();
    let told = (scene.agent, SOURCE, account());
    assert_eq!(store.waiting_accounts().await.unwrap(), std::slice::from_ref(&told));
    store.finish_turn(scene.turn(&[&messages[0]])).await.unwrap();
    assert_eq!(store.waiting_accounts().await.unwrap(), [told]);
    store.finish_turn(scene.turn(&[&messages[1]])).await.unwrap();
    assert_eq!(store.waiting_accounts().await.unwrap(), []);
}

/// Storing a message again changes nothing.
pub async fn a_message_is_stored_once(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let message = scene.message("hello", 1);
    assert_eq!(
        store.ingest(Scene::batch(std::slice::from_ref(&message))).await.unwrap().new,
        [true]
    );
    let mut again = message.clone();
    again.memory.content.text = "changed".to_owned();
    assert_eq!(
        store.ingest(Scene::batch(&[again, scene.message("next", 2)])).await.unwrap().new,
        [false, true]
    );
    assert_eq!(store.memory(message.memory.id).await.unwrap(), Some(message.memory));
    assert_eq!(unfinished_ids(&store, scene, 10).await.len(), 2);
}

/// Storing the same message from many tasks at once stores it once.
pub async fn the_same_message_from_many_tasks_is_stored_once(store: Arc<dyn Store>) {
    let message = Scene::new().message("hello", 1);
    let tasks: Vec<_> = (0..20)
        .map(|_| {
            let (store, message) = (Arc::clone(&store), message.clone());
            tokio::spawn(async move { store.ingest(Scene::batch(&[message])).await })
        })
        .collect();
    let mut stored = 0;
    for task in tasks {
        stored += task.await.unwrap().unwrap().new.into_iter().filter(|new| *new).count();
    }
    assert_eq!(stored, 1);
}

/// An imported message has elizaOS's id. The same legacy id in another room or of another agent is
/// a different message.
pub async fn a_legacy_id_in_the_same_room_is_the_same_message(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let imported = scene.memory("imported", 1);
    store.save_memories(std::slice::from_ref(&imported)).await.unwrap();
    let as_legacy =
        |scene: Scene| InboxEntry { legacy_id: Some(imported.id), ..scene.message("again", 2) };
    let same = as_legacy(scene);
    let stranger = Scene { room: scene.room, ..Scene::new() };
    let unknown = InboxEntry { legacy_id: Some(MemoryId::fresh()), ..scene.message("new", 3) };
    let batch = [same.clone(), as_legacy(scene.other_room()), as_legacy(stranger), unknown];
    assert_eq!(store.ingest(Scene::batch(&batch)).await.unwrap().new, [false, true, true, true]);
    assert_eq!(store.memory(same.memory.id).await.unwrap(), None);
    assert_eq!(store.inbox_item(same.memory.id).await.unwrap(), None);
}

/// Duplicates are recognised by id and by legacy id, also within one batch.
pub async fn duplicates_within_a_batch_are_seen(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let first = scene.message("one", 1);
    let legacy =
        InboxEntry { legacy_id: Some(first.memory.id), ..scene.message("one under its new id", 1) };
    let batch = [first.clone(), first.clone(), legacy, scene.message("two", 2)];
    assert_eq!(store.ingest(Scene::batch(&batch)).await.unwrap().new, [true, false, false, true]);
    assert_eq!(unfinished_ids(&store, scene, 10).await.len(), 2);
}

/// A batch of a thousand messages keeps its order.
pub async fn a_batch_of_a_thousand_keeps_its_order(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let batch: Vec<_> = (0..1_000).map(|n| scene.message(&format!("message {n}"), n)).collect();
    let new = store.ingest(Scene::batch(&batch)).await.unwrap().new;
    assert_eq!(new.iter().filter(|new| **new).count(), 1_000);
    let expected: Vec<_> = batch.iter().map(|m| m.memory.id).collect();
    assert_eq!(unfinished_ids(&store, scene, 2_000).await, expected);
}

/// Turns follow the order of commit; the platform's timestamps do not affect it.
pub async fn the_order_is_that_of_commit(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let messages =
        [scene.message("late", 300), scene.message("early", 100), scene.message("middle", 200)];
    for message in &messages {
        store.ingest(Scene::batch(std::slice::from_ref(message))).await.unwrap();
    }
    assert_eq!(unfinished_ids(&store, scene, 10).await, messages.map(|m| m.memory.id));
}

/// Connections, memories and the cursor of a batch are stored in its commit.
pub async fn connections_memories_and_cursor_are_in_the_same_commit(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let joined = scene.memory("joined", 1);
    let cursor = Cursor { stream: "updates".to_owned(), position: "5".to_owned() };
    let ingest = Ingest {
        connections: scene.connections(),
        messages: vec![scene.message("hello", 2)],
        memories: vec![joined.clone()],
        mutations: Vec::new(),
        cursor: Some((scene.agent, SOURCE, account(), cursor.clone())),
        state: Vec::new(),
        fence: None,
    };
    assert_eq!(store.ingest(ingest).await.unwrap().new, [true]);
    assert!(store.room(scene.room).await.unwrap().is_some());
    assert_eq!(store.participants(scene.room).await.unwrap().len(), 2);
    assert_eq!(store.memory(joined.id).await.unwrap(), Some(joined.clone()));
    assert_eq!(
        store.inbox_item(joined.id).await.unwrap(),
        None,
        "a memory without an inbox entry starts no turn"
    );
    assert_eq!(
        store.cursor(scene.agent, &SOURCE, &account(), "updates").await.unwrap(),
        Some(cursor)
    );
}

/// Edits, deletions, joins, leaves and moved Rooms are stored in the commit of the messages and the
/// cursor.
pub async fn mutations_are_in_the_same_commit(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let known = [scene.message("typo", 1), scene.message("secret", 2)];
    let edited = Box::new(Content::text("corrected"));
    let (guest, to_room, to_remote) = (EntityId::fresh(), RoomId::fresh(), RemoteId::new(-100));
    store
        .ingest(Ingest { connections: scene.connections(), ..Scene::batch(&known) })
        .await
        .unwrap();
    let join = ConnectionChange {
        entities: vec![scene.entity_change(guest, &["Guest"])],
        participants: vec![(guest, scene.room)],
        ..ConnectionChange::default()
    };
    let delete = |memories| Mutation::Delete { agent: scene.agent, memories };
    let cursor = Cursor { stream: "updates".to_owned(), position: "9".to_owned() };
    let (said, gone) = (scene.message("hello", 3), scene.message("taken back at once", 4));
    let ingest = Ingest {
        messages: vec![said.clone(), gone.clone()],
        mutations: vec![
            Mutation::Edit {
                agent: scene.agent,
                memory: known[0].memory.id,
                content: edited.clone(),
            },
            Mutation::Edit {
                agent: scene.agent,
                memory: MemoryId::fresh(),
                content: edited.clone(),
            },
            delete(vec![known[1].memory.id, gone.memory.id]),
            delete(vec![MemoryId::fresh()]),
            Mutation::Join(join),
            Mutation::Leave { room: scene.room, entities: vec![scene.person] },
            Mutation::MoveRoom { room: scene.room, to_room, to_remote: to_remote.clone() },
        ],
        cursor: Some((scene.agent, SOURCE, account(), cursor.clone())),
        ..Ingest::default()
    };
    let ingested = store.ingest(ingest).await.unwrap();
    assert_eq!(ingested.new, [true, true]);
    assert_eq!(ingested.changed, [true, false, true, false, true, true, true]);
    let text = |memory: Option<Memory>| memory.map(|memory| memory.content.text);
    let read = async |id| text(store.memory(id).await.unwrap());
    assert_eq!(read(known[0].memory.id).await.as_deref(), Some("corrected"));
    assert_eq!(read(said.memory.id).await.as_deref(), Some("hello"));
    for deleted in [known[1].memory.id, gone.memory.id] {
        assert_eq!(read(deleted).await, None);
        assert_eq!(store.inbox_item(deleted).await.unwrap().unwrap().state, InboxState::Skipped);
    }
    assert_eq!(store.room(scene.room).await.unwrap(), None);
    assert_eq!(store.room(to_room).await.unwrap().unwrap().remote, to_remote);
    let present: Vec<_> = store.participants(to_room).await.unwrap();
    assert!(present.iter().any(|p| p.entity_id == guest), "{present:?}");
    assert!(present.iter().all(|p| p.entity_id != scene.person), "{present:?}");
    assert_eq!(store.unfinished_in_room(to_room, 10).await.unwrap().len(), 2);
    let stored = store.cursor(scene.agent, &SOURCE, &account(), "updates").await.unwrap();
    assert_eq!(stored, Some(cursor));
}

/// Every batch stores its cursor, also when all its messages are known. Streams, accounts and
/// agents have cursors of their own.
pub async fn the_cursor_follows_its_batches(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let message = scene.message("hello", 1);
    let cursor = |stream: &str, position: u32| Cursor {
        stream: stream.to_owned(),
        position: position.to_string(),
    };
    for position in 1..=5 {
        let ingest = Ingest {
            messages: vec![message.clone()],
            cursor: Some((scene.agent, SOURCE, account(), cursor("updates", position))),
            ..Ingest::default()
        };
        assert_eq!(store.ingest(ingest).await.unwrap().new, [position == 1]);
        assert_eq!(
            store.cursor(scene.agent, &SOURCE, &account(), "updates").await.unwrap(),
            Some(cursor("updates", position))
        );
    }
    let only = Ingest {
        cursor: Some((scene.agent, SOURCE, account(), cursor("mentions", 9))),
        ..Ingest::default()
    };
    store.ingest(only).await.unwrap();
    assert_eq!(
        store.cursor(scene.agent, &SOURCE, &account(), "updates").await.unwrap(),
        Some(cursor("updates", 5))
    );
    assert_eq!(
        store.cursor(scene.agent, &SOURCE, &account(), "mentions").await.unwrap(),
        Some(cursor("mentions", 9))
    );
    assert_eq!(
        store.cursor(Scene::new().agent, &SOURCE, &account(), "updates").await.unwrap(),
        None
    );
    assert_eq!(
        store.cursor(scene.agent, &SOURCE, &Account("8".to_owned()), "updates").await.unwrap(),
        None
    );
}

/// Unfinished messages are listed for one account or one room only, up to the limit.
pub async fn unfinished_is_scoped_and_limited(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let elsewhere = scene.other_room();
    let mine = [scene.message("a", 1), elsewhere.message("b", 2), scene.message("c", 3)];
    let other_login =
        InboxEntry { account: Account("8".to_owned()), ..scene.other_room().message("d", 4) };
    let other_platform =
        InboxEntry { source: Source::new("other"), ..scene.other_room().message("e", 5) };
    let stranger = Scene::new().message("f", 6);
    let mut batch = mine.to_vec();
    batch.extend([other_login, other_platform, stranger]);
    store.ingest(Scene::batch(&batch)).await.unwrap();
    let [a, b, c] = mine.map(|m| m.memory.id);
    assert_eq!(unfinished_ids(&store, scene, 10).await, [a, b, c]);
    assert_eq!(unfinished_ids(&store, scene, 2).await, [a, b]);
    let in_room = |scene: Scene, limit| {
        let store = Arc::clone(&store);
        async move {
            store
                .unfinished_in_room(scene.room, limit)
                .await
                .unwrap()
                .into_iter()
                .map(|i| i.entry.memory.id)
                .collect::<Vec<_>>()
        }
    };
    assert_eq!(in_room(scene, 10).await, [a, c]);
    assert_eq!(in_room(scene, 1).await, [a]);
    assert_eq!(in_room(elsewhere, 10).await, [b]);
}

/// Beginning a turn counts an attempt only for messages in state `new`.
pub async fn begun_turns_are_counted(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let messages = [scene.message("a", 1), scene.message("b", 2)];
    store.ingest(Scene::batch(&messages)).await.unwrap();
    let [a, b] = messages.each_ref().map(|m| m.memory.id);
    store.begin_turn(&[a, b]).await.unwrap();
    store.begin_turn(&[a]).await.unwrap();
    store.finish_turn(scene.turn(&[&messages[0]])).await.unwrap();
    store.begin_turn(&[a]).await.unwrap();
    assert_eq!(store.inbox_item(a).await.unwrap().unwrap().attempts, 2);
    assert_eq!(store.inbox_item(b).await.unwrap().unwrap().attempts, 1);
}

/// Messages are found by platform id, with or without the room's, newest first; `explain` uses
/// this.
pub async fn rows_are_found_by_platform_ids(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let elsewhere = scene.other_room();
    let with =
        |scene: Scene, at| InboxEntry { remote: RemoteId::new(42), ..scene.message("hello", at) };
    let (first, second) = (with(scene, 9), with(elsewhere, 1));
    let foreign = InboxEntry { source: Source::new("other"), ..with(scene, 3) };
    store.ingest(Scene::batch(&[first.clone(), second.clone(), foreign])).await.unwrap();
    let find = |room: Option<RemoteId>, message: i64| {
        let store = Arc::clone(&store);
        async move {
            let rows = store
                .inbox_by_remote(&SOURCE, room.as_ref(), &RemoteId::new(message))
                .await
                .unwrap();
            rows.into_iter().map(|i| i.entry.memory.id).collect::<Vec<_>>()
        }
    };
    assert_eq!(find(None, 42).await, [second.memory.id, first.memory.id]);
    assert_eq!(find(Some(scene.room_remote()), 42).await, [first.memory.id]);
    assert_eq!(find(Some(RemoteId::new("nowhere")), 42).await, []);
    assert_eq!(find(None, 43).await, []);
}

/// Every field of an inbox entry is read back, so that a restart makes the same decision.
pub async fn everything_of_an_entry_is_read_back(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let entry = InboxEntry {
        legacy_id: Some(MemoryId::fresh()),
        envelope: Envelope {
            addressed: Addressed { mention: true, reply: true },
            from_bot: true,
            from_self: false,
            command: Some(Command { name: "mute".to_owned(), args: "for \"ever\"".to_owned() }),
            pressed: Some("yes".to_owned()),
            entity_remote: Some(RemoteId::new(5)),
            user_name: Some("pyg".to_owned()),
            reply_to: Some(RemoteId::new(6)),
            awaited: true,
            edit_of: Some(MemoryId::fresh()),
        },
        ..scene.message("hello", 1)
    };
    store.ingest(Scene::batch(std::slice::from_ref(&entry))).await.unwrap();
    let item = store.inbox_item(entry.memory.id).await.unwrap().unwrap();
    assert_eq!(item.entry, entry);
    assert_eq!(
        (item.state, item.attempts, item.turn, item.verdict, item.finished_at),
        (InboxState::New, 0, None, None, None)
    );
    assert!(item.received_at > Timestamp(0), "the time comes from the store's own clock");
    assert_eq!(store.inbox_item(MemoryId::fresh()).await.unwrap(), None);
}

/// A message deleted before its turn is not answered, its text is removed, and a repeated delivery
/// does not count as new.
pub async fn a_deleted_message_is_not_answered_and_not_new_again(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let mut message = scene.message("/say secret", 1);
    message.envelope.command = Some(Command { name: "say".to_owned(), args: "secret".to_owned() });
    let id = message.memory.id;
    store.ingest(Scene::batch(std::slice::from_ref(&message))).await.unwrap();
    assert_eq!(store.delete_memories(scene.agent, &[id]).await.unwrap(), 1);
    assert_eq!(unfinished_ids(&store, scene, 10).await, []);
    let item = store.inbox_item(id).await.unwrap().unwrap();
    assert_eq!(item.state, InboxState::Skipped);
    assert!(item.finished_at.is_some());
    assert_eq!(item.verdict.unwrap().steps[0].rule, "deleted");
    assert_eq!((item.entry.memory.content.text.as_str(), item.entry.envelope.command), ("", None));
    assert_eq!(store.ingest(Scene::batch(&[message])).await.unwrap().new, [false]);
    assert_eq!(store.memory(id).await.unwrap(), None);
}

/// A connector's state is stored in the commit of its batch or not at all; each account has its
/// own.
pub async fn connector_state_is_in_the_same_commit(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let state = |key: &str, value| ConnectorState {
        agent: scene.agent,
        source: SOURCE,
        account: account(),
        key: key.to_owned(),
        value,
    };
    let message = scene.message("hello", 1);
    let cursor = Cursor { stream: "updates".to_owned(), position: "5".to_owned() };
    let value = serde_json::json!({"spent": 3, "said": "a\u{0}b"});
    let batch = Ingest {
        cursor: Some((scene.agent, SOURCE, account(), cursor.clone())),
        state: vec![state("spent", value.clone()), state("gone", 1.into())],
        ..Scene::batch(std::slice::from_ref(&message))
    };
    assert_eq!(store.ingest(batch).await.unwrap().new, [true]);
    let read = async |key: &str, account: &str| {
        let account = Account(account.to_owned());
        store.connector_state(scene.agent, &SOURCE, &account, key).await.unwrap()
    };
    let own = account().0;
    assert_eq!(read("spent", &own).await, Some(value));
    let stored = store.cursor(scene.agent, &SOURCE, &account(), "updates").await.unwrap();
    assert_eq!(stored, Some(cursor));
    let later = vec![state("spent", 4.into()), state("gone", serde_json::Value::Null)];
    store.ingest(Ingest { state: later, ..Ingest::default() }).await.unwrap();
    assert_eq!(read("spent", &own).await, Some(4.into()), "the last value counts");
    assert_eq!(read("gone", &own).await, None, "null removes the key");
    assert_eq!(read("spent", "another").await, None, "each account has its own");
}
