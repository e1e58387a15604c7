//! JSON Web Tokens: the server's own, by which programs that signed in with a password ask, and those of
//! another program or of an OpenID Connect provider.

mod crypto;
mod foreign;
mod own;

pub(crate) use foreign::{IdClaims, Keys};
pub(crate) use own::{LASTS, Signer};

use galatea_core::{Error, ErrorKind};
use galatea_host::{
    config::ForeignTokens,
    ops::{Operator, Ops},
};
use galatea_http::{HttpClient, HttpOptions};
use jsonwebtoken::decode_header;
use serde_json::Value;
use std::sync::Arc;

/// Longest token that is looked at, in bytes.
const LONGEST: usize = 8 * 1024;

/// Signs and checks tokens.
pub(crate) struct Jwt {
    signer: Signer,
    foreign: Option<(ForeignTokens, Option<Arc<Keys>>)>,
}

impl Jwt {
    /// `key` signs own tokens; a random one without it.
    pub(crate) fn new(foreign: Option<&ForeignTokens>, key: [u8; 32]) -> Self {
        crypto::install();
        let foreign = foreign.map(|tokens| {
            let keys = tokens.keys.as_ref().and_then(|url| {
                let http = HttpClient::new(HttpOptions::default()).ok()?;
                Some(Arc::new(Keys::new(http, url.clone())))
            });
            (tokens.clone(), keys)
        });
        Self { signer: Signer::new(key), foreign }
    }

    pub(crate) fn signer(&self) -> &Signer {
        &self.signer
    }

    /// Whether a token has the form of a JWT.
    pub(crate) fn is_one(token: &str) -> bool {
        token.len() <= LONGEST && token.split('.').count() == 3
    }

    /// Who asks with a token; none for one that does not sign in.
    pub(crate) async fn identify(
        &self,
        ops: &Ops,
        token: &str,
        origin: &str,
    ) -> galatea_core::Result<Option<Operator>> {
        let Ok(header) = decode_header(token) else { return Ok(None) };
        if header.kid.as_deref() == Some(own::KEY) {
            return match self.signer.check(token) {
                Some(family) => ops.identify_family(&family, origin).await,
                None => Ok(None),
            };
        }
        let Some((tokens, keys)) = &self.foreign else { return Ok(None) };
        let Some(claims) = foreign::check(tokens, keys.as_deref(), token, &header).await else {
            return Ok(None);
        };
        let less = claims.get("galatea_role").and_then(Value::as_str);
        let role = match less.map(str::parse) {
            Some(Ok(less)) => tokens.role.min(less),
            Some(Err(_)) => return Ok(None),
            None => tokens.role,
        };
        let subject = claims.get("sub").and_then(Value::as_str).unwrap_or_default();
        let subject = galatea_http::redact::plain(subject, 64);
        Ok(Some(Operator {
            name: subject,
            user: None,
            credential: None,
            role,
            agents: std::collections::BTreeMap::new(),
            origin: format!("{origin}, JWT of {}", tokens.issuer),
        }))
    }
}

/// A failure of a provider.
pub(crate) fn refused(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::Unauthorized, what.into())
        .with_code("GAL-AUTH-OIDC")
        .with_fix("try again; see `galatea explain GAL-AUTH-OIDC`")
}
