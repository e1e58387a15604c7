//! Options of a SQLite store.

use galatea_core::{Clock, SystemClock, redact::Redactor};
use std::{fmt, sync::Arc, time::Duration};

/// How much a commit survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Every commit is on the disk before it counts (`synchronous=FULL`): survives a power cut.
    #[default]
    Full,
    /// Commits reach the disk at the next checkpoint (`synchronous=NORMAL`): survives a killed
    /// process, but a power cut may take the last commits with it, so acknowledged messages can be
    /// lost.
    Normal,
}

/// Options of [`crate::Database::sqlite`].
#[derive(Clone)]
pub struct SqliteOptions {
    /// How much a commit survives.
    pub durability: Durability,
    /// Connections for reading beside the writer; at least one is opened.
    pub readers: u32,
    /// How long to wait for another process that holds the database before giving up.
    pub busy_timeout: Duration,
    /// Pages (of 2 KiB in a new file) the file may have at most; none for no limit. A full database fails with
    /// `GAL-DB-FULL` and loses nothing.
    pub max_pages: Option<u32>,
    /// With nothing to write for so long, SQLite's page cache (8 MiB after a burst) is released.
    pub idle: Duration,
    /// The clock of `received_at` in inbox rows.
    pub clock: Arc<dyn Clock>,
    /// The secrets that are masked in stored errors and reasons.
    pub redactor: Redactor,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        let idle = Duration::from_secs(10);
        Self {
            durability: Durability::Full,
            readers: 4,
            busy_timeout: Duration::from_secs(5),
            max_pages: None,
            idle,
            clock: Arc::new(SystemClock),
            redactor: Redactor::default(),
        }
    }
}

impl fmt::Debug for SqliteOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteOptions")
            .field("durability", &self.durability)
            .field("readers", &self.readers)
            .field("busy_timeout", &self.busy_timeout)
            .field("max_pages", &self.max_pages)
            .field("idle", &self.idle)
            .finish_non_exhaustive()
    }
}
