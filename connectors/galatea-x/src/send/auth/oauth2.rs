//! OAuth 2 with PKCE: keeps a valid bearer token and renews it (X, "OAuth 2.0 Authorization Code
//! Flow with PKCE"; RFC 6749, RFC 7636).

use galatea_core::{Clock, Error, ErrorKind, ExposeSecret, Result, Retry, SecretString, Sent};
use galatea_http::HttpClient;
use serde::Deserialize;
use std::{sync::Arc, time::Duration};
use tokio::sync::Mutex;

use super::tokens::{LoginTokens, TokenFile};
use crate::error::{Failure, Problem, codes};

/// A token that expires within this time is renewed before use.
const MARGIN: Duration = Duration::from_secs(60);
const TIMEOUT: Duration = Duration::from_secs(15);

/// A client of the token endpoint.
pub(crate) struct App {
    pub(crate) http: HttpClient,
    pub(crate) endpoint: String,
    pub(crate) client_id: String,
    pub(crate) client_secret: Option<SecretString>,
    pub(crate) clock: Arc<dyn Clock>,
}

/// The answer of the token endpoint.
#[derive(Deserialize)]
struct Granted {
    access_token: SecretString,
    #[serde(default)]
    refresh_token: Option<SecretString>,
    #[serde(default = "two_hours")]
    expires_in: u64,
    #[serde(default)]
    scope: String,
}

fn two_hours() -> u64 {
    7200
}

/// Tokens of a login, renewed by one task at a time.
pub(crate) struct Session(Arc<Renewal>);

struct Renewal {
    app: App,
    file: TokenFile,
    /// Locked during a renewal, so that a concurrent caller waits for it and uses its result.
    known: Mutex<Option<CurrentTokens>>,
}

/// The newest tokens.
struct CurrentTokens {
    tokens: LoginTokens,
    /// True if they are on disk.
    stored: bool,
}

/// The error for a missing or expired login.
pub(crate) fn login_needed(why: &'static str) -> Error {
    Error::new(ErrorKind::Unauthorized, why)
        .with_code(codes::LOGIN)
        .with_fix("`galatea connector login x`, then start again")
}

impl App {
    /// Exchanges a code or refresh token for tokens. The account's id and name stay empty: the
    /// endpoint does not return them.
    pub(crate) async fn grant(&self, pairs: &[(&str, &str)]) -> Result<LoginTokens> {
        let mut pairs = pairs.to_vec();
        let mut request = self.http.post(&self.endpoint).total_timeout(TIMEOUT);
        if let Some(secret) = &self.client_secret {
            use base64::Engine;
            let both = format!("{}:{}", self.client_id, secret.expose_secret());
            let basic = format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(both));
            request = request.secret_header("authorization", &SecretString::from(basic));
        } else {
            pairs.push(("client_id", &self.client_id));
        }
        let response = request
            .form(&pairs)
            .send()
            .await
            .map_err(|e| Failure::Transport(e).into_error("oauth2/token"))?;
        let (status, place) = (response.status(), response.place().to_owned());
        let body =
            response.bytes().await.map_err(|e| Failure::Transport(e).into_error("oauth2/token"))?;
        if status != 200 {
            return Err(match Problem::read(status, &body) {
                // invalid_grant and invalid_request: the code or token was used before.
                // invalid_client: the app is unknown (RFC 6749 §5.2).
                Some(problem) if matches!(status, 400 | 401) => {
                    login_needed("X does not accept the login any more")
                        .with("x", galatea_http::shorten(&problem.detail, 120))
                }
                Some(problem) => Failure::Refused(Box::new(problem)).into_error("oauth2/token"),
                None => Failure::Garbage { status, place }.into_error("oauth2/token"),
            });
        }
        // The parser's message would repeat parts of the answer, which contains tokens.
        let granted: Granted = serde_json::from_slice(&body)
            .map_err(|_| Failure::Garbage { status, place }.into_error("oauth2/token"))?;
        let Some(refresh_token) = granted.refresh_token else {
            return Err(login_needed(
                "X gave no refresh token: the scope offline.access is missing",
            ));
        };
        Ok(LoginTokens {
            access_token: granted.access_token,
            refresh_token,
            expires_at: self.clock.now().plus(Duration::from_secs(granted.expires_in)),
            scope: granted.scope,
            user_id: String::new(),
            user_name: String::new(),
        })
    }
}

impl Session {
    /// A login whose tokens are in `file`.
    pub(crate) fn new(app: App, file: TokenFile) -> Self {
        Self(Arc::new(Renewal { app, file, known: Mutex::new(None) }))
    }

    /// A valid access token, renewed if necessary.
    ///
    /// # Errors
    /// `Unauthorized` with `GAL-X-LOGIN` before the first login and after the login has expired.
    pub(crate) async fn access_token(&self) -> Result<SecretString> {
        self.token(None).await
    }

    /// Another access token, after X refused `refused`.
    ///
    /// # Errors
    /// As [`Session::access_token`].
    pub(crate) async fn another(&self, refused: &SecretString) -> Result<SecretString> {
        self.token(Some(refused.clone())).await
    }

    /// Renews in a task of its own. The caller may be cancelled before X answers, and the refresh
    /// token in that answer is the only one that is still valid.
    async fn token(&self, refused: Option<SecretString>) -> Result<SecretString> {
        let renewal = Arc::clone(&self.0);
        let token = tokio::spawn(async move { renewal.token(refused.as_ref()).await }).await;
        token.map_err(|e| Error::unexpected("renewing the tokens of X ended").with("cause", e))?
    }
}

impl Renewal {
    async fn token(&self, refused: Option<&SecretString>) -> Result<SecretString> {
        let mut known = self.known.lock().await;
        let good = |t: &LoginTokens| {
            self.app.clock.now().plus(MARGIN) < t.expires_at
                && refused.is_none_or(|r| r.expose_secret() != t.access_token.expose_secret())
        };
        if let Some(known) = known.as_mut().filter(|known| good(&known.tokens)) {
            known.store(&self.file);
            return Ok(known.tokens.access_token.clone());
        }
        let file = self.file.clone();
        let lock = tokio::task::spawn_blocking(move || file.lock()).await.map_err(|e| {
            Error::unexpected("waiting for the tokens of X ended").with("cause", e)
        })??;
        let last = match known.as_ref().filter(|known| !known.stored) {
            // X has already invalidated the tokens in the file.
            Some(unstored) => unstored.tokens.clone(),
            // Another process may have renewed the tokens or logged in since.
            None => {
                self.file.read()?.ok_or_else(|| login_needed("no account is logged in to X yet"))?
            }
        };
        let mut fresh = if good(&last) {
            CurrentTokens { tokens: last, stored: true }
        } else {
            self.renew(last).await?
        };
        // Store the tokens before they are used: X has already invalidated the old ones.
        fresh.store(&self.file);
        drop(lock);
        let token = fresh.tokens.access_token.clone();
        *known = Some(fresh);
        Ok(token)
    }

    async fn renew(&self, old: LoginTokens) -> Result<CurrentTokens> {
        let pairs =
            [("grant_type", "refresh_token"), ("refresh_token", old.refresh_token.expose_secret())];
        let granted = self.app.grant(&pairs).await.map_err(|error| match error.retry() {
            // No post was made, even if the outcome of the renewal is unknown.
            Retry::Never => error,
            _ => error.with_sent(Sent::No),
        })?;
        tracing::debug!("renewed the OAuth 2 tokens of X");
        Ok(CurrentTokens {
            tokens: LoginTokens { user_id: old.user_id, user_name: old.user_name, ..granted },
            stored: false,
        })
    }
}

impl CurrentTokens {
    /// Writes the tokens to disk if they are not there yet. If this fails, they stay valid in this
    /// process, and the next use writes them again.
    fn store(&mut self, file: &TokenFile) {
        if self.stored {
            return;
        }
        match file.write(&self.tokens) {
            Ok(()) => self.stored = true,
            Err(error) => {
                tracing::error!(code = codes::LOGIN, error = %error.report(), "failed to write the tokens of X to disk; the next use tries again, and the login is lost if the process ends before")
            }
        }
    }
}
