//! The one writer: takes all changes that wait, commits them as one group, then answers. Never waits for more to come.

use futures::TryStreamExt;
use galatea_core::{Error, ErrorKind, Result};
use sqlx::{Connection, Row, SqliteConnection, query};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::sync::{Mutex, mpsc, oneshot};

use crate::{
    apply::{self, APPLY, APPLY_ANSWERED},
    change::Change,
    condition::Condition,
    error,
    recent::Recent,
};

/// Changes that may wait before callers are held back.
pub(crate) const WAITING: usize = 1024;
/// Changes of one group. Measured on 2 cores: larger groups gain nothing once the disk's flush is spread over hundreds.
const GROUP: usize = 512;
/// Bytes of one group after which no further change joins.
const GROUP_BYTES: usize = 8 << 20;

/// What the writer is asked for.
pub(crate) enum Order {
    /// Carry out a change; the answer is sent after the commit.
    Apply(Change, oneshot::Sender<Result<Vec<u64>>>),
    /// Finish what came before, write everything back into the main file and close.
    Close(oneshot::Sender<()>),
}

struct Waiting {
    change: Change,
    reply: oneshot::Sender<Result<Vec<u64>>>,
}

/// The writer's state.
pub(crate) struct Writer {
    pub(crate) connection: Arc<Mutex<SqliteConnection>>,
    pub(crate) orders: mpsc::Receiver<Order>,
    pub(crate) statements: Arc<AtomicU64>,
    /// Removed text may still be in the write-ahead log.
    pub(crate) scrub: bool,
    pub(crate) condition: Arc<Condition>,
    pub(crate) recent: Arc<Recent>,
    /// Of the file, as this connection last saw it: it changes when another one writes.
    pub(crate) version: Option<i64>,
    /// With nothing to do for so long, what is held for the next change and the next turn is given back.
    pub(crate) idle: Duration,
}

impl Writer {
    /// Runs until it is told to close or all handles of the store are gone.
    pub(crate) async fn run(mut self) {
        let mut closing = None;
        while closing.is_none()
            && let Some(first) = self.next().await
        {
            let mut group = Vec::new();
            closing = collect(first, &mut group);
            if closing.is_none() {
                // Callers that the last commit woke get the chance to hand in their next change; with nobody ready this is no wait.
                tokio::task::yield_now().await;
            }
            let mut bytes: usize = group.iter().map(|w| w.change.rows.len()).sum();
            while closing.is_none()
                && group.len() < GROUP
                && bytes < GROUP_BYTES
                && let Ok(next) = self.orders.try_recv()
            {
                closing = collect(next, &mut group);
                bytes += group.last().map_or(0, |w| w.change.rows.len());
            }
            self.commit(group).await;
            if self.scrub && self.orders.is_empty() {
                self.scrub_log().await;
            }
        }
        self.orders.close();
        self.checkpoint().await;
        // A store in memory shares this connection with its readers, and goes with the last of them.
        if let Ok(connection) = Arc::try_unwrap(self.connection).map(Mutex::into_inner)
            && let Err(failure) = connection.close().await
        {
            tracing::warn!("the database did not close cleanly: {failure}");
        }
        if let Some(done) = closing {
            // Nobody waiting for the end is fine.
            let _ = done.send(());
        }
    }

    /// Waits for something to do; none when nobody is left to ask.
    async fn next(&mut self) -> Option<Order> {
        if let Ok(order) = tokio::time::timeout(self.idle, self.orders.recv()).await {
            return order;
        }
        self.shrink().await;
        self.orders.recv().await
    }

    /// Commits a group; a change that fails for its own reasons is taken out and answered alone.
    async fn commit(&mut self, mut group: Vec<Waiting>) {
        while !group.is_empty() {
            if let Err(told) = self.condition.check() {
                return refuse(group, &told);
            }
            match self.apply(group.iter().map(|w| &w.change)).await {
                Ok(hits) => {
                    self.condition.fine();
                    let mut answered = answers(group, hits);
                    self.remember(&mut answered);
                    answered.into_iter().for_each(|(waiting, answers)| reply(waiting, Ok(answers)));
                    return;
                }
                Err(failure) => {
                    if let Some(id) = apply::conflict(&failure)
                        && let Some(at) = group.iter().position(|w| w.change.id == id)
                    {
                        reply(group.remove(at), Err(conflict()));
                    } else if group.len() == 1 || error::is_environment(&failure) {
                        let environment = error::is_environment(&failure);
                        let told = error::store(failure);
                        tracing::warn!(code = told.code(), changes = group.len(), "nothing of this group was stored: {}", told.report());
                        if environment {
                            self.condition.failed(&told);
                        }
                        return refuse(group, &told);
                    } else {
                        // Halves find the one at fault in a few commits more, and keep the order.
                        let second = group.split_off(group.len() / 2);
                        Box::pin(self.commit(std::mem::replace(&mut group, second))).await;
                    }
                }
            }
        }
    }

    /// One statement for all changes: (change, answer number, rows touched).
    async fn apply(&mut self, changes: impl Iterator<Item = &Change> + Clone) -> Result<Vec<(i64, usize, u64)>, sqlx::Error> {
        let mut rows = String::with_capacity(changes.clone().map(|change| change.rows.len() + 1).sum::<usize>() + 2);
        rows.push('[');
        let (mut answered, mut scrub) = (false, false);
        for change in changes {
            if rows.len() > 1 {
                rows.push(',');
            }
            rows.push_str(&change.rows);
            answered |= change.answers > 0;
            scrub |= change.scrub;
        }
        rows.push(']');
        self.statements.fetch_add(1, Ordering::Relaxed);
        let mut connection = self.connection.lock().await;
        let mut hits = Vec::new();
        // Read to the end: the commit happens, and can fail, after the last row.
        let mut stream = query(if answered { APPLY_ANSWERED } else { APPLY }).bind(rows).fetch(&mut *connection);
        while let Some(row) = stream.try_next().await? {
            if row.len() == 1 {
                let version = row.try_get(0)?;
                if self.version.replace(version).is_some_and(|known| known != version) {
                    self.recent.clear();
                }
            } else if let Some(n) = row.try_get::<Option<i64>, _>(1)? {
                hits.push((row.try_get(0)?, usize::try_from(n).unwrap_or(usize::MAX), u64::try_from(row.try_get::<i64, _>(2)?).unwrap_or(0)));
            }
        }
        drop(stream);
        self.scrub |= scrub;
        Ok(hits)
    }

    /// Tells [`Recent`] of a commit.
    fn remember(&self, group: &mut [(Waiting, Vec<u64>)]) {
        if group.iter().any(|(waiting, _)| waiting.change.changes_memories) {
            return self.recent.clear();
        }
        self.recent.add(group.iter_mut().flat_map(|(waiting, answers)| {
            let messages = std::mem::take(&mut waiting.change.messages);
            messages.into_iter().filter(|(n, _)| answers.get(*n).is_some_and(|hits| *hits > 0)).map(|(_, memory)| memory)
        }));
    }

    /// Gives back what SQLite holds for the next change, and what turns read of Rooms that are quiet again.
    async fn shrink(&self) {
        self.recent.shrink();
        if let Err(failure) = query("PRAGMA shrink_memory").execute(&mut *self.connection.lock().await).await {
            tracing::debug!("SQLite gave no memory back: {failure}");
        }
    }

    /// Takes removed text out of the write-ahead log; `secure_delete` has overwritten it in the pages.
    async fn scrub_log(&mut self) {
        self.scrub = !self.checkpoint().await;
    }

    /// Writes the log back and empties it; false when a reader held it (tried again after the next group).
    async fn checkpoint(&self) -> bool {
        if self.condition.check().is_err() {
            return false;
        }
        self.statements.fetch_add(1, Ordering::Relaxed);
        let mut connection = self.connection.lock().await;
        match query("PRAGMA wal_checkpoint(TRUNCATE)").fetch_one(&mut *connection).await {
            Ok(row) => row.try_get::<i64, _>(0).is_ok_and(|busy| busy == 0),
            Err(failure) => {
                tracing::warn!("the write-ahead log could not be written back: {failure}");
                false
            }
        }
    }
}

fn collect(order: Order, group: &mut Vec<Waiting>) -> Option<oneshot::Sender<()>> {
    match order {
        Order::Apply(change, reply) => {
            group.push(Waiting { change, reply });
            None
        }
        Order::Close(done) => Some(done),
    }
}

/// Each change with its answers.
fn answers(group: Vec<Waiting>, hits: Vec<(i64, usize, u64)>) -> Vec<(Waiting, Vec<u64>)> {
    // Rows come back in the order they went in, so the answers of a change follow one another.
    let mut hits = hits.into_iter().peekable();
    let with_answers = |waiting: Waiting| {
        let mut answers = vec![0; waiting.change.answers];
        while let Some((_, n, count)) = hits.next_if(|(id, ..)| *id == waiting.change.id) {
            if let Some(slot) = answers.get_mut(n) {
                *slot = count;
            }
        }
        (waiting, answers)
    };
    group.into_iter().map(with_answers).collect()
}

fn refuse(group: Vec<Waiting>, told: &Error) {
    for waiting in group {
        reply(waiting, Err(error::copy(told)));
    }
}

fn reply(waiting: Waiting, result: Result<Vec<u64>>) {
    // A caller that went away does not want to know; its change stands all the same.
    let _ = waiting.reply.send(result);
}

fn conflict() -> Error {
    Error::new(ErrorKind::Conflict, "this has been committed already, so nothing was written")
}
