//! Stores an account's rate-limit pause, so that it outlives a restart.

use super::{route::Route, state::Outbox};

/// Key under which an account's pause is kept until it is over.
fn pause_key(route: &Route) -> String {
    format!("pause:{}:{}", route.info.source, route.info.account)
}

/// Restores an account's rate-limit pause after a restart.
pub(super) async fn restore_pauses(outbox: &Outbox, route: &Route) {
    match outbox.store.cached(outbox.identity.id(), &pause_key(route), outbox.clock.now()).await {
        Ok(kept) => {
            if let Some(pauses) = kept.and_then(|value| serde_json::from_value(value).ok()) {
                tracing::info!(source = %route.info.source, account = %route.info.account, "a rate-limit pause of this account still holds");
                route.stack.gate().restore(pauses, outbox.clock.now());
            }
        }
        Err(error) => {
            tracing::warn!(source = %route.info.source, account = %route.info.account, error = %error.report(), "failed to read the rate-limit pause of an account; sending without it")
        }
    }
}

/// Stores an account's rate-limit pause, if it is new. Losing it costs one refused call.
pub(super) async fn keep_pauses(outbox: &Outbox, route: &Route) {
    let Some((pauses, until)) = route.stack.gate().to_keep() else { return };
    let kept = outbox
        .store
        .cache(outbox.identity.id(), &pause_key(route), &serde_json::json!(pauses), Some(until))
        .await;
    if let Err(error) = kept {
        tracing::warn!(source = %route.info.source, account = %route.info.account, error = %error.report(), "failed to store the rate-limit pause of an account; a restart forgets it");
    }
}
