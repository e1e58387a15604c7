//! Closes one plugin, or those that were begun in vain.

use futures::FutureExt;
use galatea_core::{PluginContext, PluginHooks};
use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

/// Longest time of a plugin's `close`.
pub(super) const CLOSE: Duration = Duration::from_secs(10);

/// Closes plugins that were begun for a change which failed.
pub(super) async fn undo(begun: Vec<(Arc<dyn PluginHooks>, PluginContext)>) {
    for (hooks, context) in begun.into_iter().rev() {
        close(&*hooks, &context).await;
    }
}

/// Closes a plugin, whatever its code does.
pub(super) async fn close(hooks: &dyn PluginHooks, context: &PluginContext) {
    let work = AssertUnwindSafe(hooks.close(context)).catch_unwind();
    match tokio::time::timeout(CLOSE, work).await {
        Ok(Ok(Ok(()))) => {}
        Ok(Ok(Err(error))) => {
            tracing::warn!(plugin = %context.plugin, error = %error.report(), "a plugin failed to close; it is dropped");
        }
        Ok(Err(_)) | Err(_) => {
            tracing::warn!(plugin = %context.plugin, "a plugin crashed or took too long while closing; it is dropped");
        }
    }
}
