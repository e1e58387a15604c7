//! The log, for sockets that follow it.

use galatea_core::store::OperatorRole;
use serde_json::{Map, Value, json};
use std::sync::{Arc, PoisonError};

use super::told::Peer;

/// What a socket wants to see of the log: `agentName` and `level`.
pub(super) type Filters = Map<String, Value>;
/// Most keys of filters.
const KEYS: usize = 16;

/// Begins to show the log. Lines name people and rooms, so that it is for operators.
pub(super) fn subscribe(peer: &Peer, role: OperatorRole) {
    if role < OperatorRole::Operator {
        peer.tell("messageError", Arc::new(json!({ "error": "this needs the role operator" })));
        return;
    }
    *peer.logs.lock().unwrap_or_else(PoisonError::into_inner) = Some(Filters::new());
    let message = "Successfully subscribed to log stream";
    let told = json!({ "subscribed": true, "message": message });
    peer.tell("log_subscription_confirmed", Arc::new(told));
}

pub(super) fn unsubscribe(peer: &Peer) {
    *peer.logs.lock().unwrap_or_else(PoisonError::into_inner) = None;
    let message = "Successfully unsubscribed from log stream";
    let told = json!({ "subscribed": false, "message": message });
    peer.tell("log_subscription_confirmed", Arc::new(told));
}

pub(super) fn filter(peer: &Peer, filters: &Value) {
    let mut logs = peer.logs.lock().unwrap_or_else(PoisonError::into_inner);
    let told = match logs.as_mut() {
        None => json!({ "success": false, "error": "Not subscribed to log stream" }),
        Some(known) => {
            let new = filters.as_object().cloned().unwrap_or_default();
            known.extend(new.into_iter().take(KEYS));
            json!({ "success": true, "filters": known })
        }
    };
    drop(logs);
    peer.tell("log_filters_updated", Arc::new(told));
}
