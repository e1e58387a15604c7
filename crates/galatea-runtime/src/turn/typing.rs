//! Shows typing while an answer is made, and no longer.

use galatea_core::{Address, Clock};
use std::{sync::Arc, time::Duration};
use tokio::task::AbortHandle;

use crate::outbox::Route;

/// Quicker answers need no sign, and each sign costs a call.
const PATIENCE: Duration = Duration::from_millis(400);
/// Telegram shows a chat action for 5 s or less (Bot API, sendChatAction).
const AGAIN: Duration = Duration::from_secs(4);

/// Shows typing until dropped.
pub(super) struct Typing(Option<AbortHandle>);

impl Typing {
    /// Starts showing, if the platform can.
    pub(super) fn start(clock: &Arc<dyn Clock>, route: &Arc<Route>, address: Address) -> Self {
        if !route.info.capabilities.typing {
            return Self(None);
        }
        let (clock, route) = (Arc::clone(clock), Arc::clone(route));
        let task = tokio::spawn(async move {
            clock.sleep(PATIENCE).await;
            loop {
                if let Err(error) = route.stack.typing(&address).await {
                    tracing::debug!(room = %address.room, error = %error.report(), "failed to show typing; this answer is made without it");
                    return;
                }
                clock.sleep(AGAIN).await;
            }
        });
        Self(Some(task.abort_handle()))
    }
}

impl Drop for Typing {
    fn drop(&mut self) {
        if let Some(task) = &self.0 {
            task.abort();
        }
    }
}
