//! Checkpointer: writes the log back into the main file beside the writer, so that no commit waits for it.

use sqlx::{Connection, Row, SqliteConnection, query, sqlite::SqliteConnectOptions};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};
use tokio::sync::{Mutex, Notify, mpsc};

use crate::{condition::Condition, error};

/// Pages that a change brings into the log, and a group besides, roughly: rows, indexes and what hangs on them.
const OF_CHANGE: u64 = 4;
const OF_GROUP: u64 = 8;
/// Pages (of 4 KiB) in the log after which it is written back: few enough to be done before the writer has to
/// (`wal_autocheckpoint` in [`crate::open`]), and many enough that a page that changes again and again is written once.
const ENOUGH: u64 = 2048;

/// The writer's side.
pub(crate) struct Checkpointer {
    pages: u64,
    due: Arc<Notify>,
    /// One checkpoint at a time: a second would be refused.
    pub(crate) one: Arc<Mutex<()>>,
    /// Its end is told by dropping what it listens to.
    end: Option<(mpsc::Sender<()>, tokio::task::JoinHandle<()>)>,
}

impl Checkpointer {
    /// For a file; none for a store in memory.
    pub(crate) fn start(connect: Option<SqliteConnectOptions>, condition: &Arc<Condition>, statements: &Arc<AtomicU64>) -> Self {
        let (due, one) = (Arc::new(Notify::new()), Arc::new(Mutex::new(())));
        let end = connect.map(|connect| {
            let (end, ended) = mpsc::channel(1);
            let work = Work { connect, due: Arc::clone(&due), one: Arc::clone(&one), condition: Arc::clone(condition), statements: Arc::clone(statements) };
            (end, tokio::spawn(work.run(ended)))
        });
        Self { pages: 0, due, one, end }
    }

    /// So many changes were committed in one group.
    pub(crate) fn committed(&mut self, changes: usize) {
        self.pages += OF_GROUP + OF_CHANGE * u64::try_from(changes).unwrap_or(u64::MAX / 8);
        if self.pages >= ENOUGH {
            self.pages = 0;
            self.due.notify_one();
        }
    }

    /// Waits for the one under way, and ends.
    pub(crate) async fn end(&mut self) {
        if let Some((end, task)) = self.end.take() {
            drop(end);
            let _ = task.await;
        }
    }
}

struct Work {
    connect: SqliteConnectOptions,
    due: Arc<Notify>,
    one: Arc<Mutex<()>>,
    condition: Arc<Condition>,
    statements: Arc<AtomicU64>,
}

impl Work {
    async fn run(self, mut ended: mpsc::Receiver<()>) {
        // Opened when it is first needed: most programs are quiet for long.
        let mut connection: Option<SqliteConnection> = None;
        loop {
            tokio::select! {
                _ = ended.recv() => break,
                () = self.due.notified() => {}
            }
            let _one = self.one.lock().await;
            if self.condition.check().is_err() {
                break;
            }
            if let Err(failure) = self.once(&mut connection).await {
                if error::is_sync(&failure) {
                    // What the system forgot is still in the log, which the next process reads; this one must not write over it.
                    self.condition.failed(&error::store(failure));
                    break;
                }
                tracing::debug!("the write-ahead log could not be written back: {failure}");
            }
        }
        if let Some(connection) = connection
            && let Err(failure) = connection.close().await
        {
            tracing::debug!("a connection for checkpoints did not close cleanly: {failure}");
        }
    }

    async fn once(&self, connection: &mut Option<SqliteConnection>) -> Result<(), sqlx::Error> {
        let open = match connection.take() {
            Some(open) => open,
            None => SqliteConnection::connect_with(&self.connect).await?,
        };
        let open = connection.insert(open);
        self.statements.fetch_add(1, Ordering::Relaxed);
        // Passive: it waits for nobody, and nobody waits for it.
        let row = query("PRAGMA wal_checkpoint(PASSIVE)").fetch_one(open).await?;
        let (log, back) = (row.try_get::<i64, _>(1)?, row.try_get::<i64, _>(2)?);
        tracing::trace!(log, back, "pages of the write-ahead log written back");
        Ok(())
    }
}
