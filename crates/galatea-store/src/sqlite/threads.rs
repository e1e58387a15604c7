//! Threads that read, each with a connection of its own. A search executes several statements, each
//! of which needs the result of the one before: on such a thread it is handed over once, and not
//! once for each statement.

use galatea_core::{Error, ErrorKind, Result};
use parking_lot::{Condvar, Mutex, MutexGuard};
use sqlx::{Connection, SqliteConnection, sqlite::SqliteConnectOptions};
use std::{
    collections::VecDeque,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};
use tokio::{
    runtime::Runtime,
    sync::{Semaphore, oneshot},
};

use super::{error, raw::Raw};
use crate::error as common;

/// Searches that may wait for a thread before callers are held back.
const WAITING: usize = 256;

/// Work for a thread, with the connection or with why there is none.
type Job = Box<dyn FnOnce(Result<&mut Raw<'_>>, Busy) + Send>;

/// Some threads, each started when all others are busy, and ended when it had nothing to do for a
/// while, which releases its memory.
pub(crate) struct Threads {
    shared: Arc<Shared>,
    places: Arc<Semaphore>,
}

struct Shared {
    connect: SqliteConnectOptions,
    most: usize,
    idle: Duration,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    /// Threads that take jobs.
    threads: usize,
    /// Threads whose connections are open.
    open: usize,
    /// Threads that do a job.
    busy: usize,
    closed: bool,
}

impl Threads {
    /// Starts nothing yet.
    pub(crate) fn new(connect: SqliteConnectOptions, most: u32, idle: Duration) -> Self {
        let most = usize::try_from(most.max(1)).unwrap_or(1);
        let (state, changed) = (Mutex::default(), Condvar::new());
        let shared = Shared { connect, most, idle, state, changed };
        Self { shared: Arc::new(shared), places: Arc::new(Semaphore::new(WAITING)) }
    }

    /// Does work on one of the threads. Work whose caller went away before it began is left out.
    ///
    /// # Errors
    /// `Unavailable` after [`Threads::close`], or why the file cannot be opened.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Raw<'_>) -> T + Send + 'static,
    ) -> Result<T> {
        let places = Arc::clone(&self.places);
        let place = places.acquire_owned().await.map_err(|_| common::closed())?;
        let (reply, answer) = oneshot::channel();
        self.submit(Box::new(move |raw, busy| {
            // Out of the queue, whether or not its caller still waits.
            drop(place);
            if !reply.is_closed() {
                let done = raw.map(work);
                // Before the reply: what its caller hands in next needs no other thread.
                drop(busy);
                // The caller may go away at any time.
                let _ = reply.send(done);
            }
        }))?;
        answer.await.map_err(|_| {
            if self.shared.state().closed {
                return common::closed();
            }
            Error::unexpected("a search ended without a result")
        })?
    }

    fn submit(&self, job: Job) -> Result<()> {
        let mut state = self.shared.state();
        if state.closed {
            return Err(common::closed());
        }
        state.jobs.push_back(job);
        self.shared.start(&mut state)?;
        self.shared.changed.notify_one();
        Ok(())
    }

    /// Refuses further work and ends the threads after what they were given.
    pub(crate) async fn close(&self) {
        self.places.close();
        self.shared.end();
        while self.shared.state().open > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.shared.end();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Starts a thread if more jobs wait than threads are free.
    ///
    /// # Errors
    /// `Exhausted` if no thread is left to do them: then they are dropped.
    fn start(self: &Arc<Self>, state: &mut State) -> Result<()> {
        if state.jobs.len() <= state.threads - state.busy || state.threads >= self.most {
            return Ok(());
        }
        let shared = Arc::clone(self);
        let started = thread::Builder::new()
            .name("galatea-search".to_owned())
            .spawn(move || Thread { shared, takes_jobs: true }.run());
        match started {
            Ok(_) => {
                state.threads += 1;
                state.open += 1;
            }
            Err(failure) if state.threads == 0 => {
                state.jobs.clear();
                return Err(failed(failure));
            }
            // Another thread comes to them.
            Err(_) => {}
        }
        Ok(())
    }

    fn end(&self) {
        self.state().closed = true;
        self.changed.notify_all();
    }

    /// The next job, with which the thread counts as busy. None when the thread is to end: from then
    /// on it is not counted as taking jobs.
    fn next(&self) -> Option<Job> {
        let began = Instant::now();
        let mut state = self.state();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                state.busy += 1;
                return Some(job);
            }
            let left = self.idle.saturating_sub(began.elapsed());
            if state.closed || left.is_zero() {
                state.threads -= 1;
                return None;
            }
            self.changed.wait_for(&mut state, left);
        }
    }
}

fn failed(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::new(ErrorKind::Exhausted, "a thread for searches cannot be started").with_source(source)
}

/// What is being done. Ends when it is dropped, also by a panic.
struct Busy(Arc<Shared>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.state().busy -= 1;
    }
}

/// A running thread.
struct Thread {
    shared: Arc<Shared>,
    takes_jobs: bool,
}

impl Thread {
    fn run(mut self) {
        let opened = tokio::runtime::Builder::new_current_thread()
            .build()
            .map_err(failed)
            .and_then(|waiter| Ok((self.connect(&waiter)?, waiter)));
        match opened {
            Ok((mut connection, waiter)) => {
                self.work(&mut connection, &waiter);
                if let Err(failure) = waiter.block_on(connection.close()) {
                    tracing::warn!(error = %failure, "failed to close a search connection; dropping it");
                }
            }
            Err(failure) => self.fail(failure),
        }
    }

    fn connect(&self, waiter: &Runtime) -> Result<SqliteConnection> {
        let connect = SqliteConnection::connect_with(&self.shared.connect);
        waiter.block_on(connect).map_err(error::store)
    }

    fn work(&mut self, connection: &mut SqliteConnection, waiter: &Runtime) {
        match waiter.block_on(connection.lock_handle()) {
            Ok(mut lent) => {
                let mut raw = match Raw::new(&mut lent) {
                    Ok(raw) => raw,
                    Err(refusal) => return self.fail(error::read_failed(refusal)),
                };
                while let Some(job) = self.next() {
                    job(Ok(&mut raw), Busy(Arc::clone(&self.shared)));
                }
            }
            Err(failure) => self.fail(error::store(failure)),
        }
    }

    /// Gives the failure to connect to one waiting job. For the next one another thread is started,
    /// which tries to connect again.
    fn fail(&mut self, failure: Error) {
        let job = {
            let mut state = self.shared.state();
            let job = state.jobs.pop_front();
            state.busy += usize::from(job.is_some());
            job
        };
        if let Some(job) = job {
            job(Err(failure), Busy(Arc::clone(&self.shared)));
        }
    }

    fn next(&mut self) -> Option<Job> {
        let job = self.shared.next();
        self.takes_jobs = job.is_some();
        job
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.open -= 1;
        // It could not be opened, or a job panicked.
        if self.takes_jobs {
            state.threads -= 1;
        }
        // What waited for this thread goes to another one.
        if let Err(failure) = self.shared.start(&mut state) {
            tracing::warn!(error = %failure, "failed to start a search thread; dropping the waiting searches");
        }
    }
}

#[cfg(test)]
mod tests;
