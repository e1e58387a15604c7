//! Sign-in by an OpenID Connect provider: the code flow with PKCE. What has to be remembered between the
//! two requests stands in a cookie that only this server can read.

use axum::http::{HeaderMap, HeaderValue, header};
use galatea_core::{Error, ExposeSecret as _, Result};
use galatea_host::{config::OidcProvider, storage::seal::Seal};
use galatea_http::{HttpClient, HttpOptions};
use oauth2::{
    AuthUrl, AuthorizationCode, Client, ClientId, ClientSecret, CsrfToken, EndpointNotSet,
    EndpointSet, ExtraTokenFields, PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, Scope,
    StandardRevocableToken, StandardTokenResponse, TokenUrl,
    basic::{
        BasicErrorResponse, BasicRevocationErrorResponse, BasicTokenIntrospectionResponse,
        BasicTokenType,
    },
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{sync::Arc, time::Duration};
use tokio::sync::OnceCell;
use url::Url;

use crate::jwt::{IdClaims, Keys, refused};

/// Address at this server to which the provider sends the browser back.
pub(crate) const CALLBACK: &str = "/api/v1/session/oidc/callback";
/// Name of the cookie between the two requests.
const COOKIE: &str = "galatea_oidc";
/// Seconds that a person may take at the provider.
const AGE: i64 = 600;
/// Row that the cookie is sealed for.
const ROW: &str = "oidc";
/// Longest wait for the provider.
const PATIENCE: Duration = Duration::from_secs(10);
/// Longest answer of the provider in bytes.
const LONGEST: usize = 256 * 1024;

/// What a provider says of itself (OpenID Connect Discovery 1.0 §3).
#[derive(Debug, Clone, Deserialize)]
struct Discovered {
    issuer: String,
    authorization_endpoint: Url,
    token_endpoint: Url,
    jwks_uri: Url,
}

/// The ID token beside the access token.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct IdField {
    id_token: Option<String>,
}

impl ExtraTokenFields for IdField {}

type Provided = Client<
    BasicErrorResponse,
    StandardTokenResponse<IdField, BasicTokenType>,
    BasicTokenIntrospectionResponse,
    StandardRevocableToken,
    BasicRevocationErrorResponse,
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointSet,
>;

/// What is remembered while the browser is at the provider.
#[derive(Serialize, Deserialize)]
struct Remembered {
    state: String,
    nonce: String,
    verifier: String,
    until: i64,
}

/// A provider and what it said of itself.
pub(crate) struct Oidc {
    provider: OidcProvider,
    redirect: String,
    http: HttpClient,
    seal: Seal,
    known: OnceCell<(Discovered, Arc<Keys>)>,
}

impl Oidc {
    /// `origin` is the public address of this server; `key` seals the cookie.
    ///
    /// # Errors
    /// Those of the HTTP client.
    pub(crate) fn new(provider: OidcProvider, origin: &str, key: [u8; 32]) -> Result<Self> {
        Ok(Self {
            redirect: format!("{origin}{CALLBACK}"),
            provider,
            http: HttpClient::new(HttpOptions::default())?,
            seal: Seal::new(key),
            known: OnceCell::new(),
        })
    }

    async fn discovered(&self) -> Result<&(Discovered, Arc<Keys>)> {
        self.known.get_or_try_init(|| self.discover()).await
    }

    async fn discover(&self) -> Result<(Discovered, Arc<Keys>)> {
        let issuer = self.provider.issuer.as_str().trim_end_matches('/');
        let address = format!("{issuer}/.well-known/openid-configuration");
        let request = self.http.get(&address).max_body(LONGEST).total_timeout(PATIENCE);
        let found: Discovered = request.send().await?.ok()?.json().await?;
        // Another issuer's keys would check its tokens (RFC 8414 §3.3).
        if found.issuer.trim_end_matches('/') != issuer {
            return Err(refused("the provider names another issuer than OIDC_ISSUER"));
        }
        let keys = Keys::new(self.http.clone(), found.jwks_uri.clone());
        Ok((found, Arc::new(keys)))
    }

    async fn client(&self) -> Result<Provided> {
        let wrong = |error: url::ParseError| {
            Error::invalid("an address of the provider cannot be used").with("cause", error)
        };
        let (found, _) = self.discovered().await?;
        let client = Client::new(ClientId::new(self.provider.client.clone()))
            .set_auth_uri(AuthUrl::from_url(found.authorization_endpoint.clone()))
            .set_token_uri(TokenUrl::from_url(found.token_endpoint.clone()))
            .set_redirect_uri(RedirectUrl::new(self.redirect.clone()).map_err(wrong)?);
        Ok(match &self.provider.secret {
            Some(secret) => {
                client.set_client_secret(ClientSecret::new(secret.expose_secret().to_owned()))
            }
            None => client,
        })
    }

    /// The address at the provider, and the cookie to set.
    ///
    /// # Errors
    /// `Unauthorized` (`GAL-AUTH-OIDC`), and the failure to reach the provider.
    pub(crate) async fn begin(&self, now: i64) -> Result<(String, HeaderValue)> {
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let nonce = CsrfToken::new_random().secret().clone();
        let client = self.client().await?;
        let (url, state) = client
            .authorize_url(CsrfToken::new_random)
            .add_scope(Scope::new("openid".to_owned()))
            .add_scope(Scope::new("email".to_owned()))
            .add_extra_param("nonce", nonce.clone())
            .set_pkce_challenge(challenge)
            .url();
        let remembered = Remembered {
            state: state.secret().clone(),
            nonce,
            verifier: verifier.secret().clone(),
            until: now.saturating_add(AGE * 1000),
        };
        let text = serde_json::to_string(&remembered)
            .map_err(|error| Error::unexpected("a value is not JSON").with_source(error))?;
        let sealed = self.seal.seal(ROW, &text)?;
        // The provider sends the browser back from another site, which Strict would keep the cookie from.
        let cookie = format!(
            "{COOKIE}={sealed}; HttpOnly; Secure; SameSite=Lax; Path={CALLBACK}; Max-Age={AGE}"
        );
        let mut cookie = HeaderValue::from_str(&cookie)
            .map_err(|error| Error::unexpected("a cookie cannot be set").with_source(error))?;
        cookie.set_sensitive(true);
        Ok((url.to_string(), cookie))
    }

    /// The verified e-mail address of the user who comes back with a code.
    ///
    /// # Errors
    /// `Unauthorized` (`GAL-AUTH-OIDC`) if the request does not belong to this browser, or the provider's
    /// token does not fit it.
    pub(crate) async fn finish(
        &self,
        headers: &HeaderMap,
        code: &str,
        state: &str,
        now: i64,
    ) -> Result<String> {
        let elsewhere = || refused("the sign-in was begun in another browser, or took too long");
        let sealed = cookie(headers).ok_or_else(elsewhere)?;
        let text = self.seal.unseal(ROW, sealed).map_err(|_| elsewhere())?;
        let remembered: Remembered =
            serde_json::from_str(text.expose_secret()).map_err(|_| elsewhere())?;
        if remembered.state != state || remembered.until < now {
            return Err(elsewhere());
        }
        let http = self.http.clone();
        let call = move |request: oauth2::HttpRequest| {
            let http = http.clone();
            async move { answer(&http, request).await }
        };
        let client = self.client().await?;
        let exchange = client
            .exchange_code(AuthorizationCode::new(code.to_owned()))
            .set_pkce_verifier(PkceCodeVerifier::new(remembered.verifier));
        let tokens = exchange.request_async(&call).await.map_err(|error| {
            tracing::info!(error = %error, "the OpenID Connect provider refused a code");
            refused("the provider refused the code")
        })?;
        let token = tokens.extra_fields().id_token.as_deref();
        let token = token.ok_or_else(|| refused("the provider sent no ID token"))?;
        let (found, keys) = self.discovered().await?;
        let wanted = IdClaims {
            issuer: &found.issuer,
            client: &self.provider.client,
            nonce: &remembered.nonce,
        };
        let claims = keys.id_token(token, &wanted).await;
        let claims = claims.ok_or_else(|| refused("the provider's ID token does not hold"))?;
        let email = claims.get("email").and_then(Value::as_str);
        // An address that the provider has not verified may be anybody's.
        let verified = claims.get("email_verified") == Some(&Value::Bool(true));
        let email = email.filter(|_| verified);
        email
            .map(str::to_owned)
            .ok_or_else(|| refused("the provider has no verified e-mail address of the user"))
    }
}

/// Removes the cookie between the two requests.
pub(crate) fn forget() -> HeaderValue {
    HeaderValue::from_static(
        "galatea_oidc=; HttpOnly; Secure; SameSite=Lax; Path=/api/v1/session/oidc/callback; Max-Age=0",
    )
}

fn cookie(headers: &HeaderMap) -> Option<&str> {
    let pairs = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = pairs.flat_map(|line| line.split(';'));
    let mut ours = pairs.filter_map(|pair| pair.trim().split_once('='));
    ours.find(|(name, _)| *name == COOKIE).map(|(_, value)| value)
}

/// Carries a request of the library out with the one HTTP client.
async fn answer(
    http: &HttpClient,
    request: oauth2::HttpRequest,
) -> std::result::Result<oauth2::HttpResponse, Error> {
    let (parts, body) = request.into_parts();
    let mut call = http.post(&parts.uri.to_string()).max_body(LONGEST).total_timeout(PATIENCE);
    if let Some(value) = parts.headers.get(header::AUTHORIZATION) {
        let value = value.to_str().unwrap_or_default();
        call = call.secret_header("authorization", &value.into());
    }
    call = call.header("accept", "application/json");
    let kind = parts.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let answer =
        call.body(kind.unwrap_or("application/x-www-form-urlencoded"), body.into()).send().await?;
    let status = answer.status();
    let kind = answer.media_type();
    let bytes = answer.bytes().await?.to_vec();
    axum::http::Response::builder()
        .status(status)
        .header(header::CONTENT_TYPE, kind)
        .body(bytes)
        .map_err(|error| {
            Error::unexpected("an answer of the provider cannot be used").with_source(error)
        })
}
