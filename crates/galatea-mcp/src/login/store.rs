//! The file of a login. A refresh holds the server's lock from reading to writing, so two processes
//! never spend the same refresh token, and new tokens are on disk before they are used.

use async_trait::async_trait;
use rmcp::transport::auth::{
    AuthError, CredentialRefreshGuard, CredentialStore, StoredCredentials,
};
use serde::{Deserialize, Serialize};

use crate::places::{self, Places};
use galatea_core::private_file;

/// The login of one server.
#[derive(Clone)]
pub(crate) struct LoginFile {
    places: Places,
    server: String,
    /// [`crate::config::ServerConfig::identity`]: tokens of another address are not this server's.
    identity: String,
}

#[derive(Serialize, Deserialize)]
struct Written {
    identity: String,
    credentials: StoredCredentials,
}

impl LoginFile {
    pub(crate) fn new(places: Places, server: &str, identity: String) -> Self {
        Self { places, server: server.to_owned(), identity }
    }

    fn read(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let text = places::text(&self.places.login(&self.server)).map_err(failed)?;
        let Some(text) = text else { return Ok(None) };
        // Never the text in an error: it contains tokens.
        let written: Written = serde_json::from_str(&text).map_err(|_| {
            AuthError::CredentialStoreError("the file of the login is damaged".into())
        })?;
        Ok(Some(written.credentials).filter(|_| written.identity == self.identity))
    }

    /// Whether there are tokens for this server.
    pub(crate) fn is_there(&self) -> bool {
        matches!(self.read(), Ok(Some(found)) if found.token_response.is_some())
    }
}

#[allow(clippy::needless_pass_by_value, reason = "used as a function for map_err")]
fn failed(error: galatea_core::Error) -> AuthError {
    AuthError::CredentialStoreError(error.report())
}

#[async_trait]
impl CredentialStore for LoginFile {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        self.read()
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let written = Written { identity: self.identity.clone(), credentials };
        let text = serde_json::to_string(&written)
            .map_err(|_| AuthError::CredentialStoreError("the login is not JSON".into()))?;
        private_file::replace_durably(&self.places.login(&self.server), text.as_bytes())
            .map_err(failed)
    }

    async fn clear(&self) -> Result<(), AuthError> {
        match std::fs::remove_file(self.places.login(&self.server)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(AuthError::CredentialStoreError(error.to_string()))
            }
            _ => Ok(()),
        }
    }

    async fn acquire_refresh_guard(&self) -> Result<Option<CredentialRefreshGuard>, AuthError> {
        let (places, server) = (self.places.clone(), self.server.clone());
        // Another process may hold the lock for the length of a request.
        let locked = tokio::task::spawn_blocking(move || places.lock(&server)).await;
        match locked {
            Ok(file) => Ok(Some(CredentialRefreshGuard::new(file.map_err(failed)?))),
            Err(_) => Err(AuthError::CredentialStoreError("the lock was interrupted".into())),
        }
    }
}
