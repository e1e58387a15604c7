//! Authenticates requests with a signature (OAuth 1.0a) or a bearer token (OAuth 2).

pub(crate) mod login;
pub(crate) mod oauth1;
pub(crate) mod oauth2;
pub(crate) mod tokens;

use galatea_core::{Result, SecretString, Timestamp};

/// The account's way of authentication.
pub(crate) enum Auth {
    /// Signed requests.
    OAuth1(oauth1::Keys),
    /// Bearer tokens.
    OAuth2(oauth2::Session),
}

/// The content of one request's `Authorization` header.
pub(crate) struct Proof {
    /// Value of the header.
    pub(crate) header: SecretString,
    /// The bearer token it contains, so that the token can be replaced when X refuses it.
    pub(crate) bearer: Option<SecretString>,
}

impl Auth {
    /// The proof for one request. `refused` is the token that X refused in the attempt before.
    ///
    /// # Errors
    /// `Unauthorized` with `GAL-X-LOGIN` if there is no login.
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
