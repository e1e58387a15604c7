//! Condition: how writing goes, for whoever shows it, and whether the disk can still be believed.

use galatea_core::{Error, Result};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

use crate::error;

/// Shared by the writer and all handles.
#[derive(Debug)]
pub(crate) struct Condition {
    /// Why the last group was not stored; none when it was.
    trouble: Mutex<Option<Error>>,
    /// The system could not write back what it had taken.
    lost: watch::Sender<bool>,
}

impl Default for Condition {
    fn default() -> Self {
        Self { trouble: Mutex::default(), lost: watch::Sender::new(false) }
    }
}

impl Condition {
    /// A group was stored.
    pub(crate) fn fine(&self) {
        *self.lock() = None;
    }

    /// A group was not stored. After a failed flush no later one is: the system forgets what it could not write, so that the next flush
    /// would say yes to something that is not there ("fsyncgate", <https://wiki.postgresql.org/wiki/Fsync_Errors>).
    pub(crate) fn failed(&self, told: &Error) {
        *self.lock() = Some(error::copy(told));
        if told.code() == Some(error::SYNC) {
            self.lost.send_replace(true);
        }
    }

    /// Refuses everything after a failed flush.
    pub(crate) fn check(&self) -> Result<()> {
        if *self.lost.borrow() { Err(self.trouble().unwrap_or_else(error::sync)) } else { Ok(()) }
    }

    /// Why the last group was not stored.
    pub(crate) fn trouble(&self) -> Option<Error> {
        self.lock().as_ref().map(error::copy)
    }

    /// Waits until a flush failed.
    pub(crate) async fn lost(&self) {
        let mut lost = self.lost.subscribe();
        // The sender lives as long as this.
        let _ = lost.wait_for(|lost| *lost).await;
    }

    fn lock(&self) -> MutexGuard<'_, Option<Error>> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
