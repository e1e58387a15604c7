//! The planner's statistics. The server renews them a minute after a table has grown, and keeps the
//! plans that it made before: those of an empty table read it whole. A new database fills faster
//! than that, so the writer asks for them each time it has written as much again.

use std::sync::Arc;
use tokio::sync::Semaphore;

use super::read::Readers;

/// What grows with every message.
const GROWING: &str = "ANALYZE inbox, memories, outbox, usage, participants, entities, rooms";
/// Writes before the first time.
const FIRST: usize = 256;
/// From here on the server's own renewal is soon enough.
const LAST: usize = 1 << 18;

/// Counts what is written.
pub(crate) struct Statistics {
    readers: Readers,
    written: usize,
    next: usize,
    /// One at a time.
    free: Arc<Semaphore>,
}

impl Statistics {
    pub(crate) fn new(readers: Readers) -> Self {
        Self { readers, written: 0, next: FIRST, free: Arc::new(Semaphore::new(1)) }
    }

    /// So many rows were written.
    pub(crate) fn wrote(&mut self, rows: usize) {
        self.written += rows;
        if self.written < self.next || self.next > LAST {
            return;
        }
        self.next = self.written * 2;
        let Ok(alone) = Arc::clone(&self.free).try_acquire_owned() else { return };
        let readers = self.readers.clone();
        tokio::spawn(async move {
            if let Err(failure) = readers.execute(GROWING).await {
                tracing::debug!(error = %failure, "failed to renew the planner's statistics; retrying after as many rows again");
            }
            drop(alone);
        });
    }
}
