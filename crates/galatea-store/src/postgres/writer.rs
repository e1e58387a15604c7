//! The one writer of a store: takes all changes that wait, commits them as one group, then answers.
//! Never waits for more to come.

use galatea_core::{Error, Result};
use parking_lot::Mutex;
use sqlx::{AssertSqlSafe, Connection, PgConnection, postgres::PgArguments, query_with};
use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::{
    sync::{mpsc, oneshot},
    time::{sleep, timeout},
};

use super::{
    error,
    group::{self, Group},
    open::Place,
    options::WRITING,
    statistics::Statistics,
};
use crate::{
    change::{Change, Write},
    dialect::Statement,
    error as common,
};

/// Changes that may wait before callers are held back.
pub(crate) const WAITING: usize = 1024;
/// Changes of one group.
const GROUP: usize = 512;
/// Bytes of one group after which no further change joins.
const GROUP_BYTES: usize = 8 << 20;
/// Between two attempts to reach the server again.
const PAUSE: Duration = Duration::from_millis(200);
/// How often a group is made again after it met another writer half-way, before its changes go one
/// by one.
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
    /// The time at which the trouble began.
    pub(crate) since: Option<Instant>,
    /// Keeps the planner's statistics of growing tables current.
    pub(crate) statistics: Statistics,
}

impl Writer {
    /// Runs until `close` is called or all handles of the store are gone.
    pub(crate) async fn run(mut self) {
        let (mut closing, mut next) = (None, None);
        while closing.is_none() {
            let first = match next.take() {
                Some(order) => Some(order),
                None => self.orders.recv().await,
            };
            let first = match first {
                Some(Order::Apply(change, reply)) => Waiting { change, reply },
                Some(Order::Close(done)) => {
                    closing = Some(done);
                    break;
                }
                None => break,
            };
            let mut keys = HashSet::new();
            let together = group::joins(&mut keys, &first.change);
            let mut bytes = first.change.bytes;
            let mut group = vec![first];
            if together {
                // Callers that the last commit woke get the chance to hand in their next change;
                // without a ready caller this does not wait.
                tokio::task::yield_now().await;
            }
            while together
                && next.is_none()
                && group.len() < GROUP
                && bytes < GROUP_BYTES
                && let Ok(order) = self.orders.try_recv()
            {
                match order {
                    Order::Apply(change, reply) if group::joins(&mut keys, &change) => {
                        bytes += change.bytes;
                        group.push(Waiting { change, reply });
                    }
                    // What does not go together with these comes next.
                    other => next = Some(other),
                }
            }
            self.commit(group, together).await;
        }
        self.orders.close();
        if let Some(connection) = self.connection.take()
            && let Err(failure) = connection.close().await
        {
            tracing::debug!(error = %failure, "failed to close the write connection; dropping it");
        }
        if let Some(done) = closing {
            // The caller of `close` may have stopped waiting.
            let _ = done.send(());
        }
    }

    /// Commits a group; a change that fails for its own reasons is taken out and answered alone.
    /// `together`: in one call of `commit_group`; otherwise it is one change whose writes come one
    /// after another.
    async fn commit(&mut self, mut group: Vec<Waiting>, together: bool) {
        let begun = Instant::now();
        let (mut collisions, mut again) = (0, false);
        while !group.is_empty() {
            let failure = match self.apply(&group, together, again).await {
                Ok(hits) => {
                    self.works();
                    self.statistics.wrote(group.iter().map(|w| w.change.writes.len()).sum());
                    return answer(group, hits);
                }
                Err(failure) => failure,
            };
            if let Some((at, error)) = failure.conflict {
                reply(group.remove(at), Err(error));
            } else if error::is_collision(&failure.error) && collisions < COLLISIONS {
                collisions += 1;
            } else if (failure.sent || again)
                && error::is_environment(&failure.error)
                && begun.elapsed() < self.settle_within
            {
                // It may be stored. Sending it again shows that, and stores what is missing. One
                // broken session is not reported yet.
                if again {
                    self.fails(&error::store(failure.error));
                    sleep(PAUSE).await;
                }
                again = true;
            } else if group.len() == 1 || error::is_environment(&failure.error) {
                let environment = error::is_environment(&failure.error);
                // Also a first attempt may have used up the time: on a machine that was paused
                // meanwhile, or with a server that kept silent.
                let error = if again || (failure.sent && environment) {
                    error::unsettled(failure.error)
                } else {
                    error::store(failure.error)
                };
                if environment {
                    self.fails(&error);
                } else {
                    tracing::warn!(
                        code = error.code(),
                        error = %error.report(),
                        "failed to store a change; its caller gets the error"
                    );
                }
                return refuse(group, &error);
            } else {
                // The server does not say which one is at fault. None of them stands, so each is
                // committed alone.
                for waiting in group {
                    Box::pin(self.commit(vec![waiting], together)).await;
                }
                return;
            }
        }
    }

    /// Logs once, when the trouble begins: what happened, where, what to do.
    fn fails(&mut self, error: &Error) {
        let trouble = self.trouble.lock().replace(error.duplicate());
        if trouble.is_none_or(|before| before.code() != error.code()) {
            let (place, cause) = (self.place.show(), error.report());
            tracing::warn!(code = error.code(), %place, cause, fix = error.fix(), "nothing is stored or confirmed: {}", error.message());
        }
        self.since.get_or_insert_with(Instant::now);
    }

    fn works(&mut self) {
        *self.trouble.lock() = None;
        if let Some(since) = self.since.take() {
            tracing::info!(place = %self.place.show(), seconds = since.elapsed().as_secs(), "the database takes writes again");
        }
    }

    /// One transaction for all changes: for each of them, for each of its writes, how many rows it
    /// touched.
    async fn apply(
        &mut self,
        group: &[Waiting],
        together: bool,
        again: bool,
    ) -> Result<Vec<Vec<u64>>, Failure> {
        self.statements.fetch_add(1, Ordering::Relaxed);
        // Taken out: a cancelled caller leaves no session of unknown state behind.
        let had = self.connection.take();
        let fresh = had.is_none();
        let mut connection = match had {
            Some(connection) => connection,
            None => self.place.connect().await.map_err(|error| Failure::new(error, false))?,
        };
        let work = async {
            if together {
                commit_together(&mut connection, group, again).await
            } else {
                commit_in_order(&mut connection, group, again).await
            }
        };
        let done = timeout(WRITING, work).await;
        match done {
            Ok(Ok(hits)) => {
                self.connection = Some(connection);
                Ok(hits)
            }
            Ok(Err(failure)) if error::is_lost(&failure.error) => {
                tracing::debug!(
                    fresh,
                    "the connection to PostgreSQL broke; what was under way is asked for again: {}",
                    failure.error
                );
                Err(Failure { sent: true, ..failure })
            }
            Ok(Err(failure)) => {
                self.connection = Some(connection);
                Err(failure)
            }
            Err(_) => Err(Failure::new(sqlx::Error::PoolTimedOut, true)),
        }
    }
}

struct Failure {
    error: sqlx::Error,
    /// It had left when the connection broke: its outcome is unknown.
    sent: bool,
    /// The change at fault, and its error.
    conflict: Option<(usize, Error)>,
}

impl Failure {
    fn new(error: sqlx::Error, sent: bool) -> Self {
        Self { error, sent, conflict: None }
    }

    /// The change of this number does not find what it needs.
    fn refused(change: usize) -> Self {
        let conflict = Some((change, common::conflict()));
        Self { conflict, ..Self::new(sqlx::Error::RowNotFound, false) }
    }

    fn of(group: &Group<'_>, error: sqlx::Error) -> Self {
        Self { conflict: group.conflict(&error), ..Self::new(error, false) }
    }
}

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        Self::new(error, false)
    }
}

fn untouched(group: &[Waiting]) -> Vec<Vec<u64>> {
    group.iter().map(|waiting| vec![1; waiting.change.writes.len()]).collect()
}

/// One statement, which is one transaction and one round trip: no process can be paused inside it.
async fn commit_together(
    connection: &mut PgConnection,
    waiting: &[Waiting],
    again: bool,
) -> Result<Vec<Vec<u64>>, Failure> {
    let mut hits = untouched(waiting);
    let mut group = Group::default();
    for (n, Waiting { change, .. }) in waiting.iter().enumerate() {
        for (m, write) in change.writes.iter().enumerate() {
            group.add(write, (n, m));
        }
    }
    group.commit(connection, again, &mut hits).await.map_err(|error| Failure::of(&group, error))?;
    Ok(hits)
}

/// Writes one after another in a transaction. The server ends a session that is paused in one
/// (`idle_in_transaction_session_timeout`).
async fn commit_in_order(
    connection: &mut PgConnection,
    waiting: &[Waiting],
    again: bool,
) -> Result<Vec<Vec<u64>>, Failure> {
    let mut hits = untouched(waiting);
    let mut transaction = connection.begin().await?;
    for (n, Waiting { change, .. }) in waiting.iter().enumerate() {
        for (m, write) in change.writes.iter().enumerate() {
            if let Write::Other { statements, counted } = write {
                hits[n][m] = carry_out(&mut transaction, statements, *counted).await?;
                continue;
            }
            if let Write::Required { statements } = write {
                hits[n][m] = carry_out(&mut transaction, statements, None).await?;
                if hits[n][m] == 0 {
                    return Err(Failure::refused(n));
                }
                continue;
            }
            let mut group = Group::default();
            group.add(write, (n, m));
            group
                .commit(&mut transaction, again, &mut hits)
                .await
                .map_err(|error| Failure::of(&group, error))?;
        }
    }
    // Its answer may be lost on the way.
    transaction.commit().await.map_err(|error| Failure::new(error, true))?;
    Ok(hits)
}

/// Statements one after another; the rows that the counted one touched.
async fn carry_out(
    connection: &mut PgConnection,
    statements: &[Statement],
    counted: Option<usize>,
) -> Result<u64, sqlx::Error> {
    let counted = counted.unwrap_or(statements.len().saturating_sub(1));
    let mut hits = 0;
    for (n, statement) in statements.iter().enumerate() {
        // Nothing to do in this dialect is an empty text.
        if statement.postgres.is_empty() {
            continue;
        }
        let arguments: PgArguments =
            statement.postgres_arguments().map_err(|e| sqlx::Error::Encode(e.into()))?;
        let done = query_with(AssertSqlSafe(statement.postgres.clone()), arguments)
            .execute(&mut *connection)
            .await?;
        if n == counted {
            hits = done.rows_affected();
        }
    }
    Ok(hits)
}

fn answer(group: Vec<Waiting>, hits: Vec<Vec<u64>>) {
    for (waiting, hits) in group.into_iter().zip(hits) {
        reply(waiting, Ok(hits));
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
