//! Shows typing while an answer is made, and no longer.

use galatea_core::{Address, Clock};
use std::{convert::Infallible, future, time::Duration};

use crate::outbox::Route;

/// Quicker answers need no sign, and each sign costs a call.
const PATIENCE: Duration = Duration::from_millis(400);
/// Telegram shows a chat action for 5 s or less (Bot API, sendChatAction).
const AGAIN: Duration = Duration::from_secs(4);

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
        loop {
            if let Err(error) = route.stack.typing(address).await {
                tracing::debug!(room = %address.room, error = %error.report(), "failed to show typing; this answer is made without it");
                break;
            }
            clock.sleep(AGAIN).await;
        }
    }
    future::pending().await
}
