//! Opening: each kind of file found there gets a clear error, and other programs' files stay
//! untouched.

use galatea_core::{
    ErrorKind, Retry,
    store::{AgentStore, InboxStore, MemoryQuery, MemoryStore, RoomStore},
};
use galatea_testkit::store_suite::fixtures::{SOURCE, Scene, account, set_participant_state};
use sqlx::{Connection, Executor, SqliteConnection, query_scalar, sqlite::SqliteConnectOptions};
use std::{fs, path::Path};

use super::{batch, open};
use crate::{Database, Durability, SqliteOptions, dialect::Statement, sqlite::MIGRATIONS};

async fn raw(path: &Path) -> SqliteConnection {
    SqliteConnection::connect_with(
        &SqliteConnectOptions::new().filename(path).create_if_missing(true),
    )
    .await
    .unwrap()
}

#[tokio::test]
async fn everything_is_there_after_reopening() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made/for/it/galatea.db");
    let scene = Scene::new();
    let message = scene.message("hello", 1);
    let record = scene.turn(&[&message]);
    {
        let store = open(&path).await.unwrap();
        store.ingest(batch(scene, 3)).await.unwrap();
        store.ingest(Scene::batch(std::slice::from_ref(&message))).await.unwrap();
        store.finish_turn(record.clone()).await.unwrap();
        let state = Some(galatea_core::ParticipantState::Muted);
        set_participant_state(&store, scene.agent, scene.room, scene.itself(), state).await;
        // Dropped, not closed: as after a crash.
    }
    for _ in 0..2 {
        let store = Database::sqlite(&path, SqliteOptions::default()).await.unwrap();
        assert_eq!(store.unfinished(scene.agent, &SOURCE, &account(), 10).await.unwrap().len(), 3);
        assert_eq!(
            store.inbox_item(message.memory.id).await.unwrap().unwrap().turn,
            Some(record.turn)
        );
        assert_eq!(
            store
                .cursor(scene.agent, &SOURCE, &account(), "updates")
                .await
                .unwrap()
                .unwrap()
                .position,
            "3"
        );
        assert_eq!(
            store.participant_state(scene.room, scene.itself()).await.unwrap(),
            Some(galatea_core::ParticipantState::Muted)
        );
        assert_eq!(store.memories(&MemoryQuery::new(scene.agent, 9)).await.unwrap().len(), 5);
        store.close().await;
        store.close().await;
        let late = store.ingest(batch(scene, 1)).await.unwrap_err();
        assert_eq!((late.kind(), late.retry()), (ErrorKind::Unavailable, Retry::Never));
        assert_eq!(store.agents().await.unwrap_err().kind(), ErrorKind::Unavailable);
        assert!(
            !folder.path().join("made/for/it/galatea.db-wal").exists(),
            "closing leaves one file"
        );
    }
}

#[tokio::test]
async fn options_reach_the_connections() {
    let folder = tempfile::tempdir().unwrap();
    for (durability, expected) in [(Durability::Full, 2), (Durability::Normal, 1)] {
        let path = folder.path().join(format!("{expected}.db"));
        let store =
            Database::sqlite(&path, SqliteOptions { durability, ..SqliteOptions::default() })
                .await
                .unwrap();
        for (pragma, expected) in [
            ("synchronous", expected),
            ("foreign_keys", 1),
            ("secure_delete", 1),
            ("query_only", 1),
        ] {
            let (value,): (i64,) = store
                .fetch_one(Statement::for_sqlite(format!("PRAGMA {pragma}"), Vec::new()))
                .await
                .unwrap()
                .unwrap();
            assert_eq!(value, expected, "{pragma}");
        }
        let (mode,): (String,) = store
            .fetch_one(Statement::for_sqlite("PRAGMA journal_mode".to_owned(), Vec::new()))
            .await
            .unwrap()
            .unwrap();
        assert_eq!(mode, "wal");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_may_read_the_files() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("galatea.db")).await.unwrap();
    store.ingest(batch(Scene::new(), 1)).await.unwrap();
    let mut seen = Vec::new();
    for entry in fs::read_dir(folder.path()).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{entry:?}");
        seen.push(entry.file_name());
    }
    assert!(seen.iter().any(|name| name == "galatea.db-wal"), "{seen:?}");
}

#[tokio::test]
async fn a_place_that_cannot_be_written_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "x").unwrap();
    for path in [folder.path().join("file/galatea.db"), folder.path().to_owned()] {
        let error = open(&path).await.unwrap_err();
        assert_eq!(
            (error.code(), error.kind(), error.retry()),
            (Some("GAL-DB-OPEN"), ErrorKind::Unavailable, Retry::Never),
            "{error}"
        );
        assert!(
            error.fix().is_some() && error.to_string().contains(&path.display().to_string()),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_damaged_file_is_reported_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let garbage = folder.path().join("garbage.db");
    fs::write(&garbage, "no database at all, ".repeat(500)).unwrap();
    let damaged = folder.path().join("damaged.db");
    open(&damaged).await.unwrap().close().await;
    let mut bytes = fs::read(&damaged).unwrap();
    bytes[100..].fill(0xa5);
    fs::write(&damaged, &bytes).unwrap();
    for path in [garbage, damaged] {
        let before = fs::read(&path).unwrap();
        let error = open(&path).await.unwrap_err();
        assert_eq!(error.code(), Some("GAL-DB-CORRUPT"), "{}", error.report());
        assert!(error.fix().is_some());
        assert_eq!(fs::read(&path).unwrap(), before);
    }
}

#[tokio::test]
async fn another_programs_database_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.db");
    let mut other = raw(&path).await;
    other.execute("CREATE TABLE memories (text TEXT)").await.unwrap();
    other.close().await.unwrap();
    let before = fs::read(&path).unwrap();
    let error = open(&path).await.unwrap_err();
    assert_eq!(
        (error.code(), error.kind()),
        (Some("GAL-DB-OPEN"), ErrorKind::Invalid),
        "{}",
        error.report()
    );
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn a_newer_database_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("galatea.db");
    open(&path).await.unwrap().close().await;
    let mut other = raw(&path).await;
    other
        .execute("INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) VALUES (9999, 'later', true, x'00', 0)")
        .await
        .unwrap();
    other.close().await.unwrap();
    let error = open(&path).await.unwrap_err();
    assert_eq!(
        (error.code(), error.kind()),
        (Some("GAL-DB-NEWER"), ErrorKind::Unsupported),
        "{}",
        error.report()
    );
    assert!(error.fix().is_some());
}

/// The tables of a version before 0.1, in which the first migration had another name.
#[tokio::test]
async fn an_earlier_database_is_refused_with_the_commands_that_move_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("galatea.db");
    open(&path).await.unwrap().close().await;
    let mut other = raw(&path).await;
    other
        .execute(
            "UPDATE _sqlx_migrations SET description = 'init', checksum = x'00'; \
             INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) VALUES (24, 'deleted', true, x'00', 0)",
        )
        .await
        .unwrap();
    other.close().await.unwrap();
    let before = fs::read(&path).unwrap();
    let error = open(&path).await.unwrap_err();
    let expected = (Some("GAL-DB-EARLIER"), ErrorKind::Unsupported);
    assert_eq!((error.code(), error.kind()), expected, "{}", error.report());
    let fix = error.fix().unwrap();
    assert!(["galatea memory export", "galatea memory import"].iter().all(|c| fix.contains(c)));
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn migrations_run_once_and_an_edited_one_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("galatea.db");
    for _ in 0..3 {
        open(&path).await.unwrap().close().await;
    }
    let mut other = raw(&path).await;
    let count: i64 =
        query_scalar("SELECT count(*) FROM _sqlx_migrations").fetch_one(&mut other).await.unwrap();
    assert_eq!(count, i64::try_from(MIGRATIONS.iter().count()).unwrap());
    other.execute("UPDATE _sqlx_migrations SET checksum = x'00' WHERE version = 1").await.unwrap();
    other.close().await.unwrap();
    assert_eq!(open(&path).await.unwrap_err().code(), Some("GAL-DB-CORRUPT"));
}

#[tokio::test]
async fn a_lock_of_another_process_is_reported_and_waited_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("galatea.db");
    let store = open(&path).await.unwrap();
    let mut other = raw(&path).await;
    other.execute("BEGIN IMMEDIATE").await.unwrap();
    let error = open(&path).await.unwrap_err();
    assert_eq!(
        (error.code(), error.fix().is_some()),
        (Some("GAL-DB-LOCKED"), true),
        "{}",
        error.report()
    );
    let scene = Scene::new();
    let refused = store.ingest(batch(scene, 2)).await.unwrap_err();
    assert_eq!(
        (refused.code(), refused.kind(), refused.retry()),
        (Some("GAL-DB-LOCKED"), ErrorKind::Unavailable, Retry::Soon)
    );
    other.execute("ROLLBACK").await.unwrap();
    store.ingest(batch(scene, 2)).await.unwrap();
    assert_eq!(store.count_memories(&MemoryQuery::new(scene.agent, 0)).await.unwrap(), 2);
}

/// What is written to a file without a name is never read again.
#[cfg(unix)]
#[tokio::test]
async fn a_file_that_was_removed_takes_nothing_more() {
    let folder = tempfile::tempdir().unwrap();
    let (path, aside) = (folder.path().join("galatea.db"), folder.path().join("aside"));
    let scene = Scene::new();
    let store = open(&path).await.unwrap();
    store.ingest(batch(scene, 1)).await.unwrap();
    fs::rename(&path, &aside).unwrap();
    assert_eq!(
        store.trouble().and_then(|trouble| trouble.code()),
        Some("GAL-DB-GONE"),
        "seen before anything is written"
    );
    let refused = store.ingest(batch(Scene::new(), 2)).await.unwrap_err();
    assert_eq!((refused.kind(), refused.code()), (ErrorKind::Unavailable, Some("GAL-DB-GONE")));
    fs::copy(&aside, &path).unwrap();
    assert_eq!(
        store.ingest(batch(Scene::new(), 3)).await.unwrap_err().code(),
        Some("GAL-DB-GONE"),
        "a copy is another file"
    );
    fs::rename(&aside, &path).unwrap();
    store.ingest(batch(Scene::new(), 4)).await.unwrap();
    assert!(store.trouble().is_none());
    fs::remove_file(folder.path().join("galatea.db-wal")).unwrap();
    assert_eq!(
        store.ingest(batch(Scene::new(), 5)).await.unwrap_err().code(),
        Some("GAL-DB-GONE"),
        "what was stored last is in the log"
    );
}
