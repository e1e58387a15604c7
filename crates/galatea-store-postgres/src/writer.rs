//! The one writer of a store: takes all changes that wait, commits them as one group, then answers. Never waits for more to come.

use futures::TryStreamExt;
use galatea_core::{Error, Result};
use sqlx::{Connection, PgConnection, Row, query};
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::{
    sync::{mpsc, oneshot},
    time::{sleep, timeout},
};

use crate::{
    apply::{self, APPLY},
    change::Change,
    error, group,
    open::Place,
};

/// Changes that may wait before callers are held back.
pub(crate) const WAITING: usize = 1024;
/// Changes of one group.
const GROUP: usize = 512;
/// Bytes of one group after which no further change joins.
const GROUP_BYTES: usize = 8 << 20;
/// Longest time for one group; a server that says nothing for so long counts as lost.
pub(crate) const STATEMENT: Duration = Duration::from_secs(30);
/// Between two attempts to reach the server again.
const PAUSE: Duration = Duration::from_millis(200);
/// How often a group is made again after it met another writer half-way, before its changes go one by one.
const COLLISIONS: u32 = 5;

/// What the writer is asked for.
pub(crate) enum Order {
    /// Carry out a change; the answer is sent after the commit.
    Apply(Change, oneshot::Sender<Result<Vec<u64>>>),
    /// Finish what came before and close.
    Close(oneshot::Sender<()>),
}

struct Waiting {
    change: Change,
    reply: oneshot::Sender<Result<Vec<u64>>>,
}

/// The writer's state.
pub(crate) struct Writer {
    pub(crate) place: Place,
    /// None after it was lost, until it is needed.
    pub(crate) connection: Option<PgConnection>,
    pub(crate) orders: mpsc::Receiver<Order>,
    pub(crate) statements: Arc<AtomicU64>,
    pub(crate) settle_within: Duration,
    /// Why the last group is not known to be stored; none when it is.
    pub(crate) trouble: Arc<Mutex<Option<Error>>>,
    /// Since when.
    pub(crate) since: Option<Instant>,
}

impl Writer {
    /// Runs until it is told to close or all handles of the store are gone.
    pub(crate) async fn run(mut self) {
        let mut closing = None;
        while closing.is_none()
            && let Some(first) = self.orders.recv().await
        {
            let mut group = Vec::new();
            closing = collect(first, &mut group);
            if closing.is_none() {
                // Callers that the last commit woke get the chance to hand in their next change; with nobody ready this is no wait.
                tokio::task::yield_now().await;
            }
            let mut bytes: usize = group.iter().map(|w| w.change.bytes).sum();
            while closing.is_none()
                && group.len() < GROUP
                && bytes < GROUP_BYTES
                && let Ok(next) = self.orders.try_recv()
            {
                closing = collect(next, &mut group);
                bytes += group.last().map_or(0, |w| w.change.bytes);
            }
            self.commit(group, false).await;
        }
        self.orders.close();
        if let Some(connection) = self.connection.take()
            && let Err(failure) = connection.close().await
        {
            tracing::debug!("the connection did not close cleanly: {failure}");
        }
        if let Some(done) = closing {
            // Nobody waiting for the end is fine.
            let _ = done.send(());
        }
    }

    /// Commits a group; a change that fails for its own reasons is taken out and answered alone. `again`: it may have been committed.
    async fn commit(&mut self, mut group: Vec<Waiting>, mut again: bool) {
        let begun = Instant::now();
        let mut collisions = 0;
        while !group.is_empty() {
            let failure = match self.apply(&group, again).await {
                Ok(hits) => {
                    self.works();
                    return answer(group, hits);
                }
                Err(failure) => failure,
            };
            if let Some((id, told)) = apply::conflict(&failure.error)
                && let Some(at) = group.iter().position(|w| w.change.id == id)
            {
                reply(group.remove(at), Err(told));
            } else if error::is_collision(&failure.error) && collisions < COLLISIONS {
                collisions += 1;
            } else if (failure.sent || again) && error::is_environment(&failure.error) && begun.elapsed() < self.settle_within {
                // It may stand. Asking again tells, and does what is missing. One session that broke is no trouble yet.
                if again {
                    self.fails(&error::store(failure.error));
                    sleep(PAUSE).await;
                }
                again = true;
            } else if group.len() == 1 || error::is_environment(&failure.error) {
                let environment = error::is_environment(&failure.error);
                let told = if again { error::unsettled(failure.error) } else { error::store(failure.error) };
                if environment {
                    self.fails(&told);
                } else {
                    tracing::warn!(code = told.code(), "a change could not be stored: {}", told.report());
                }
                return refuse(group, &told);
            } else {
                // Halves find the one at fault in a few commits more, and keep the order.
                let second = group.split_off(group.len() / 2);
                Box::pin(self.commit(std::mem::replace(&mut group, second), again)).await;
            }
        }
    }

    /// Told once, when it begins: what happened, where, what to do.
    fn fails(&mut self, told: &Error) {
        let trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner).replace(error::copy(told));
        if trouble.is_none_or(|before| before.code() != told.code()) {
            let (place, cause) = (self.place.show(), told.report());
            tracing::warn!(code = told.code(), %place, cause, fix = told.fix(), "nothing is stored or confirmed: {}", told.message());
        }
        self.since.get_or_insert_with(Instant::now);
    }

    fn works(&mut self) {
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = None;
        if let Some(since) = self.since.take() {
            tracing::info!(place = %self.place.show(), seconds = since.elapsed().as_secs(), "the database takes writes again");
        }
    }

    /// One statement for all changes: (change, answer number, rows touched).
    async fn apply(&mut self, group: &[Waiting], again: bool) -> Result<Vec<(i64, usize, u64)>, Failure> {
        let steps = group::steps(group.iter().flat_map(|waiting| &waiting.change.rows));
        self.statements.fetch_add(1, Ordering::Relaxed);
        // Taken out: whoever stops in between leaves no session of unknown state behind.
        let had = self.connection.take();
        let fresh = had.is_none();
        let mut connection = match had {
            Some(connection) => connection,
            None => self.place.writer().await.map_err(|error| Failure { error, sent: false })?,
        };
        match timeout(STATEMENT, carry_out(&mut connection, steps, again)).await {
            Ok(Ok(hits)) => {
                self.connection = Some(connection);
                Ok(hits)
            }
            Ok(Err(error)) if error::is_lost(&error) => {
                tracing::debug!(fresh, "the connection to PostgreSQL broke; what was under way is asked for again: {error}");
                Err(Failure { error, sent: true })
            }
            Ok(Err(error)) => {
                self.connection = Some(connection);
                Err(Failure { error, sent: false })
            }
            Err(_) => Err(Failure { error: sqlx::Error::PoolTimedOut, sent: true }),
        }
    }
}

struct Failure {
    error: sqlx::Error,
    /// It had left when the connection broke: its outcome is unknown.
    sent: bool,
}

async fn carry_out(connection: &mut PgConnection, steps: String, again: bool) -> Result<Vec<(i64, usize, u64)>, sqlx::Error> {
    let mut hits = Vec::new();
    // Read to the end: the commit happens, and can fail, after the last row.
    let mut stream = query(APPLY).bind(steps).bind(again).fetch(connection);
    while let Some(row) = stream.try_next().await? {
        let n = usize::try_from(row.try_get::<i32, _>(1)?).unwrap_or(usize::MAX);
        hits.push((row.try_get(0)?, n, u64::try_from(row.try_get::<i64, _>(2)?).unwrap_or(0)));
    }
    Ok(hits)
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

fn answer(group: Vec<Waiting>, hits: Vec<(i64, usize, u64)>) {
    let mut answers: HashMap<i64, Vec<u64>> = group.iter().map(|w| (w.change.id, vec![0; w.change.answers])).collect();
    for (id, n, count) in hits {
        if let Some(slot) = answers.get_mut(&id).and_then(|of_change| of_change.get_mut(n)) {
            *slot = count;
        }
    }
    for waiting in group {
        let told = answers.remove(&waiting.change.id).unwrap_or_default();
        reply(waiting, Ok(told));
    }
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
