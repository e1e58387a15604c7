//! Threads that read, each with a connection of its own. A search executes several statements, each
//! of which needs the result of the one before: on such a thread it is handed over once, and not
//! once for each statement.

use galatea_core::{Error, ErrorKind, Result};
use sqlx::{Connection, SqliteConnection, sqlite::SqliteConnectOptions};
use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
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
    /// Those of them that do one.
    busy: usize,
    closed: bool,
}

impl Threads {
    /// Starts nothing yet.
    pub(crate) fn new(connect: SqliteConnectOptions, most: u32, idle: Duration) -> Self {
        let most = usize::try_from(most.max(1)).unwrap_or(1);
        let shared =
            Shared { connect, most, idle, state: Mutex::default(), changed: Condvar::new() };
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
        if state.jobs.len() > state.threads - state.busy && state.threads < self.shared.most {
            let shared = Arc::clone(&self.shared);
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
                // Another thread comes to it.
                Err(_) => {}
            }
        }
        self.shared.changed.notify_one();
        Ok(())
    }

    /// Refuses further work and ends the threads after what they were given.
    pub(crate) async fn close(&self) {
        self.places.close();
        self.shared.state().closed = true;
        self.shared.changed.notify_all();
        while self.shared.state().open > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.shared.state().closed = true;
        self.shared.changed.notify_all();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // Every change is complete before anything that could panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next job; none when the thread is to end: from then on it is not counted as taking jobs.
    fn next(&self) -> Option<Job> {
        let mut state = self.state();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                state.busy += 1;
                return Some(job);
            }
            if state.closed {
                break;
            }
            let (woken, ended) =
                self.changed.wait_timeout(state, self.idle).unwrap_or_else(PoisonError::into_inner);
            state = woken;
            if ended.timed_out() && state.jobs.is_empty() {
                break;
            }
        }
        state.threads -= 1;
        None
    }
}

fn failed(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::new(ErrorKind::Exhausted, "a thread for searches cannot be started").with_source(source)
}

/// A job that is being done. Ends when it is dropped, also by a panic.
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
                let mut raw = Raw::new(&mut lent);
                while let Some(job) = self.next() {
                    job(Ok(&mut raw), Busy(Arc::clone(&self.shared)));
                }
            }
            Err(failure) => self.fail(error::store(failure)),
        }
    }

    /// Gives the failure to connect to one waiting job. A later job starts another thread, which
    /// tries to connect again.
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
        if state.threads == 0 {
            // Their callers are refused; a later job starts another thread.
            state.jobs.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    fn threads(most: u32, idle: Duration) -> Threads {
        Threads::new(SqliteConnectOptions::new().in_memory(true), most, idle)
    }

    fn open(threads: &Threads) -> usize {
        threads.shared.state().open
    }

    const LONG: Duration = Duration::from_secs(600);

    #[tokio::test]
    async fn one_thread_does_what_comes_one_after_another() {
        let threads = threads(4, LONG);
        for _ in 0..20 {
            let one = threads.run(|raw| raw.number("SELECT 1")).await.unwrap();
            assert_eq!(one.unwrap(), Some(1));
        }
        assert_eq!(open(&threads), 1);
        threads.close().await;
        assert_eq!(open(&threads), 0);
        assert!(threads.run(|_| ()).await.is_err());
    }

    #[tokio::test]
    async fn work_beside_other_work_has_another_thread_up_to_the_most() {
        let threads = threads(2, LONG);
        let (release, held) = mpsc::channel::<()>();
        let held = Arc::new(Mutex::new(held));
        let hold = |held: &Arc<Mutex<mpsc::Receiver<()>>>| {
            let held = Arc::clone(held);
            threads.run(move |_| held.lock().unwrap().recv().is_ok())
        };
        let all = async { tokio::join!(hold(&held), hold(&held), hold(&held)) };
        let let_go = async {
            while threads.shared.state().jobs.len() != 1 || open(&threads) != 2 {
                tokio::task::yield_now().await;
            }
            for _ in 0..3 {
                release.send(()).unwrap();
            }
        };
        let ((a, b, c), ()) = tokio::join!(all, let_go);
        assert!([a, b, c].into_iter().all(|done| done.unwrap()));
        assert_eq!(open(&threads), 2);
    }

    #[tokio::test]
    async fn a_thread_ends_when_it_has_nothing_to_do_and_another_is_started() {
        let threads = threads(1, Duration::from_millis(1));
        for _ in 0..50 {
            threads.run(|_| ()).await.unwrap();
            while open(&threads) > 0 {
                tokio::task::yield_now().await;
            }
        }
        // Work that comes while a thread ends is not lost.
        for n in 0..200 {
            threads.run(|_| ()).await.unwrap();
            if n % 3 == 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    }

    #[tokio::test]
    async fn a_panic_ends_one_search_only() {
        let threads = threads(1, LONG);
        let panicked: Result<()> = threads.run(|_| panic!("a fault")).await;
        assert!(panicked.is_err());
        while open(&threads) > 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(threads.run(|raw| raw.number("SELECT 2")).await.unwrap().unwrap(), Some(2));
    }

    #[tokio::test]
    async fn the_file_that_cannot_be_opened_is_reported_to_each_caller() {
        let missing = SqliteConnectOptions::new().filename("/nonexistent/galatea.db");
        let threads = Threads::new(missing, 2, LONG);
        for _ in 0..3 {
            assert!(threads.run(|_| ()).await.is_err());
        }
        threads.close().await;
    }
}
