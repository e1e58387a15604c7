//! What is SQLite's own: files, statements, groups, full disks. What every store must do is in the
//! shared suite.

mod conditions;
mod costs;
mod files;
mod groups;
mod index;
mod removal;
mod suite;
mod words;

use crate::{Database, SqliteOptions};
use galatea_core::{Account, Cursor, store::Ingest};
use galatea_testkit::store_suite::fixtures::{SOURCE, Scene};
use std::{path::Path, time::Duration};

/// Opens without patience for locks: only where no other store of the same file may still be
/// closing.
async fn open(path: &Path) -> galatea_core::Result<Database> {
    Database::sqlite(
        path,
        SqliteOptions { busy_timeout: Duration::from_millis(20), ..SqliteOptions::default() },
    )
    .await
}

/// A batch of `count` messages with connections and a cursor.
fn batch(scene: Scene, count: i64) -> Ingest {
    let cursor = Cursor { stream: "updates".to_owned(), position: count.to_string() };
    Ingest {
        connections: scene.connections(),
        messages: (0..count).map(|n| scene.message(&format!("message {n}"), n)).collect(),
        memories: Vec::new(),
        mutations: Vec::new(),
        cursor: Some((scene.agent, SOURCE, Account("7".to_owned()), cursor)),
        state: Vec::new(),
        fence: None,
    }
}
