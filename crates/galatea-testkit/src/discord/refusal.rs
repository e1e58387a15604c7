//! Discord's error answers.

use serde_json::{Value, json};
use std::time::Duration;

/// Result of a call; null stands for 204.
pub(crate) type Answer = Result<Value, Refusal>;

/// An answer with an error body.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Refusal {
    /// HTTP status.
    pub(crate) status: u16,
    /// Discord's error code.
    pub(crate) code: u32,
    /// Discord's error message.
    pub(crate) message: &'static str,
    /// Errors per field.
    pub(crate) errors: Value,
    /// Rate limit, for 429.
    pub(crate) limit: Option<Limit>,
    /// Set when a correct client would not have sent the call.
    pub(crate) violation: Option<String>,
}

/// A rate limit that refused a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Limit {
    pub(crate) retry_after: Duration,
    pub(crate) global: bool,
    pub(crate) shared: bool,
}

impl Refusal {
    pub(crate) fn new(status: u16, code: u32, message: &'static str) -> Self {
        Self { status, code, message, errors: Value::Null, limit: None, violation: None }
    }

    /// 50035 for a faulty field; always a violation.
    pub(crate) fn form(field: &str, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        let mut errors = json!({ "_errors": [{ "code": "BASE_TYPE_BAD", "message": reason }] });
        for name in field.rsplit('.') {
            errors = json!({ name: errors });
        }
        Self {
            errors,
            violation: Some(format!("{field}: {reason}")),
            ..Self::new(400, 50035, "Invalid Form Body")
        }
    }

    /// Marks the refusal as a violation.
    pub(crate) fn wrong(mut self, why: impl Into<String>) -> Self {
        self.violation = Some(why.into());
        self
    }

    pub(crate) fn too_many(limit: Limit) -> Self {
        Self { limit: Some(limit), ..Self::new(429, 0, "You are being rate limited.") }
    }

    pub(crate) fn unknown_channel() -> Self {
        Self::new(404, 10003, "Unknown Channel")
    }

    pub(crate) fn unknown_message() -> Self {
        Self::new(404, 10008, "Unknown Message")
    }

    /// 50013: the bot lacks a permission.
    pub(crate) fn permission() -> Self {
        Self::new(403, 50013, "Missing Permissions")
    }

    /// 50001: the bot cannot see the object.
    pub(crate) fn access() -> Self {
        Self::new(403, 50001, "Missing Access")
    }

    pub(crate) fn body(&self) -> Value {
        if let Some(limit) = &self.limit {
            return json!({ "message": self.message, "retry_after": limit.retry_after.as_secs_f64(), "global": limit.global });
        }
        let mut body = json!({ "message": self.message, "code": self.code });
        if !self.errors.is_null() {
            body["errors"] = self.errors.clone();
        }
        body
    }
}
