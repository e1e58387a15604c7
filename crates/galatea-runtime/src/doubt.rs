//! Doubt: a change whose answer was lost on its way from the store.

use galatea_core::{Error, ErrorKind, MemoryId, Result, Sent, TurnId};
use std::time::Duration;

use crate::agent::Agent;

/// Until the store is asked again.
const PAUSE: Duration = Duration::from_millis(250);

/// Waits until the store can tell whether a change stands that may stand: only then what it commits goes on in its order, and once. Told by a
/// message that the turn finishes, or by its parts where it finishes none.
///
/// # Errors
/// The failure itself, when nothing was written.
pub(crate) async fn settle(agent: &Agent, error: Error, turn: TurnId, finishes: Option<MemoryId>) -> Result<()> {
    if error.sent() == Sent::No {
        return Err(error);
    }
    loop {
        match stands(agent, turn, finishes).await {
            Ok(true) => return Ok(()),
            Err(away) if away.kind() == ErrorKind::Unavailable => agent.clock.sleep(PAUSE).await,
            Ok(false) | Err(_) => return Err(error),
        }
    }
}

async fn stands(agent: &Agent, turn: TurnId, finishes: Option<MemoryId>) -> Result<bool> {
    Ok(match finishes {
        Some(message) => agent.store.inbox_item(message).await?.is_some_and(|item| item.turn == Some(turn)),
        None => !agent.store.deliveries_of(turn).await?.is_empty(),
    })
}
