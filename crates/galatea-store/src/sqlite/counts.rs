//! What a database was used for since it was opened, for benchmarks.

use std::sync::atomic::AtomicU64;

/// Counts of statements and rows.
#[derive(Default)]
pub(crate) struct Counts {
    /// Statements of readers, and groups of the writer.
    pub(crate) statements: AtomicU64,
    /// Rows that the writer inserted, changed or removed.
    pub(crate) rows: AtomicU64,
}
