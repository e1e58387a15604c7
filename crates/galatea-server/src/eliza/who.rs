//! Who asks, and in whose name a message may be sent.

use axum::{
    extract::FromRequestParts,
    http::{StatusCode, request::Parts},
};
use galatea_core::{
    ids::string_to_uuid,
    store::{CredentialKind, OperatorRole},
};
use galatea_host::ops::Operator;
use serde_json::json;
use uuid::Uuid;

use super::envelope::{Refusal, coded};
use crate::presented::Presented;

/// Somebody who is signed in.
pub(super) struct Who {
    pub(super) by: Operator,
    /// The request has a token, not the session of a browser.
    token: bool,
}

/// elizaOS's refusal of a request without its key.
pub(super) fn no_key() -> Refusal {
    let body =
        json!({ "error": "API key required", "message": "Missing or invalid X-API-KEY header" });
    Refusal { status: StatusCode::UNAUTHORIZED, body }
}

impl<S: Send + Sync> FromRequestParts<S> for Who {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        let by = parts.extensions.get::<Operator>().cloned().ok_or_else(no_key)?;
        let token = parts.extensions.get::<Presented>();
        let token = token.is_some_and(|presented| presented.kind() == CredentialKind::Token);
        Ok(Self { by, token })
    }
}

/// The id under which an operator writes.
pub(super) fn own_id(by: &Operator) -> Uuid {
    let name = by.user.map_or_else(|| by.name.clone(), |user| user.to_string());
    string_to_uuid(&format!("user:{name}")).parse().unwrap_or_default()
}

/// Whether an operator may write in the name of an author. Programs that have a token write for
/// others, which is what it is for: they are bridges. A person in a browser writes as themselves.
pub(crate) fn may_write_as(by: &Operator, token: bool, author: Uuid) -> bool {
    by.role >= OperatorRole::Operator && (token || author == own_id(by))
}

impl Who {
    /// Checks that the request may write in the name of an author.
    pub(super) fn writes_as(&self, author: Uuid) -> Result<(), Refusal> {
        if may_write_as(&self.by, self.token, author) {
            return Ok(());
        }
        let message = format!(
            "this request may write as {} only: a token of role operator may name another author",
            own_id(&self.by)
        );
        Err(coded(403, "FORBIDDEN", &message))
    }
}
