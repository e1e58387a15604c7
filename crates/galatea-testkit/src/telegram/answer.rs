//! Answers of the server: a result, or an error in the Bot API's wording.

use serde_json::{Value, json};

pub(crate) type Answer = Result<Value, Refusal>;

/// An error answer: HTTP status, description and `ResponseParameters` (Bot API, "Making requests").
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Refusal {
    /// `error_code` and HTTP status.
    pub(crate) code: u16,
    /// `description`.
    pub(crate) description: String,
    /// `parameters`.
    pub(crate) parameters: Option<Value>,
    /// True if a correct client would never have sent this request.
    pub(crate) violation: bool,
}

impl Refusal {
    fn new(code: u16, description: impl Into<String>) -> Self {
        Self { code, description: description.into(), parameters: None, violation: false }
    }

    /// 400 caused by the state of the world; a correct client can run into it.
    pub(crate) fn bad(what: impl std::fmt::Display) -> Self {
        Self::new(400, format!("Bad Request: {what}"))
    }

    /// 400 that only a faulty client can cause; a violation.
    pub(crate) fn broken(what: impl std::fmt::Display) -> Self {
        Self { violation: true, ..Self::bad(what) }
    }

    /// 403.
    pub(crate) fn forbidden(what: impl std::fmt::Display) -> Self {
        Self::new(403, format!("Forbidden: {what}"))
    }

    /// 409.
    pub(crate) fn conflict(what: impl std::fmt::Display) -> Self {
        Self::new(409, format!("Conflict: {what}"))
    }

    /// 404 for an unknown path; only a faulty client requests one.
    pub(crate) fn not_found(what: &str) -> Self {
        Self { violation: true, ..Self::new(404, what) }
    }

    /// 401.
    pub(crate) fn unauthorized() -> Self {
        Self::new(401, "Unauthorized")
    }

    /// 413 for uploads over the limit.
    pub(crate) fn too_large() -> Self {
        Self { violation: true, ..Self::new(413, "Request Entity Too Large") }
    }

    /// 429 with `retry_after` in seconds.
    pub(crate) fn too_many(retry_after: u64) -> Self {
        let parameters = Some(json!({ "retry_after": retry_after }));
        Self {
            parameters,
            ..Self::new(429, format!("Too Many Requests: retry after {retry_after}"))
        }
    }

    /// 400 for a group that has become a supergroup.
    pub(crate) fn migrated(to: i64) -> Self {
        let parameters = Some(json!({ "migrate_to_chat_id": to }));
        Self { parameters, ..Self::bad("group chat was upgraded to a supergroup chat") }
    }

    /// Marks the refusal as a violation.
    pub(crate) fn into_violation(mut self) -> Self {
        self.violation = true;
        self
    }

    /// The JSON body.
    pub(crate) fn body(&self) -> Value {
        let mut body =
            json!({ "ok": false, "error_code": self.code, "description": self.description });
        if let (Some(parameters), Some(map)) = (&self.parameters, body.as_object_mut()) {
            map.insert("parameters".to_owned(), parameters.clone());
        }
        body
    }
}
