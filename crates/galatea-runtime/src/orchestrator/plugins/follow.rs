//! Runs the handlers of events that plugins bring, beside the turns.

use futures::FutureExt;
use galatea_core::{EventBus, EventHandler, PluginContext, event::EventReceiver};
use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};
use tokio::sync::broadcast::error::RecvError;

use super::slot::Slot;

/// Longest time of one event.
const HANDLE: Duration = Duration::from_secs(30);

/// Starts the handlers of a plugin that was just loaded. They end with it.
pub(super) fn follow(slot: &Slot, events: &EventBus) {
    let Some(loaded) = &slot.loaded else { return };
    for handler in &slot.plugin.events {
        let (handler, context) = (Arc::clone(handler), loaded.context.clone());
        let agent = loaded.context.agent.identity.id();
        let (events, stop) = (events.subscribe_to(agent), loaded.following.clone());
        tokio::spawn(async move {
            stop.run_until_cancelled(run(handler, context, events)).await;
        });
    }
}

async fn run(handler: Arc<dyn EventHandler>, context: PluginContext, mut events: EventReceiver) {
    loop {
        let event = match events.recv().await {
            Ok(event) => event,
            Err(RecvError::Lagged(missed)) => {
                tracing::warn!(plugin = %context.plugin, handler = handler.name(), missed, "a handler of events was too slow and missed some");
                continue;
            }
            Err(RecvError::Closed) => return,
        };
        let work = async {
            if handler.wants(&event) { handler.handle(&context, &event).await } else { Ok(()) }
        };
        let work = AssertUnwindSafe(work).catch_unwind();
        match tokio::time::timeout(HANDLE, work).await {
            Ok(Ok(Ok(()))) => {}
            Ok(Ok(Err(error))) => {
                tracing::warn!(plugin = %context.plugin, handler = handler.name(), error = %error.report(), "a handler failed to handle an event; it goes on with the next one");
            }
            Ok(Err(_)) | Err(_) => {
                tracing::warn!(plugin = %context.plugin, handler = handler.name(), "a handler crashed or took too long with an event; it goes on with the next one");
            }
        }
    }
}
