//! Options of a PostgreSQL store.

use galatea_core::{Clock, SystemClock, redact::Redactor};
use std::{fmt, sync::Arc, time::Duration};

/// Default number of connections for reading: a read takes about a millisecond, and a turn makes a
/// few. With those for the writer, for leases and for wake-ups, a process has seven connections at
/// most.
const READERS: u32 = 4;

/// Longest time for one group. A server that does not answer within it counts as lost.
pub(crate) const WRITING: Duration = Duration::from_secs(30);
/// Longest time for one statement about leases: less than a lease lasts, so that a dead connection
/// is replaced before many leases are lost.
pub(crate) const LEASING: Duration = Duration::from_secs(5);

/// Options of [`crate::Database::postgres`].
#[derive(Clone)]
pub struct PostgresOptions {
    /// Connections for reading beside the writer's one and the one for leases; at least one.
    pub readers: u32,
    /// How long to wait for a connection before a read or write fails with `Unavailable`.
    pub patience: Duration,
    /// How long a change that had been sent when the connection broke is tried again before its
    /// outcome is reported as unknown (`Unavailable` and `Sent::Maybe`). A failover of a managed
    /// PostgreSQL takes 20 to 45 s.
    pub settle_within: Duration,
    /// The clock of `received_at` in inbox rows.
    pub clock: Arc<dyn Clock>,
    /// The secrets that are masked in stored errors and reasons.
    pub redactor: Redactor,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            readers: READERS,
            patience: Duration::from_secs(5),
            settle_within: Duration::from_secs(60),
            clock: Arc::new(SystemClock),
            redactor: Redactor::default(),
        }
    }
}

impl fmt::Debug for PostgresOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresOptions")
            .field("readers", &self.readers)
            .field("patience", &self.patience)
            .field("settle_within", &self.settle_within)
            .finish_non_exhaustive()
    }
}
