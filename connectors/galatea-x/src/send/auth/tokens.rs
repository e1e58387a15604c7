//! The tokens of OAuth 2 on disk. The refresh token is replaced by every refresh, so the new one is
//! durable before anything uses it.

use galatea_core::{Error, Result, SecretString, Timestamp};
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize, Serializer};
use std::{
    fs::File,
    path::{Path, PathBuf},
};

use crate::{error::codes, send::keep};

/// What a login or refresh brought.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Tokens {
    /// Good for two hours (X, OAuth 2).
    #[serde(serialize_with = "written")]
    pub(crate) access_token: SecretString,
    /// Good once.
    #[serde(serialize_with = "written")]
    pub(crate) refresh_token: SecretString,
    /// When the access token ends.
    pub(crate) expires_at: Timestamp,
    /// What was allowed.
    pub(crate) scope: String,
    /// The account.
    pub(crate) user_id: String,
    /// Its handle.
    pub(crate) user_name: String,
}

/// The file is the one place where they may be written out.
fn written<S: Serializer>(secret: &SecretString, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(secret.expose_secret())
}

/// Where the tokens are.
#[derive(Debug, Clone)]
pub(crate) struct TokenFile(PathBuf);

impl TokenFile {
    /// In an account's folder.
    pub(crate) fn in_folder(folder: &Path) -> Self {
        Self(folder.join("oauth2.json"))
    }

    /// What is there; none before the first login.
    ///
    /// # Errors
    /// `Invalid` for a file that is broken.
    pub(crate) fn read(&self) -> Result<Option<Tokens>> {
        let bytes = match std::fs::read(&self.0) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => {
                return Err(Error::unexpected("the tokens of X cannot be read")
                    .with_code(codes::LOGIN)
                    .with("cause", e.kind()));
            }
        };
        // The parser's words would repeat parts of the file.
        serde_json::from_slice(&bytes).map(Some).map_err(|_| {
            Error::invalid("the file with the tokens of X is broken")
                .with_code(codes::LOGIN)
                .with_fix("log in again: `galatea connector login x`")
        })
    }

    /// Replaces them, durably.
    ///
    /// # Errors
    /// `Unexpected` when the disk refuses; the old ones are still there then.
    pub(crate) fn write(&self, tokens: &Tokens) -> Result<()> {
        let bytes = serde_json::to_vec_pretty(tokens)
            .map_err(|_| Error::unexpected("the tokens of X cannot be written as JSON"))?;
        keep::replace(&self.0, &bytes, true)
    }

    /// Keeps other processes from refreshing meanwhile: a second refresh with the same token would
    /// end the login. Blocks.
    pub(crate) fn lock(&self) -> Result<File> {
        let failed = |e: std::io::Error| {
            Error::unexpected("the tokens of X cannot be locked")
                .with_code(codes::LOGIN)
                .with("cause", e.kind())
        };
        if let Some(folder) = self.0.parent() {
            keep::make(folder).map_err(failed)?;
        }
        let file = keep::private()
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
        let tokens = Tokens {
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
