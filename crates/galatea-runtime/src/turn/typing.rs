//! Shows typing while an answer is made, and no longer.

use galatea_core::{Address, Clock, Error, ErrorKind};
use std::{convert::Infallible, future, time::Duration};

use crate::outbox::Route;

/// Quicker answers need no sign, and each sign costs a call.
const PATIENCE: Duration = Duration::from_millis(400);
/// Telegram shows a chat action for 5 s or less (Bot API, sendChatAction).
const AGAIN: Duration = Duration::from_secs(4);
/// Failures in a row after which an answer is made without the sign.
const FAILURES: u32 = 3;

/// Does the work, and shows typing meanwhile if the platform can. Both belong to one task: starting and
/// ending another one for each answer costs more than a timer.
pub(super) async fn beside<T>(
    clock: &dyn Clock,
    route: &Route,
    address: &Address,
    work: impl Future<Output = T>,
) -> T {
    tokio::select! {
        biased;
        done = work => done,
        never = show(clock, route, address) => match never {},
    }
}

/// Never ends.
async fn show(clock: &dyn Clock, route: &Route, address: &Address) -> Infallible {
    if route.info.capabilities.typing {
        clock.sleep(PATIENCE).await;
        let mut failures = 0;
        loop {
            match route.stack.typing(address).await {
                Ok(()) => failures = 0,
                Err(error) => {
                    failures += 1;
                    let gives_up = failures >= FAILURES || is_final(&error);
                    tracing::debug!(room = %address.room, error = %error.report(), gives_up, "failed to show typing; trying again in 4 s, unless it gives up for this answer");
                    if gives_up {
                        break;
                    }
                }
            }
            clock.sleep(AGAIN).await;
        }
    }
    future::pending().await
}

/// True if the next call would fail as well.
fn is_final(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Forbidden
            | ErrorKind::NotFound
            | ErrorKind::Unauthorized
            | ErrorKind::Unsupported
            | ErrorKind::Invalid
            | ErrorKind::Unexpected
    )
}
