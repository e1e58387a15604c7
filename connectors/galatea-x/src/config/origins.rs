//! Remembers which file and line each setting came from, for error messages: `TWITTER_ACCESS_TOKEN
//! from .env line 4`.

use galatea_core::{Error, Settings, Variable};

use super::{Credentials, variables as v};
use crate::error::codes;

/// Origins of the settings that errors refer to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Origins {
    keys: Option<String>,
    root: Option<String>,
    dry_run: Option<String>,
}

impl Origins {
    /// Looks up the origin of each setting.
    pub(super) fn read(settings: &Settings, credentials: &Credentials) -> Self {
        let from = |variable: &Variable| {
            settings
                .find(variable)
                .map(|setting| format!("{} from {}", variable.name, setting.origin))
        };
        let keys = match credentials {
            Credentials::OAuth1 { .. } => &v::TOKEN,
            Credentials::OAuth2 { .. } => &v::CLIENT_ID,
        };
        Self { keys: from(keys), root: from(&v::API_ROOT), dry_run: from(&v::DRY_RUN) }
    }

    /// Adds the origin of the setting that `error` is about.
    pub(crate) fn add(&self, error: Error) -> Error {
        let place = match error.code() {
            Some(
                codes::TOKEN
                | codes::LOGIN
                | codes::UNAUTHORIZED
                | codes::PERMISSION
                | codes::ENROLL
                | codes::CREDITS,
            ) => &self.keys,
            Some(codes::CONNECT | codes::TIMEOUT | codes::GARBAGE) => &self.root,
            Some(codes::DRY_RUN) => &self.dry_run,
            _ => &None,
        };
        match place.as_ref().filter(|_| error.context().iter().all(|(key, _)| *key != "where")) {
            Some(place) => error.with("where", place),
            None => error,
        }
    }
}
