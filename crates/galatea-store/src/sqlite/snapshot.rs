//! A read transaction that its first statement begins. A search in memory so reads its hits as they
//! are then, and one that finds nothing begins none.

use super::raw::{Raw, Refusal};

/// All statements executed through it see the same state of the database. Ends when it is dropped.
pub(crate) struct Snapshot<'a, 'h>(&'a mut Raw<'h>);

impl<'a, 'h> Snapshot<'a, 'h> {
    pub(crate) fn new(raw: &'a mut Raw<'h>) -> Self {
        Self(raw)
    }

    /// The connection, within the transaction.
    ///
    /// # Errors
    /// SQLite's refusal to begin it.
    pub(crate) fn begun(&mut self) -> Result<&mut Raw<'h>, Refusal> {
        if self.0.is_autocommit() {
            self.0.execute("BEGIN", &[])?;
        }
        Ok(self.0)
    }
}

impl Drop for Snapshot<'_, '_> {
    fn drop(&mut self) {
        if !self.0.is_autocommit()
            && let Err(refusal) = self.0.execute("COMMIT", &[])
        {
            tracing::warn!(error = %refusal, "failed to end the transaction of a search; the next search on this connection sees the same state and ends it");
        }
    }
}

#[cfg(test)]
mod tests {
    use sqlx::sqlite::SqliteConnectOptions;
    use std::time::Duration;

    use super::*;
    use crate::sqlite::threads::Threads;

    #[tokio::test]
    async fn a_transaction_begins_with_the_first_statement_and_ends_with_the_snapshot() {
        let connect = SqliteConnectOptions::new().in_memory(true);
        let threads = Threads::new(connect, 1, Duration::from_secs(60));
        let states = threads.run(|raw| {
            let unused = Snapshot::new(raw);
            let not_begun = unused.0.is_autocommit();
            drop(unused);
            let mut used = Snapshot::new(raw);
            let begun = !used.begun().unwrap().is_autocommit();
            let again = used.begun().unwrap().number("SELECT 1").unwrap();
            drop(used);
            (not_begun, begun, again, raw.is_autocommit())
        });
        assert_eq!(states.await.unwrap(), (true, true, Some(1), true));
        threads.close().await;
    }
}
