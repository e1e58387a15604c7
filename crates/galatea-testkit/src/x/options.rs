//! How the server behaves.

use galatea_core::{Clock, SystemClock};
use std::sync::Arc;

/// Credentials of OAuth 1.0a.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keys {
    /// API key.
    pub api_key: String,
    /// API key secret.
    pub api_secret: String,
    /// Access token; begins with the account's id.
    pub token: String,
    /// Access token secret.
    pub token_secret: String,
}

/// Permission of the access token, reported in `x-access-level`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Read only.
    Read,
    /// Read and write.
    Write,
}

/// How the server behaves. `Options::default()` is strict and records everything.
#[derive(Clone)]
pub struct Options {
    /// The account's id.
    pub account: u64,
    /// The account's name.
    pub name: String,
    /// The account's handle.
    pub handle: String,
    /// Credentials of OAuth 1.0a.
    pub keys: Keys,
    /// Client id of OAuth 2.
    pub client_id: String,
    /// Client secret of OAuth 2; a public client has none.
    pub client_secret: Option<String>,
    /// Redirect URL of OAuth 2.
    pub redirect: String,
    /// Permission of the access token.
    pub access: Access,
    /// Whether the account may reply unsummoned, like and quote.
    pub enterprise: bool,
    /// Handles the account may mention besides those in the conversation; any other mention is a
    /// violation.
    pub may_mention: Vec<String>,
    /// Most posts on one page, whatever the request asks for.
    pub page: usize,
    /// Clock of dates, windows and tokens.
    pub clock: Arc<dyn Clock>,
}

impl Default for Options {
    fn default() -> Self {
        let account = 1_700_000_000_000_000_001;
        Self {
            account,
            name: "Galatea".to_owned(),
            handle: "galatea_test".to_owned(),
            keys: Keys {
                api_key: "testkitCanaryApiKey01234".to_owned(),
                api_secret: "testkitCanaryApiSecret0123456789abcdefghijklmnop".to_owned(),
                token: format!("{account}-testkitCanaryToken0123456789abcdef"),
                token_secret: "testkitCanaryTokenSecret0123456789abcdef".to_owned(),
            },
            client_id: "testkitClient".to_owned(),
            client_secret: None,
            redirect: "http://127.0.0.1:8765/callback".to_owned(),
            access: Access::Write,
            enterprise: false,
            may_mention: Vec::new(),
            page: 100,
            clock: Arc::new(SystemClock),
        }
    }
}
