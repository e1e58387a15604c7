//! X's description of a refusal.

use galatea_http::json;
use serde_json::Value;
use std::time::Duration;

/// A refusal in the API's form (X API v2, "Response codes and errors"; RFC 7807).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Problem {
    /// HTTP status.
    pub(crate) status: u16,
    /// Short name.
    pub(crate) title: String,
    /// X's explanation.
    pub(crate) detail: String,
    /// URI that identifies the kind of problem.
    pub(crate) kind: String,
    /// Machine-readable reason, such as `client-not-enrolled`.
    pub(crate) reason: String,
    /// Time until the limit is lifted.
    pub(crate) reset: Option<Duration>,
    /// Error of this machine's clock, in seconds, when the answer carries a `date`.
    pub(crate) skew: Option<i64>,
}

impl Problem {
    /// Reads the body of a refusal; `None` if it does not have the API's form.
    pub(crate) fn read(status: u16, body: &[u8]) -> Option<Self> {
        let body: Value = json::read(body).ok()?;
        let errors = body.get("errors").and_then(Value::as_array).and_then(|list| list.first());
        let text = |name: &str| {
            body.get(name)
                .or_else(|| errors?.get(name))
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let detail = [text("detail"), text("message"), text("error_description")]
            .into_iter()
            .find(|t| !t.is_empty())
            .unwrap_or_default();
        let (title, kind) = (
            [text("title"), text("error")].into_iter().find(|t| !t.is_empty()).unwrap_or_default(),
            text("type"),
        );
        (!title.is_empty() || !detail.is_empty()).then(|| Self {
            status,
            title,
            detail,
            kind,
            reason: text("reason"),
            reset: None,
            skew: None,
        })
    }

    pub(super) fn says(&self, words: &str) -> bool {
        format!("{} {} {} {}", self.title, self.detail, self.kind, self.reason)
            .to_ascii_lowercase()
            .contains(words)
    }

    /// X refused the post because the same text was posted recently.
    pub(crate) fn is_duplicate(&self) -> bool {
        self.status == 403 && self.says("duplicate content")
    }
}
