//! OAuth 1.0a user context (RFC 5849, HMAC-SHA1): every request is signed by itself.

use galatea_core::{ExposeSecret, SecretString, Timestamp};
use oauth1_request::{Builder, Credentials, HmacSha1};
use std::{collections::BTreeSet, num::NonZeroU64};

/// The four keys from the developer console.
pub(crate) struct Keys {
    pub(crate) api_key: SecretString,
    pub(crate) api_secret: SecretString,
    pub(crate) token: SecretString,
    pub(crate) token_secret: SecretString,
}

impl Keys {
    /// The `Authorization` header of one request. JSON and multipart bodies are not signed (RFC
    /// 5849 §3.4.1.3.1).
    pub(crate) fn header(
        &self,
        method: &str,
        url: &str,
        query: &[(&str, &str)],
        now: Timestamp,
    ) -> SecretString {
        self.signed(method, url, query, now, None)
    }

    fn signed(
        &self,
        method: &str,
        url: &str,
        query: &[(&str, &str)],
        now: Timestamp,
        nonce: Option<&str>,
    ) -> SecretString {
        let pair = |id: &SecretString, secret: &SecretString| {
            Credentials::new(id.expose_secret().to_owned(), secret.expose_secret().to_owned())
        };
        let mut builder = Builder::new(pair(&self.api_key, &self.api_secret), HmacSha1);
        builder.token(pair(&self.token, &self.token_secret));
        builder.version(true);
        builder.timestamp(u64::try_from(now.0 / 1000).ok().and_then(NonZeroU64::new));
        // `None` generates a random nonce.
        builder.nonce(nonce);
        let parameters: BTreeSet<(&str, &str)> = query.iter().copied().collect();
        SecretString::from(builder.build(method, url, &parameters))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published example of X, "Creating a signature".
    #[test]
    fn the_published_example_is_signed_as_published() {
        let keys = Keys {
            api_key: "xvz1evFS4wEEPTGEFPHBog".to_owned().into(),
            api_secret: "kAcSOqF21Fu85e7zjz7ZN2U4ZRhfV3WpwPAoE3Z7kBw".to_owned().into(),
            token: "370773112-GmHxMAgYyLbNEtIKZeRNFsMKPR9EyMZeS9weJAEb".to_owned().into(),
            token_secret: "LswwdoUaIvS8ltyTt5jkRh4J50vUPVVHtR2YPi5kE".to_owned().into(),
        };
        let parameters = [
            ("include_entities", "true"),
            ("status", "Hello Ladies + Gentlemen, a signed OAuth request!"),
        ];
        let header = keys.signed(
            "POST",
            "https://api.twitter.com/1.1/statuses/update.json",
            &parameters,
            Timestamp(1_318_622_958_000),
            Some("kYjzVBB8Y0ZFabxSWbWovY3uYSQ2pTgmZeNu2VS4cg"),
        );
        let header = header.expose_secret();
        assert!(header.starts_with("OAuth "), "{header}");
        assert!(
            header.contains(r#"oauth_signature="hCtSmYh%2BiHYCEqBWrE7C7hYmtUk%3D""#),
            "{header}"
        );
        assert!(
            header.contains(r#"oauth_timestamp="1318622958""#)
                && header.contains(r#"oauth_version="1.0""#)
        );
        assert!(!header.contains("status="), "parameters of the request are signed, not repeated");
    }

    #[test]
    fn no_two_requests_have_the_same_nonce() {
        let keys = Keys {
            api_key: "a".to_owned().into(),
            api_secret: "b".to_owned().into(),
            token: "1-c".to_owned().into(),
            token_secret: "d".to_owned().into(),
        };
        let header = || {
            keys.header("GET", "https://api.x.com/2/users/me", &[], Timestamp(1_000_000))
                .expose_secret()
                .to_owned()
        };
        assert_ne!(header(), header());
    }
}
