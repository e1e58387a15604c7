//! The time one attempt may take.

use galatea_core::{Error, ErrorKind, Result};
use std::{future::Future, time::Duration};

/// Longest time of one attempt: above every connector's own HTTP timeouts (15 to 25 s, two minutes
/// for files), so that it only ends what hangs.
pub(super) const ATTEMPT: Duration = Duration::from_secs(150);

/// Bounds a future; running out means that the work may have been done.
pub(super) async fn within<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    match tokio::time::timeout(ATTEMPT, work).await {
        Ok(outcome) => outcome,
        Err(_) => Err(Error::new(ErrorKind::Timeout, "the platform did not answer in time")
            .with("seconds", ATTEMPT.as_secs())),
    }
}
