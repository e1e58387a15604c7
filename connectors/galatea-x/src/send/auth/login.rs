//! Browser login with OAuth 2: makes the address of the page that a person opens, and exchanges the
//! code that comes back for tokens.

use async_trait::async_trait;
use galatea_core::{BrowserLogin, Error, ExposeSecret, Result};
use serde::Deserialize;
use twitter_v2::oauth2::{CsrfToken, PkceCodeChallenge, PkceCodeVerifier};
use url::Url;

use super::{
    oauth2::App,
    tokens::{LoginTokens, TokenFile},
};
use crate::error::{Failure, Problem, codes};

/// Requested scopes: reading and writing posts, uploading media, and refresh tokens.
const SCOPES: &str = "tweet.read tweet.write users.read media.write offline.access";

/// A login in progress.
pub(crate) struct Login {
    app: App,
    root: String,
    file: TokenFile,
    page: String,
    redirect: Url,
    state: CsrfToken,
    verifier: PkceCodeVerifier,
}

impl Login {
    /// Generates state and verifier, and builds the page's address from them.
    pub(crate) fn begin(
        app: App,
        root: String,
        authorize: &Url,
        redirect: Url,
        file: TokenFile,
    ) -> Self {
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let state = CsrfToken::new_random();
        let mut page = authorize.clone();
        page.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &app.client_id)
            .append_pair("redirect_uri", redirect.as_str())
            .append_pair("scope", SCOPES)
            .append_pair("state", state.secret())
            .append_pair("code_challenge", challenge.as_str())
            .append_pair("code_challenge_method", challenge.method().as_str());
        Self { app, root, file, page: page.into(), redirect, state, verifier }
    }

    /// Extracts the code from what the person pasted: the whole address, its query, or the code
    /// alone.
    fn code(&self, answer: &str) -> Result<String> {
        let answer = answer.trim();
        let wrong = |what: &'static str| {
            Error::invalid(what)
                .with_code(codes::LOGIN)
                .with_fix("open the page again and paste the whole address the browser ends at")
        };
        let query = match answer.split_once('?') {
            Some((_, query)) => query,
            None if answer.contains('=') => answer,
            None if !answer.is_empty() && !answer.contains(char::is_whitespace) => {
                return Ok(answer.to_owned());
            }
            None => return Err(wrong("this is neither an address nor a code")),
        };
        let query = query.split('#').next().unwrap_or(query);
        let pairs: Vec<(String, String)> =
            url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        let value =
            |name: &str| pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
        if let Some(error) = value("error") {
            return Err(
                wrong("X was not allowed to log in").with("x", galatea_http::shorten(error, 60))
            );
        }
        // RFC 6749 §10.12: the answer to another login must not be accepted for this account.
        if value("state") != Some(self.state.secret()) {
            return Err(wrong("this address belongs to another login"));
        }
        value("code").map(str::to_owned).ok_or_else(|| wrong("there is no code in this address"))
    }

    async fn who(&self, tokens: &LoginTokens) -> Result<(String, String)> {
        #[derive(Deserialize)]
        struct LoginAnswer {
            data: User,
        }
        #[derive(Deserialize)]
        struct User {
            id: String,
            username: String,
        }
        let request =
            self.app.http.get(&format!("{}/2/users/me", self.root)).bearer(&tokens.access_token);
        let response = request
            .send()
            .await
            .map_err(|e| Failure::Transport(e).into_error("GET /2/users/me"))?;
        let (status, place) = (response.status(), response.place().to_owned());
        let body = response
            .bytes()
            .await
            .map_err(|e| Failure::Transport(e).into_error("GET /2/users/me"))?;
        match serde_json::from_slice::<LoginAnswer>(&body) {
            Ok(answer) if status == 200 => Ok((answer.data.id, answer.data.username)),
            _ => Err(match Problem::read(status, &body) {
                Some(problem) if status != 200 => Failure::Refused(Box::new(problem)),
                _ => Failure::Garbage { status, place },
            }
            .into_error("GET /2/users/me")),
        }
    }
}

#[async_trait]
impl BrowserLogin for Login {
    fn page(&self) -> &str {
        &self.page
    }

    fn redirect(&self) -> &str {
        self.redirect.as_str()
    }

    async fn finish(&self, answer: &str) -> Result<String> {
        let code = self.code(answer)?;
        let pairs = [
            ("grant_type", "authorization_code"),
            ("code", code.as_str()),
            ("redirect_uri", self.redirect.as_str()),
            ("code_verifier", self.verifier.secret()),
        ];
        let mut tokens = self.app.grant(&pairs).await?;
        (tokens.user_id, tokens.user_name) = self.who(&tokens).await?;
        self.file.write(&tokens)?;
        debug_assert!(!tokens.access_token.expose_secret().is_empty());
        Ok(format!("@{}", tokens.user_name))
    }
}
