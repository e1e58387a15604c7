//! Error answers in the API's form (X API v2, "Response codes and errors").

use serde_json::{Value, json};

/// An error answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Problem {
    pub(super) status: u16,
    pub(super) body: Value,
    /// Set when a correct client would never get this answer.
    pub(super) violation: Option<String>,
}

impl Problem {
    fn about(status: u16, title: &str, detail: &str) -> Self {
        Self {
            status,
            body: json!({ "title": title, "detail": detail, "type": "about:blank", "status": status }),
            violation: None,
        }
    }

    /// Marks the answer as a violation.
    pub(super) fn breach(mut self, what: impl Into<String>) -> Self {
        self.violation = Some(what.into());
        self
    }

    /// 400 for a parameter or body that the documents do not allow; a violation.
    pub(super) fn invalid(what: &str) -> Self {
        let body = json!({
            "errors": [{ "message": what }], "title": "Invalid Request", "detail": "One or more parameters to your request was invalid.",
            "type": "https://api.twitter.com/2/problems/invalid-request"
        });
        Self { status: 400, body, violation: Some(what.to_owned()) }
    }

    pub(super) fn unauthorized() -> Self {
        Self::about(401, "Unauthorized", "Unauthorized")
    }

    pub(super) fn not_found(what: &str, id: &str) -> Self {
        let body = json!({
            "title": "Not Found Error", "type": "https://api.twitter.com/2/problems/resource-not-found", "resource_type": what, "parameter": "id",
            "value": id, "detail": format!("Could not find {what} with id: [{id}]."), "status": 404
        });
        Self { status: 404, body, violation: None }
    }

    pub(super) fn no_route() -> Self {
        Self::about(404, "Not Found", "Not Found").breach("unknown route")
    }

    pub(super) fn no_credits() -> Self {
        let body = json!({
            "account_id": 1, "title": "CreditsDepleted", "detail": "Your enrolled account does not have any credits to fulfill this request.",
            "type": "https://api.twitter.com/2/problems/credits"
        });
        Self { status: 402, body, violation: None }
    }

    pub(super) fn not_enrolled() -> Self {
        let body = json!({
            "client_id": "1", "title": "Client Forbidden", "reason": "client-not-enrolled", "required_enrollment": "Appropriate Level of API Access",
            "registration_url": "https://developer.twitter.com/en/docs/projects/overview",
            "detail": "When authenticating requests to the Twitter API v2 endpoints, you must use keys and tokens from a Twitter developer App that is attached to a Project.",
            "type": "https://api.twitter.com/2/problems/client-forbidden"
        });
        Self { status: 403, body, violation: None }
    }

    pub(super) fn read_only() -> Self {
        let body = json!({
            "title": "Forbidden", "detail": "Your client app is not configured with the appropriate oauth1 app permissions for this endpoint.",
            "type": "https://api.twitter.com/2/problems/oauth1-permissions", "status": 403
        });
        Self { status: 403, body, violation: None }
    }

    pub(super) fn forbidden(detail: &str) -> Self {
        Self::about(403, "Forbidden", detail)
    }

    pub(super) fn duplicate() -> Self {
        Self::forbidden("You are not allowed to create a Tweet with duplicate content.")
    }

    pub(super) fn not_summoned() -> Self {
        Self::forbidden(
            "Reply to this conversation is not allowed because you have not been mentioned or otherwise engaged by the author of the post you are replying to.",
        )
    }

    pub(super) fn too_many() -> Self {
        Self::about(429, "Too Many Requests", "Too Many Requests")
    }

    /// An error in OAuth 2's own form (RFC 6749 §5.2).
    pub(super) fn grant(error: &str, description: &str) -> Self {
        Self {
            status: 400,
            body: json!({ "error": error, "error_description": description }),
            violation: None,
        }
    }
}
