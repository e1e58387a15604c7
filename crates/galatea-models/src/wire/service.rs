//! What an endpoint is made of: time limits, names for people, the key, and where settings come
//! from.

use std::{fmt, time::Duration};

use galatea_core::SecretString;

/// Time limits of one call (`reliability`: first token 30 s, idle 30 s, total 120 s).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// Until the first piece of a streamed answer.
    pub first: Duration,
    /// Between two pieces of a streamed answer.
    pub idle: Duration,
    /// In all, retries included.
    pub total: Duration,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            first: Duration::from_secs(30),
            idle: Duration::from_secs(30),
            total: Duration::from_secs(120),
        }
    }
}

/// How a service and its settings are called in messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Names {
    /// In [`galatea_core::ModelInfo`]: `openai`.
    pub provider: &'static str,
    /// To people: `OpenAI`.
    pub label: &'static str,
    /// The key's variable.
    pub key: &'static str,
    /// The base address's variable.
    pub url: &'static str,
}

/// How to sign in.
#[derive(Clone)]
pub enum Auth {
    /// Not at all: local servers.
    None,
    /// `Authorization: Bearer`.
    Bearer(SecretString),
    /// A header of its own.
    Header(&'static str, SecretString),
}

impl fmt::Debug for Auth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::Bearer(_) => "Bearer(…)",
            Self::Header(..) => "Header(…)",
        })
    }
}

/// Where the settings of an endpoint come from, for messages.
#[derive(Debug, Clone, Default)]
pub struct Origins {
    /// Of the key: `.env line 4`.
    pub key: Option<String>,
    /// Of the address: `OPENAI_BASE_URL from .env line 3`. None while it is the default.
    pub url: Option<String>,
    /// Of each model's name: the name, its variable, and the variable with its place.
    pub models: Vec<(String, &'static str, String)>,
}
