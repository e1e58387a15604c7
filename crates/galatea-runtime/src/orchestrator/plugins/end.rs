//! Ends plugins that left, once no turn can call them any more.

use std::{sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

use super::{
    begin::AgentPlugins,
    close::{CLOSE, close},
    slot::{Loaded, Slot},
};

/// Longest wait for the last turn that uses a plugin: the longest turn that settings allow, and its
/// evaluators.
const LAST_TURN: Duration = Duration::from_secs(1_200);

/// Closes a plugin after its last turn, and signals it.
pub(super) fn close_later(
    plugins: &AgentPlugins,
    slot: &Slot,
    loaded: Loaded,
    closed: CancellationToken,
) {
    let Loaded { in_use, unused, context, following, .. } = loaded;
    following.cancel();
    drop(in_use);
    let Some(hooks) = slot.plugin.hooks.clone() else {
        closed.cancel();
        return;
    };
    plugins.closing.spawn(async move {
        if tokio::time::timeout(LAST_TURN, unused.cancelled()).await.is_err() {
            tracing::warn!(plugin = %context.plugin, seconds = LAST_TURN.as_secs(), "a turn still uses a plugin that was removed; the plugin is closed all the same");
        }
        close(&*hooks, &context).await;
        closed.cancel();
    });
}

/// Closes all plugins of an agent that has stopped, the last one first, and waits for those that left
/// before. A second call does nothing.
pub(in crate::orchestrator) async fn close_all(plugins: &AgentPlugins) {
    let _alone = plugins.changing.lock().await;
    let unloaded = plugins.slots.load().iter().map(Slot::unloaded).collect();
    let slots = plugins.slots.swap(Arc::new(unloaded));
    let loaded =
        slots.iter().filter_map(|slot| slot.loaded.as_ref().zip(slot.plugin.hooks.as_ref()));
    let loaded: Vec<_> = loaded.collect();
    for (Loaded { context, following, .. }, hooks) in loaded.into_iter().rev() {
        following.cancel();
        close(&**hooks, context).await;
    }
    plugins.closing.close();
    // Their turns have ended with the agent.
    let _ = tokio::time::timeout(CLOSE, plugins.closing.wait()).await;
}
