//! The log, for sockets that follow it.

use galatea_core::store::OperatorRole;
use galatea_host::ops::logs::LogLine;
use serde_json::{Value, json};
use std::sync::{Arc, PoisonError};

use crate::{
    eliza::logs::{number, view},
    told::{Filters, Peer},
};

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

/// Shows a line to each socket that follows the log and wants it.
pub(super) fn tell(peers: &[Arc<Peer>], line: &LogLine) {
    let mut shown = None;
    for peer in peers {
        let logs = peer.logs.lock().unwrap_or_else(PoisonError::into_inner);
        if !logs.as_ref().is_some_and(|filters| wants(filters, line)) {
            continue;
        }
        drop(logs);
        let data = shown
            .get_or_insert_with(|| Arc::new(json!({ "type": "log_entry", "payload": view(line) })));
        peer.tell("log_stream", Arc::clone(data));
    }
}

/// Whether a line passes the filters of a socket. `level` is the least one, as a name or a number.
fn wants(filters: &Filters, line: &LogLine) -> bool {
    let least = match filters.get("level") {
        Some(Value::String(name)) if name == "all" => 0,
        Some(Value::String(name)) => u64::from(number(&name.to_lowercase()).unwrap_or(70)),
        Some(level) => level.as_u64().unwrap_or(0),
        None => 0,
    };
    u64::from(number(line.level.as_str()).unwrap_or(30)) >= least
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_core::Timestamp;
    use galatea_host::ops::logs::LogLevel;

    #[test]
    fn a_line_is_shown_from_the_least_level_on() {
        let line = |level| LogLine {
            seq: 1,
            at: Timestamp(1),
            level,
            target: "galatea".to_owned(),
            text: "x".to_owned(),
            turn: None,
        };
        let wants =
            |level: Value, of| wants(&Filters::from_iter([("level".to_owned(), level)]), &line(of));
        assert!(wants(json!("warn"), LogLevel::Error) && wants(json!("WARN"), LogLevel::Warn));
        assert!(!wants(json!("warn"), LogLevel::Info) && !wants(json!(40), LogLevel::Info));
        assert!(wants(json!("all"), LogLevel::Trace) && !wants(json!("no level"), LogLevel::Error));
        assert!(super::wants(&Filters::new(), &line(LogLevel::Trace)));
    }
}
