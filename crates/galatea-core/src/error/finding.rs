//! A result of a check, for people.

use serde::Serialize;

use crate::{error::Error, redact::masked_string};

/// A result of `doctor` or `connector check`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// Stable code, such as `GAL-TG-PRIVACY`.
    pub id: String,
    /// Decides the mark and the exit code of `galatea doctor`.
    pub severity: Severity,
    /// Subject: `connector`, `model`, `storage`, `character`, `file`, `variable`.
    pub subject: String,
    /// The result, in one sentence.
    pub message: String,
    /// Observation, such as `getMe answered 401`.
    pub cause: Option<String>,
    /// Origin of the setting.
    pub origin: Option<String>,
    /// Next step of the reader; none for a good result.
    pub fix: Option<String>,
    /// Offer of `--fix`, as a question: `Remove the webhook to example.com?`. None:
    /// only a person can.
    pub repair: Option<String>,
}

impl Finding {
    /// A check that passed.
    pub fn ok(
        id: impl Into<String>,
        subject: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self::new(Severity::Ok, id, subject, message)
    }
    /// A check with the given result; `fix` and `code` are added by the other methods. Whatever has
    /// the shape of a secret is masked.
    pub fn new(
        severity: Severity,
        id: impl Into<String>,
        subject: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            id: id.into(),
            severity,
            subject: subject.into(),
            message: masked_string(message.into()),
            cause: None,
            origin: None,
            fix: None,
            repair: None,
        }
    }
    /// A failure, from an error's own code, message and fix; its context `cause` and `where` are
    /// the cause and the origin.
    pub fn failure(subject: impl Into<String>, error: &Error) -> Self {
        let context_of =
            |key: &str| error.context().iter().find(|(k, _)| *k == key).map(|(_, v)| v.clone());
        Self {
            fix: error.fix().map(str::to_owned),
            cause: context_of("cause"),
            origin: context_of("where"),
            ..Self::new(
                Severity::Error,
                error.code().unwrap_or("GAL-UNEXPECTED"),
                subject,
                error.message(),
            )
        }
    }
    /// With the next action.
    #[must_use]
    pub fn with_fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(masked_string(fix.into()));
        self
    }
    /// With what `--fix` would do, as a question.
    #[must_use]
    pub fn with_repair(mut self, repair: impl Into<String>) -> Self {
        self.repair = Some(repair.into());
        self
    }
    /// With what was seen.
    #[must_use]
    pub fn with_cause(mut self, cause: impl Into<String>) -> Self {
        self.cause = Some(masked_string(cause.into()));
        self
    }
}

/// Severity of a [`Finding`], from best to worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The check passed.
    Ok,
    /// Works, with something to know.
    Info,
    /// It works, but something is missing or will break.
    Warning,
    /// It does not work until a person does something.
    Error,
}
