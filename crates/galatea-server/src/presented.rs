//! What a request signs in with.

use galatea_core::{SecretString, store::CredentialKind};

/// What a request signs in with.
#[derive(Clone)]
pub(crate) struct Presented {
    pub(crate) kind: CredentialKind,
    pub(crate) secret: SecretString,
}

impl Presented {
    /// Sort of the credential.
    pub(crate) fn kind(&self) -> CredentialKind {
        self.kind
    }

    /// A credential that did not come in a header.
    pub(crate) fn new(kind: CredentialKind, secret: &str) -> Self {
        Self { kind, secret: secret.into() }
    }

    /// A program's token, not the session of a browser.
    pub(crate) fn is_token(&self) -> bool {
        self.kind == CredentialKind::Token
    }
}
