//! The server's own tokens: short, and worth nothing once their family has ended.

use jsonwebtoken::{
    Algorithm, DecodingKey, EncodingKey, Header, Validation, decode, encode, get_current_timestamp,
};
use serde::{Deserialize, Serialize};

/// Name of the key, by which own tokens are told from others before they are checked.
pub(super) const KEY: &str = "galatea";
/// Issuer and audience.
const OURS: &str = "galatea-api";
/// Seconds that a token lasts.
pub(crate) const LASTS: u64 = 600;

#[derive(Debug, Serialize, Deserialize)]
struct Claims {
    iss: String,
    aud: String,
    /// The family of refresh tokens.
    sub: String,
    iat: u64,
    exp: u64,
}

/// Signs tokens.
pub(crate) struct Signer {
    key: [u8; 32],
}

impl Signer {
    pub(super) fn new(key: [u8; 32]) -> Self {
        Self { key }
    }

    /// A token of a family.
    pub(crate) fn sign(&self, family: &str) -> Option<String> {
        let now = get_current_timestamp();
        let claims = Claims {
            iss: OURS.to_owned(),
            aud: OURS.to_owned(),
            sub: family.to_owned(),
            iat: now,
            exp: now + LASTS,
        };
        let header = Header { kid: Some(KEY.to_owned()), ..Header::new(Algorithm::HS256) };
        encode(&header, &claims, &EncodingKey::from_secret(&self.key).ok()?).ok()
    }

    /// The family of a token that holds.
    pub(super) fn check(&self, token: &str) -> Option<String> {
        let mut rules = Validation::new(Algorithm::HS256);
        rules.set_audience(&[OURS]);
        rules.set_issuer(&[OURS]);
        rules.set_required_spec_claims(&["exp", "aud", "iss", "sub"]);
        rules.leeway = 0;
        let key = DecodingKey::from_secret(&self.key).ok()?;
        decode::<Claims>(token, &key, &rules).ok().map(|token| token.claims.sub)
    }
}
