//! Tokens of another program. The key decides the algorithm, never the token: a public key is no secret
//! of HS256, and `none` is no algorithm.

use galatea_core::{Error, ExposeSecret as _, Result};
use galatea_host::config::ForeignTokens;
use galatea_http::HttpClient;
use jsonwebtoken::{
    Algorithm, DecodingKey, Header, Validation, decode,
    jwk::{AlgorithmParameters, Jwk, JwkSet, PublicKeyUse},
};
use serde_json::{Map, Value};
use std::time::{Duration, Instant};
use tokio::sync::Mutex;
use url::Url;

/// Clocks of two machines differ by this much, in seconds.
const LEEWAY: u64 = 30;
/// How long a key set is taken for the present one.
const FRESH: Duration = Duration::from_secs(600);
/// Shortest pause between two reads because of an unknown key: a caller may name any.
const PAUSE: Duration = Duration::from_secs(60);
/// Longest key set in bytes.
const LONGEST: usize = 256 * 1024;
/// Longest wait for a key set.
const PATIENCE: Duration = Duration::from_secs(10);

/// A key set (JWKS) of an address.
pub(crate) struct Keys {
    http: HttpClient,
    url: Url,
    known: Mutex<Option<(JwkSet, Instant)>>,
}

/// Claims of a token.
pub(crate) type Claims = Map<String, Value>;

/// What an ID token has to say.
pub(crate) struct IdClaims<'a> {
    pub(crate) issuer: &'a str,
    pub(crate) client: &'a str,
    pub(crate) nonce: &'a str,
}

impl Keys {
    pub(crate) fn new(http: HttpClient, url: Url) -> Self {
        Self { http, url, known: Mutex::default() }
    }

    /// The key of this name, or the only one where the token names none.
    async fn find(&self, id: Option<&str>) -> Result<Option<Jwk>> {
        let mut known = self.known.lock().await;
        let named = |set: &JwkSet| match (id, set.keys.as_slice()) {
            (Some(id), _) => set.find(id).cloned(),
            (None, [only]) => Some(only.clone()),
            (None, _) => None,
        };
        if let Some((set, read)) = known.as_ref() {
            let found = named(set);
            let age = read.elapsed();
            if age < PAUSE || age < FRESH && found.is_some() {
                return Ok(found);
            }
        }
        let request = self.http.get(self.url.as_str()).max_body(LONGEST).total_timeout(PATIENCE);
        let answer = request.send().await?.ok()?;
        let set: JwkSet = serde_json::from_slice(&answer.bytes().await?).map_err(|error| {
            Error::invalid("the key set of tokens cannot be read").with("cause", error)
        })?;
        let found = named(&set);
        *known = Some((set, Instant::now()));
        Ok(found)
    }

    /// Checks an ID token of OpenID Connect (Core 1.0 §3.1.3.7).
    pub(crate) async fn id_token(&self, token: &str, wanted: &IdClaims<'_>) -> Option<Claims> {
        let header = jsonwebtoken::decode_header(token).ok()?;
        let (key, algorithm) = self.key(&header).await?;
        let claims = claims(token, &key, algorithm, wanted.issuer, wanted.client)?;
        let several = matches!(claims.get("aud"), Some(Value::Array(all)) if all.len() > 1);
        let party = claims.get("azp").and_then(Value::as_str);
        let nonce = claims.get("nonce").and_then(Value::as_str);
        let ours = party.map_or(!several, |party| party == wanted.client);
        (nonce == Some(wanted.nonce) && ours).then_some(claims)
    }

    async fn key(&self, header: &Header) -> Option<(DecodingKey, Algorithm)> {
        let found = self.find(header.kid.as_deref()).await;
        let key = found.inspect_err(|error| {
            tracing::warn!(error = %error.report(), "the keys of tokens could not be read; the token is refused");
        });
        let key = key.ok()??;
        if key.common.public_key_use.as_ref().is_some_and(|of| *of != PublicKeyUse::Signature) {
            return None;
        }
        let algorithm = match &key.algorithm {
            AlgorithmParameters::RSA(_) => Algorithm::RS256,
            AlgorithmParameters::OctetKeyPair(_) => Algorithm::EdDSA,
            _ => return None,
        };
        Some((DecodingKey::from_jwk(&key).ok()?, algorithm))
    }
}

/// The claims of a foreign token that signs in.
pub(super) async fn check(
    tokens: &ForeignTokens,
    keys: Option<&Keys>,
    token: &str,
    header: &Header,
) -> Option<Claims> {
    let (key, algorithm) = match (header.alg, &tokens.secret, keys) {
        (Algorithm::HS256, Some(secret), _) => {
            let key = DecodingKey::from_secret(secret.expose_secret().as_bytes()).ok()?;
            (key, Algorithm::HS256)
        }
        (Algorithm::HS256, None, _) | (_, _, None) => return None,
        (_, _, Some(keys)) => keys.key(header).await?,
    };
    claims(token, &key, algorithm, &tokens.issuer, &tokens.audience)
}

fn claims(
    token: &str,
    key: &DecodingKey,
    algorithm: Algorithm,
    issuer: &str,
    audience: &str,
) -> Option<Claims> {
    let mut rules = Validation::new(algorithm);
    rules.set_issuer(&[issuer]);
    rules.set_audience(&[audience]);
    rules.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
    rules.validate_nbf = true;
    rules.leeway = LEEWAY;
    decode::<Claims>(token, key, &rules).ok().map(|token| token.claims)
}
