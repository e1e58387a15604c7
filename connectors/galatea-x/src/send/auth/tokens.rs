//! Stores the OAuth 2 tokens on disk. Each refresh replaces the refresh token, so the new one is
//! made durable before it is used.

use galatea_core::{Error, Result, SecretString, Timestamp, private_file};
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize, Serializer};
use std::{
    fs::File,
    path::{Path, PathBuf},
};

use crate::error::codes;

/// The tokens that a login or a refresh returned.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct LoginTokens {
    /// Valid for two hours (X, OAuth 2).
    #[serde(serialize_with = "written")]
    pub(crate) access_token: SecretString,
    /// Can be used once.
    #[serde(serialize_with = "written")]
    pub(crate) refresh_token: SecretString,
    /// Expiry of the access token.
    pub(crate) expires_at: Timestamp,
    /// The granted scopes.
    pub(crate) scope: String,
    /// The account's id.
    pub(crate) user_id: String,
    /// The account's handle.
    pub(crate) user_name: String,
}

/// Writes a token in plain text. Used for the file only.
fn written<S: Serializer>(secret: &SecretString, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(secret.expose_secret())
}

/// The file that holds the tokens.
#[derive(Debug, Clone)]
pub(crate) struct TokenFile(PathBuf);

impl TokenFile {
    /// The token file in an account's folder.
    pub(crate) fn in_folder(folder: &Path) -> Self {
        Self(folder.join("oauth2.json"))
    }

    /// The stored tokens; `None` before the first login.
    ///
    /// # Errors
    /// `Invalid` for a malformed file, `Unexpected` for one that cannot be read.
    pub(crate) fn read(&self) -> Result<Option<LoginTokens>> {
        let bytes = match std::fs::read(&self.0) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => {
                return Err(Error::unexpected("the tokens of X cannot be read")
                    .with_code(codes::LOGIN)
                    .with("cause", e.kind()));
            }
        };
        // The parser's message would repeat parts of the file, which contains tokens.
        serde_json::from_slice(&bytes).map(Some).map_err(|_| {
            Error::invalid("the file with the tokens of X is broken")
                .with_code(codes::LOGIN)
                .with_fix("log in again: `galatea connector login x`")
        })
    }

    /// Replaces the stored tokens, durably.
    ///
    /// # Errors
    /// `Unexpected` when the file cannot be written; the old tokens are then still there.
    pub(crate) fn write(&self, tokens: &LoginTokens) -> Result<()> {
        let bytes = serde_json::to_vec_pretty(tokens)
            .map_err(|_| Error::unexpected("the tokens of X cannot be written as JSON"))?;
        private_file::replace_durably(&self.0, &bytes)
    }

    /// Locks out other processes during a refresh: a second refresh with the same token would end
    /// the login. Blocks the thread.
    pub(crate) fn lock(&self) -> Result<File> {
        let failed = |e: std::io::Error| {
            Error::unexpected("the tokens of X cannot be locked")
                .with_code(codes::LOGIN)
                .with("cause", e.kind())
        };
        if let Some(folder) = self.0.parent() {
            private_file::create_folder(folder).map_err(failed)?;
        }
        let file = private_file::options()
            .create(true)
            .append(true)
            .open(self.0.with_extension("lock"))
            .map_err(failed)?;
        file.lock().map_err(failed)?;
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_survive_and_are_not_shown() {
        let folder = tempfile::tempdir().unwrap();
        let file = TokenFile::in_folder(folder.path());
        assert!(file.read().unwrap().is_none());
        let tokens = LoginTokens {
            access_token: "canaryA".to_owned().into(),
            refresh_token: "canaryR".to_owned().into(),
            expires_at: Timestamp(5),
            scope: "tweet.read".into(),
            user_id: "7".into(),
            user_name: "ann".into(),
        };
        file.write(&tokens).unwrap();
        assert_eq!(file.read().unwrap().unwrap().refresh_token.expose_secret(), "canaryR");
        assert!(!format!("{tokens:?}").contains("canary"));
        std::fs::write(folder.path().join("oauth2.json"), "{\"access_token\": \"canaryA").unwrap();
        let error = file.read().unwrap_err();
        assert!(!format!("{error} {error:?}").contains("canary"));
    }
}
