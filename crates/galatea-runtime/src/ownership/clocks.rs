//! Compares this machine's clock with the database's, so that what one process stores does not look
//! old to another.

use galatea_core::{Clock, Result, Skew, Store, SystemClock};
use std::time::Duration;

use super::steady::steady;

/// Between two comparisons, as long as this machine's clock is not set.
const EVERY: Duration = Duration::from_secs(10);
/// An answer that took longer says too little about when it was given.
const PROMPT: Duration = Duration::from_secs(1);
/// A machine's clock that moved so far against its steady one was set.
const SET_MILLIS: i64 = 500;

/// Time of the last comparison of clocks.
#[derive(Debug, Default)]
pub(super) struct Compared(Option<(Duration, i64)>);

impl Compared {
    /// Compares them when it is time to.
    pub(super) async fn when_due(&mut self, store: &dyn Store, skew: &Skew) -> Result<()> {
        let (now, offset) = (steady(), offset());
        let is_due = |(at, before): (Duration, i64)| {
            now.saturating_sub(at) >= EVERY || offset.abs_diff(before) > SET_MILLIS.unsigned_abs()
        };
        if self.0.is_none_or(is_due) && compare_clocks(store, skew).await? {
            self.0 = Some((now, offset));
        }
        Ok(())
    }
}

/// Asks the store for its time and remembers how far it is from this machine's. False when the
/// answer took too long to tell.
///
/// # Errors
/// Whatever the store says.
pub async fn compare_clocks(store: &dyn Store, skew: &Skew) -> Result<bool> {
    let (asked, before) = (steady(), SystemClock.now());
    let Some(theirs) = store.store_clock().await? else { return Ok(true) };
    let took = steady().saturating_sub(asked);
    if took > PROMPT {
        return Ok(false);
    }
    // It was read half-way, give or take.
    skew.measured(theirs.0.saturating_sub(before.plus(took / 2).0));
    Ok(true)
}

/// The machine's clock less its steady one.
fn offset() -> i64 {
    SystemClock.now().0.saturating_sub(i64::try_from(steady().as_millis()).unwrap_or(i64::MAX))
}
