//! Keeper of one key of a connector's state: restores it at the start and stores it after each
//! change.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::convert::Infallible;
use tokio::sync::Notify;

use crate::{error::Result, gateway::Gateway};

/// A key of an account's state that changes while the connector runs, such as what was spent
/// today. The connector calls [`Self::restore`] when it starts, [`Self::changed`] after each
/// change, polls [`Self::keep`] beside its work, and calls [`Self::keep_now`] before it ends.
///
/// Losing the last change must be bearable: a failure to store it is logged, and the next change
/// stores both. What must not be lost goes through [`Gateway::save_state`] or
/// [`crate::Batch::state`].
#[derive(Debug)]
pub struct StateKeeper {
    key: &'static str,
    changed: Notify,
}

impl StateKeeper {
    /// The keeper of this key.
    pub fn new(key: &'static str) -> Self {
        Self { key, changed: Notify::new() }
    }

    /// Has [`Self::keep`] store the value. Many calls before it gets there are one.
    pub fn changed(&self) {
        self.changed.notify_one();
    }

    /// The stored value; none when there is none or when it is malformed.
    ///
    /// # Errors
    /// What the store says.
    pub async fn restore<T: DeserializeOwned>(&self, gateway: &Gateway) -> Result<Option<T>> {
        let Some(value) = gateway.state(self.key).await? else { return Ok(None) };
        Ok(decode(self.key, value))
    }

    /// Stores `value` after each change, as long as it is polled.
    pub async fn keep<T: Serialize>(
        &self,
        gateway: &Gateway,
        value: impl Fn() -> Option<T>,
    ) -> Infallible {
        loop {
            self.changed.notified().await;
            self.keep_now(gateway, value()).await;
        }
    }

    /// Stores `value`, if there is one.
    pub async fn keep_now<T: Serialize>(&self, gateway: &Gateway, value: Option<T>) {
        let Some(value) = value.and_then(|value| serde_json::to_value(value).ok()) else { return };
        if let Err(error) = gateway.save_state(self.key, value).await {
            tracing::debug!(key = self.key, error = %error.report(), "failed to store the connector's state; the next change stores it too");
        }
    }
}

/// Decodes a stored value. A malformed one counts as none, and is replaced by the next change.
fn decode<T: DeserializeOwned>(key: &str, value: Value) -> Option<T> {
    serde_json::from_value(value)
        .inspect_err(|error| {
            tracing::warn!(key, %error, "failed to decode the connector's state; it starts empty");
        })
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_malformed_value_counts_as_none() {
        assert_eq!(decode::<Vec<i64>>("identify", serde_json::json!([1, 2])), Some(vec![1, 2]));
        assert_eq!(decode::<Vec<i64>>("identify", serde_json::json!({"a": 1})), None);
    }
}
