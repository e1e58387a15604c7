//! Edits, deletions and moved Rooms are as durable as the messages and the cursor of their batch.

use galatea_core::{
    Account, Batch, Content, Cursor, Incoming, IncomingEvent, RemoteId, RoomId,
    store::{InboxStore as _, MemoryStore as _, RoomStore as _},
};
use galatea_store::{Database, SqliteOptions};
use sqlx::{Connection as _, Executor as _, SqliteConnection, sqlite::SqliteConnectOptions};

use crate::{
    house::{Plan, dm},
    models::echo,
    platform::SOURCE,
};

/// A database that fails to store a change refuses the whole batch; the platform keeps its events
/// and delivers them again.
#[tokio::test]
async fn a_batch_moves_no_cursor_past_a_change_that_was_not_stored() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("galatea.db");
    let store = Database::sqlite(&path, SqliteOptions::default()).await.unwrap();
    let house = Plan::new(echo()).store(&store).build().await;
    let (typo, secret) =
        (house.say(&dm("7"), "a typo").await, house.say(&dm("7"), "a secret").await);
    house.quiet().await;
    let event = |event| Incoming { connection: dm("7").connection(), event, at: house.clock.now() };
    let edited = |text: &str| IncomingEvent::Edited {
        id: RemoteId::new("7-1"),
        content: Content::text(text),
        addressed: Default::default(),
    };
    let batch = |event, position: &str| Batch {
        events: vec![event],
        cursor: Some(Cursor { stream: "updates".into(), position: position.into() }),
        ..Batch::default()
    };
    let position = async || {
        let cursor = store.cursor(house.agent, &SOURCE, &Account("1000".into()), "updates").await;
        cursor.unwrap().map(|cursor| cursor.position)
    };
    let moved = RoomId(house.identity.swizzle("8"));
    let text = async |id| store.memory(id).await.unwrap().map(|memory| memory.content.text);

    let options = SqliteConnectOptions::new().filename(&path);
    let mut beside = SqliteConnection::connect_with(&options).await.unwrap();
    for change in ["UPDATE OF content ON memories", "DELETE ON memories", "DELETE ON rooms"] {
        let name = change.split(' ').next_back().unwrap();
        let refuse = format!(
            "CREATE TRIGGER refuse_{}_{name} BEFORE {change} BEGIN SELECT RAISE(ABORT, 'no'); END",
            &change[..6]
        );
        beside.execute(sqlx::AssertSqlSafe(refuse)).await.unwrap();
    }
    let events = [
        edited("corrected"),
        IncomingEvent::Deleted { ids: vec![RemoteId::new("7-2")] },
        IncomingEvent::RoomMoved { to: RemoteId::new("8") },
    ];
    for (n, change) in events.iter().enumerate() {
        let refused =
            house.gateway.receive(batch(event(change.clone()), &n.to_string())).await.unwrap_err();
        assert_eq!(refused.code(), Some("GAL-DB-STATEMENT"), "{}", refused.report());
        assert_eq!(position().await, None, "the platform would never tell again");
    }

    for trigger in ["refuse_UPDATE_memories", "refuse_DELETE_memories", "refuse_DELETE_rooms"] {
        beside.execute(sqlx::AssertSqlSafe(format!("DROP TRIGGER {trigger}"))).await.unwrap();
    }
    for (n, change) in events.into_iter().enumerate() {
        house.gateway.receive(batch(event(change), &n.to_string())).await.unwrap();
    }
    assert_eq!(position().await.as_deref(), Some("2"));
    assert_eq!(text(typo).await.as_deref(), Some("corrected"));
    assert_eq!(text(secret).await, None);
    assert!(store.room(moved).await.unwrap().is_some());
}
