//! The parts of an endpoint: time limits, names for people, the key, and the origins of its
//! settings.

use std::{fmt, time::Duration};

use galatea_core::SecretString;

/// Time limits of one call (`reliability`: first token 30 s, idle 30 s, total 120 s).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// Until the first piece of a streamed answer.
    pub first: Duration,
    /// Between two pieces of a streamed answer.
    pub idle: Duration,
    /// In total, retries included.
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

/// Names of a service and its settings, for messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Names {
    /// The provider in [`galatea_core::ModelInfo`]: `openai`.
    pub provider: &'static str,
    /// Name for people: `OpenAI`.
    pub label: &'static str,
    /// The key's variable.
    pub key: &'static str,
    /// The base address's variable.
    pub url: &'static str,
}

/// Authentication.
#[derive(Clone)]
pub enum Auth {
    /// None, for local servers.
    None,
    /// `Authorization: Bearer`.
    Bearer(SecretString),
    /// A header specific to the service.
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

/// Origins of an endpoint's settings, for messages.
#[derive(Debug, Clone, Default)]
pub struct Origins {
    /// Origin of the key: `.env line 4`.
    pub key: Option<String>,
    /// Origin of the address: `OPENAI_BASE_URL from .env line 3`. `None` for the default address.
    pub url: Option<String>,
    /// For each model's name: the name, its variable, and the variable with its origin.
    pub models: Vec<(String, &'static str, String)>,
}
