//! How writing goes, for `status`, and whether the disk can still be trusted.

use galatea_core::{Error, Result};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;

use super::{error, presence::Presence};

/// Shared by the writer and all handles.
#[derive(Debug)]
pub(crate) struct Condition {
    /// Whether the files are still there.
    presence: Presence,
    /// Why the last group was not stored; none when it was.
    trouble: Mutex<Option<Error>>,
    /// The system could not write back what it had taken.
    lost: watch::Sender<bool>,
}

impl Condition {
    /// Of a database in these files.
    pub(crate) fn of(presence: Presence) -> Self {
        Self { presence, trouble: Mutex::default(), lost: watch::Sender::new(false) }
    }

    /// Whether the files that are written are those that bear their names. It may be asked again:
    /// what was moved away can be moved back.
    pub(crate) fn is_there(&self) -> Result<()> {
        let Err(error) = self.presence.check() else { return Ok(()) };
        if self.lock().replace(error.duplicate()).is_none_or(|before| before.code() != error.code())
        {
            tracing::error!(
                code = error.code(),
                fix = error.fix(),
                "nothing is stored or confirmed: {}",
                error.report()
            );
        }
        Err(error)
    }

    /// A group was stored.
    pub(crate) fn fine(&self) {
        *self.lock() = None;
    }

    /// A group was not stored. After a failed flush no later one is: the system forgets what it
    /// could not write, so that the next flush would say yes to something that is not there
    /// ("fsyncgate", <https://wiki.postgresql.org/wiki/Fsync_Errors>).
    pub(crate) fn failed(&self, error: &Error) {
        *self.lock() = Some(error.duplicate());
        if error.code() == Some(error::SYNC) {
            self.lost.send_replace(true);
        }
    }

    /// Refuses everything after a failed flush.
    pub(crate) fn check(&self) -> Result<()> {
        if *self.lost.borrow() { Err(self.trouble().unwrap_or_else(error::sync)) } else { Ok(()) }
    }

    /// Why the last group was not stored.
    pub(crate) fn trouble(&self) -> Option<Error> {
        // Also without a write since.
        if let Err(gone) = self.is_there() {
            return Some(gone);
        }
        self.lock().as_ref().map(Error::duplicate)
    }

    /// Waits until a flush failed.
    pub(crate) async fn lost(&self) {
        let mut lost = self.lost.subscribe();
        // The sender lives as long as this.
        let _ = lost.wait_for(|lost| *lost).await;
    }

    fn lock(&self) -> MutexGuard<'_, Option<Error>> {
        self.trouble.lock()
    }
}
