//! Edits, deletions and moved Rooms are as durable as the messages and the cursor of their batch.

use galatea_core::{
    Account, Batch, Content, Cursor, Incoming, IncomingEvent, RemoteId, RoomId,
    store::{InboxStore as _, MemoryStore as _, RoomStore as _},
};
use galatea_store::{Database, SqliteOptions};
use sqlx::{Connection as _, Executor as _, SqliteConnection, sqlite::SqliteConnectOptions};
use std::sync::Arc;

use crate::{
    house::{House, Plan, Spot, dm, group},
    models::{Gated, echo},
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

/// An edit of this message.
pub(crate) fn edit(house: &House, spot: &Spot, id: &str, text: &str) -> Incoming {
    Incoming {
        connection: spot.connection(),
        event: IncomingEvent::Edited {
            id: RemoteId::new(id),
            content: Content::text(text),
            addressed: Default::default(),
        },
        at: house.clock.now(),
    }
}

/// The words of a message change while the model thinks: the new ones are answered, once.
#[tokio::test]
async fn an_edit_while_the_answer_is_made_is_what_is_answered() {
    for spot in [dm("7"), group("7", "7").mentioning()] {
        let model = Gated::new(echo(), "old words");
        let house = Plan::new(Arc::clone(&model) as _).build().await;
        let id = house.say(&spot, "old words").await;
        model.reached(1).await;
        house.receive(vec![edit(&house, &spot, "7-1", "new words")]).await;
        let shown = house.platform.until_shown("7", 1).await;
        assert_eq!(shown, ["re: new words"], "{spot:?}");
        model.open(2);
        house.quiet().await;
        assert_eq!(house.platform.texts("7").len(), 1, "{spot:?}");
        let steps = house.explain(id).await.steps;
        assert!(steps.iter().any(|step| step.rule == "edit"), "{steps:?}");
    }
}

/// Platforms report previews of links and the like as edits.
#[tokio::test]
async fn an_edit_that_changes_no_word_or_another_message_begins_nothing_again() {
    let model = Gated::new(echo(), "slowly");
    let house = Plan::new(Arc::clone(&model) as _).build().await;
    house.say(&dm("7"), "earlier").await;
    house.platform.until_shown("7", 1).await;
    house.quiet().await;
    house.say(&dm("7"), "slowly").await;
    model.reached(1).await;
    house
        .receive(vec![
            edit(&house, &dm("7"), "7-2", "slowly"),
            edit(&house, &dm("7"), "7-1", "corrected"),
        ])
        .await;
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
    model.open(1);
    assert_eq!(house.platform.until_shown("7", 2).await[1], "re: slowly");
    house.quiet().await;
    house.receive(vec![edit(&house, &dm("7"), "7-2", "too late")]).await;
    house.quiet().await;
    assert_eq!(house.platform.texts("7").len(), 2, "an answered message is not answered again");
}

/// A person who never stops editing is answered all the same, with a bounded number of calls.
#[tokio::test]
async fn of_many_edits_two_begin_the_answer_again() {
    let model = Gated::new(echo(), "words");
    let house = Plan::new(Arc::clone(&model) as _).build().await;
    house.say(&dm("7"), "words 0").await;
    for n in 1..=2 {
        model.reached(n).await;
        house.receive(vec![edit(&house, &dm("7"), "7-1", &format!("words {n}"))]).await;
    }
    model.reached(3).await;
    house.receive(vec![edit(&house, &dm("7"), "7-1", "words 3")]).await;
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
    model.open(5);
    assert_eq!(house.platform.until_shown("7", 1).await, ["re: words 2"]);
    house.quiet().await;
    assert_eq!(house.platform.texts("7").len(), 1);
}
