//! The one writer, on a thread of its own: takes all changes that wait, commits them as one
//! transaction, then answers. Waits for more to come only with changes that can wait, and not for
//! long. A change that is refused fails alone.

use galatea_core::{Error, Result};
use sqlx::{Connection, SqliteConnection};
use std::{
    sync::{
        Arc,
        atomic::Ordering,
        mpsc::{Receiver, RecvTimeoutError, TryRecvError},
    },
    thread,
    time::{Duration, Instant},
};
use tokio::{
    runtime::Runtime,
    sync::{Mutex, OwnedSemaphorePermit, oneshot},
};

use super::{
    apply::Failed,
    condition::Condition,
    counts::Counts,
    error,
    group::{Outcomes, Waiting, apply_all, apply_each},
    known::Known,
    raw::{Raw, Refusal},
};
use crate::{change::Change, error as common};

/// Changes that may wait before callers are held back.
pub(crate) const WAITING: usize = 1024;
/// Changes of one group. Measured on 2 cores: larger groups gain nothing once the disk's flush is
/// spread over hundreds.
const GROUP: usize = 512;
/// Longest wait of changes that can wait. In a conversation of two a settled delivery is followed by
/// the next question, and a flush of the disk is saved if both are committed at once.
const COMPANY: Duration = Duration::from_micros(400);
/// After a pause of this length the writer asks for the index of words, if memories were stored since it
/// last asked. A step of the index holds up other changes by some 8 ms.
const PAUSE: Duration = Duration::from_millis(250);
/// Bytes of one group after which no further change joins.
const GROUP_BYTES: usize = 8 << 20;

/// Changes when another connection has committed
/// (<https://www.sqlite.org/pragma.html#pragma_data_version>).
const VERSION: &str = "PRAGMA data_version";
/// Takes the write lock at once, so that no reader's lock has to become one.
const BEGIN: &str = "BEGIN IMMEDIATE";
const COMMIT: &str = "COMMIT";
const ROLLBACK: &str = "ROLLBACK";
const CHECKPOINT: &str = "PRAGMA wal_checkpoint(TRUNCATE)";
const SHRINK: &str = "PRAGMA shrink_memory";

/// What the writer is asked for.
pub(crate) enum Order {
    /// Carry out a change; the answer is sent after the commit. The permit is a place among those
    /// that wait.
    Apply(Change, oneshot::Sender<Result<Vec<u64>>>, OwnedSemaphorePermit),
    /// Finish what came before, write everything back into the main file and close.
    Close(oneshot::Sender<()>),
}

/// The writer's state.
pub(crate) struct Writer {
    pub(crate) orders: Receiver<Order>,
    pub(crate) counts: Arc<Counts>,
    pub(crate) condition: Arc<Condition>,
    pub(crate) known: Known,
    /// With nothing to do for so long, what is held for the next change and the next turn is given
    /// back.
    pub(crate) idle: Duration,
    /// Removed text may still be in the write-ahead log.
    scrub: bool,
    /// Of the file, as this connection last saw it: it changes when another one writes.
    version: Option<i64>,
}

impl Writer {
    pub(crate) fn new(
        orders: Receiver<Order>,
        counts: Arc<Counts>,
        condition: Arc<Condition>,
        known: Known,
        idle: Duration,
    ) -> Self {
        Self { orders, counts, condition, known, idle, scrub: false, version: None }
    }

    /// Writes through a connection of its own, until `close` is called or all handles of the store
    /// are gone.
    pub(crate) fn run_alone(mut self, mut connection: SqliteConnection, waiter: &Runtime) {
        let closing = match waiter.block_on(connection.lock_handle()) {
            Ok(mut lent) => match Raw::new(&mut lent) {
                Ok(mut db) => {
                    let closing = self.run(|writer, work| work(writer, &mut db));
                    self.checkpoint(&mut db);
                    closing
                }
                Err(failure) => {
                    tracing::error!(error = %failure, "failed to use the writer's connection; the writer ends and changes are refused");
                    None
                }
            },
            Err(failure) => {
                tracing::error!(error = %failure, "failed to lock the writer's connection; the writer ends and changes are refused");
                None
            }
        };
        if let Err(failure) = waiter.block_on(connection.close()) {
            tracing::warn!(error = %failure, "failed to close the database; the next start applies its log");
        }
        ended(closing);
    }

    /// Writes through a connection that readers use as well: a database in memory has one.
    pub(crate) fn run_shared(mut self, connection: &Mutex<SqliteConnection>, waiter: &Runtime) {
        let closing = self.run(|writer, work| {
            let mut connection = connection.blocking_lock();
            match waiter.block_on(connection.lock_handle()) {
                Ok(mut lent) => match Raw::new(&mut lent) {
                    Ok(mut db) => work(writer, &mut db),
                    Err(failure) => tracing::error!(error = %failure, "failed to use the database in memory; the changes at hand are refused"),
                },
                Err(failure) => tracing::error!(
                    error = %failure,
                    "failed to lock the database in memory; the changes at hand are refused"
                ),
            }
        });
        ended(closing);
    }

    /// Carries out orders until the end; returns the sender of the task that waits for it. `with`
    /// lends the connection for one piece of work.
    fn run(
        &mut self,
        mut with: impl FnMut(&mut Self, &mut dyn FnMut(&mut Self, &mut Raw<'_>)),
    ) -> Option<oneshot::Sender<()>> {
        // What is read before the first commit is compared with this.
        with(self, &mut |writer, db| writer.version = db.number(VERSION).ok().flatten());
        loop {
            let pause = if self.known.is_index_behind() { PAUSE.min(self.idle) } else { self.idle };
            let first = match self.orders.recv_timeout(pause) {
                Ok(first) => first,
                // The writer waited for the shorter time only, so it is not idle yet. That holds even if
                // a search has updated the index since.
                Err(RecvTimeoutError::Timeout)
                    if pause < self.idle || self.known.is_index_behind() =>
                {
                    self.known.want_index();
                    continue;
                }
                Err(RecvTimeoutError::Timeout) => {
                    with(self, &mut |writer, db| {
                        // A reader held the log after the last group.
                        writer.scrub_log(db);
                        writer.shrink(db);
                    });
                    self.orders.recv().ok()?
                }
                Err(RecvTimeoutError::Disconnected) => return None,
            };
            let until = Instant::now() + COMPANY;
            let mut group = Vec::new();
            let mut closing = collect(first, &mut group);
            if closing.is_none() {
                // Callers that the last commit woke get the chance to hand in their next change;
                // without a ready caller this does not wait.
                thread::yield_now();
            }
            let mut bytes: usize = group.iter().map(|w: &Waiting| w.change.bytes).sum();
            while closing.is_none()
                && group.len() < GROUP
                && bytes < GROUP_BYTES
                && let Some(next) = self.next(&group, until)
            {
                closing = collect(next, &mut group);
                bytes += group.last().map_or(0, |w| w.change.bytes);
            }
            let mut group = Some(group);
            with(self, &mut |writer, db| {
                if let Some(group) = group.take() {
                    writer.commit(db, group);
                    writer.scrub_log(db);
                }
            });
            if let Some(group) = group {
                refuse(group, &common::closed());
            }
            if closing.is_some() {
                return closing;
            }
        }
    }

    /// An order that is there already; for a group that can wait also one that comes soon.
    fn next(&self, group: &[Waiting], until: Instant) -> Option<Order> {
        match self.orders.try_recv() {
            Err(TryRecvError::Empty) if group.iter().all(|waiting| waiting.change.can_wait) => {
                self.orders.recv_timeout(until.saturating_duration_since(Instant::now())).ok()
            }
            next => next.ok(),
        }
    }

    /// Commits a group and answers.
    fn commit(&mut self, db: &mut Raw<'_>, group: Vec<Waiting>) {
        if group.is_empty() {
            return;
        }
        if let Err(error) = self.condition.check().and_then(|()| self.condition.is_there()) {
            return refuse(group, &error);
        }
        self.counts.statements.fetch_add(1, Ordering::Relaxed);
        match self.transact(db, &group) {
            Ok(outcomes) => {
                // The file was removed meanwhile: no one could ever read it.
                if let Err(error) = self.condition.is_there() {
                    return refuse(group, &error);
                }
                self.counts.rows.store(db.rows(), Ordering::Relaxed);
                self.condition.fine();
                self.answer(group, outcomes);
            }
            Err(refusal) => {
                if !db.is_autocommit()
                    && let Err(failure) = db.execute(ROLLBACK, &[])
                {
                    tracing::warn!(error = %failure, "failed to roll a transaction back; its changes are refused");
                }
                let error = error::refused(refusal);
                tracing::warn!(
                    code = error.code(),
                    changes = group.len(),
                    error = %error.report(),
                    "failed to commit a group of changes; their callers get the error"
                );
                self.condition.failed(&error);
                refuse(group, &error);
            }
        }
    }

    /// One transaction for all changes. Fails when nothing of it stands.
    ///
    /// Changes are tried without savepoints first: almost no group has a change that is refused,
    /// and after each savepoint SQLite copies the pages that it writes.
    fn transact(&mut self, db: &mut Raw<'_>, group: &[Waiting]) -> Result<Outcomes, Refusal> {
        self.begin(db)?;
        let mut outcomes = apply_all(db, group)?;
        if matches!(outcomes.last(), Some(Err(_))) {
            db.execute(ROLLBACK, &[])?;
            if group.len() == 1 {
                return Ok(outcomes);
            }
            self.begin(db)?;
            outcomes = apply_each(db, group)?;
        }
        self.scrub |= group.iter().any(|waiting| waiting.change.scrub);
        db.execute(COMMIT, &[])?;
        Ok(outcomes)
    }

    /// Begins a transaction, and forgets what is known of the tables if another connection wrote.
    fn begin(&mut self, db: &mut Raw<'_>) -> Result<(), Refusal> {
        db.execute(BEGIN, &[])?;
        let version = db.number(VERSION)?;
        if self.version.is_some_and(|known| Some(known) != version) {
            self.known.forget();
        }
        self.version = version;
        Ok(())
    }

    /// Reports a commit to what is known of the tables, then each caller the result of its change.
    fn answer(&self, group: Vec<Waiting>, outcomes: Outcomes) {
        let mut answered: Vec<_> = group.into_iter().zip(outcomes).collect();
        let changes = answered
            .iter_mut()
            .filter_map(|(waiting, outcome)| Some((&mut waiting.change, outcome.as_deref().ok()?)));
        self.known.committed(changes);
        for (waiting, outcome) in answered {
            let result = outcome.map_err(|failed| match failed {
                Failed::Conflict => common::conflict(),
                Failed::Refused(refusal) => {
                    let error = error::refused(refusal);
                    tracing::warn!(
                        code = error.code(),
                        error = %error.report(),
                        "failed to store a change; its caller gets the error"
                    );
                    error
                }
            });
            reply(waiting, result);
        }
    }

    /// Releases what SQLite holds for the next change, and what turns read of Rooms that are
    /// quiet again.
    fn shrink(&self, db: &mut Raw<'_>) {
        self.known.shrink();
        self.counts.statements.fetch_add(1, Ordering::Relaxed);
        if let Err(failure) = db.execute(SHRINK, &[]) {
            tracing::debug!(error = %failure, "failed to release SQLite's memory; retrying at the next idle time");
        }
    }

    /// Takes removed text out of the write-ahead log; `secure_delete` has overwritten it in the
    /// pages. Tried again after the next group while a reader holds the log.
    fn scrub_log(&mut self, db: &mut Raw<'_>) {
        if self.scrub {
            self.scrub = !self.checkpoint(db);
        }
    }

    /// Writes the log back and empties it; false when a reader held it.
    fn checkpoint(&self, db: &mut Raw<'_>) -> bool {
        if self.condition.check().is_err() {
            return false;
        }
        self.counts.statements.fetch_add(1, Ordering::Relaxed);
        match db.number(CHECKPOINT) {
            Ok(busy) => busy == Some(0),
            Err(failure) => {
                tracing::warn!(error = %failure, "failed to write the write-ahead log back; a later checkpoint retries");
                false
            }
        }
    }
}

fn collect(order: Order, group: &mut Vec<Waiting>) -> Option<oneshot::Sender<()>> {
    match order {
        Order::Apply(change, reply, place) => {
            // Out of the queue.
            drop(place);
            group.push(Waiting { change, reply });
            None
        }
        Order::Close(done) => Some(done),
    }
}

fn ended(closing: Option<oneshot::Sender<()>>) {
    if let Some(done) = closing {
        // The caller of `close` may have stopped waiting.
        let _ = done.send(());
    }
}

fn refuse(group: Vec<Waiting>, error: &Error) {
    for waiting in group {
        reply(waiting, Err(error.duplicate()));
    }
}

fn reply(waiting: Waiting, result: Result<Vec<u64>>) {
    // A caller that went away does not want to know; its change stands all the same.
    let _ = waiting.reply.send(result);
}
