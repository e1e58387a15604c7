//! Who we are: a signature (OAuth 1.0a) or a bearer token (OAuth 2) on every request.

pub(crate) mod login;
pub(crate) mod oauth1;
pub(crate) mod oauth2;
pub(crate) mod tokens;

use galatea_core::{Result, SecretString, Timestamp};

/// One of the two ways.
pub(crate) enum Auth {
    /// Signed requests.
    OAuth1(oauth1::Keys),
    /// Bearer tokens.
    OAuth2(oauth2::Session),
}

/// What goes into one request's `Authorization` header.
pub(crate) struct Proof {
    /// The header.
    pub(crate) header: SecretString,
    /// The bearer token in it, to be replaced when X refuses it.
    pub(crate) bearer: Option<SecretString>,
}

impl Auth {
    /// The proof for one request; `refused` is the token of a try before.
    ///
    /// # Errors
    /// `Unauthorized` with `GAL-X-LOGIN` without a login.
    pub(crate) async fn proof(
        &self,
        method: &str,
        url: &str,
        query: &[(&str, &str)],
        now: Timestamp,
        refused: Option<&SecretString>,
    ) -> Result<Proof> {
        use galatea_core::ExposeSecret;
        match self {
            Self::OAuth1(keys) => {
                Ok(Proof { header: keys.header(method, url, query, now), bearer: None })
            }
            Self::OAuth2(session) => {
                let token = match refused {
                    Some(refused) => session.another(refused).await?,
                    None => session.access_token().await?,
                };
                Ok(Proof {
                    header: SecretString::from(format!("Bearer {}", token.expose_secret())),
                    bearer: Some(token),
                })
            }
        }
    }
}
