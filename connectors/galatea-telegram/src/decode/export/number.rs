//! Numbers of an export.

use serde_json::Value;

/// A number, or a text that is one.
pub(super) fn integer(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}
