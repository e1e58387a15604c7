//! Asks the store whether a commit stands whose answer was lost.

use galatea_core::{Clock, Error, ErrorKind, MemoryId, Result, Sent, Store, TurnId};
use std::time::Duration;

/// Until the store is asked again.
const PAUSE: Duration = Duration::from_millis(250);

/// Waits until the store can tell whether a failed commit stands: only then the rows it holds go on
/// in their order, and once. A turn's commit is recognised by a message that it finishes, or by its
/// deliveries when it finishes none.
///
/// # Errors
/// The failure itself, when nothing was written.
pub(crate) async fn resolve(
    store: &dyn Store,
    clock: &dyn Clock,
    error: Error,
    turn: TurnId,
    finishes: Option<MemoryId>,
) -> Result<()> {
    if error.sent() == Sent::No {
        return Err(error);
    }
    loop {
        match stands(store, turn, finishes).await {
            Ok(true) => return Ok(()),
            Err(away) if away.kind() == ErrorKind::Unavailable => clock.sleep(PAUSE).await,
            Ok(false) | Err(_) => return Err(error),
        }
    }
}

async fn stands(store: &dyn Store, turn: TurnId, finishes: Option<MemoryId>) -> Result<bool> {
    Ok(match finishes {
        Some(message) => {
            store.inbox_item(message).await?.is_some_and(|item| item.turn == Some(turn))
        }
        None => !store.deliveries_of(turn).await?.is_empty(),
    })
}
