//! OAuth 2 with PKCE on the server's side (X, "OAuth 2.0 Authorization Code Flow with PKCE"; RFC
//! 7636). A refresh token can be used once.

use std::collections::HashMap;

use base64::Engine;
use sha2::{Digest, Sha256};
use url::Url;

use super::problem::Problem;
use crate::x::options::Options;

/// Lifetime of an authorization code in seconds.
const CODE: i64 = 30;
/// Lifetime of an access token in seconds.
const ACCESS: i64 = 7200;

#[derive(Debug, Default)]
pub(super) struct Grants {
    codes: HashMap<String, Code>,
    access: HashMap<String, i64>,
    /// Refresh tokens, and whether each was used.
    refresh: HashMap<String, bool>,
    next: u64,
    /// Number of token refreshes.
    pub(super) refreshed: usize,
}

#[derive(Debug)]
struct Code {
    challenge: String,
    redirect: String,
    scope: String,
    until: i64,
}

impl Grants {
    /// A person allows the app on the authorization page. Returns the URL to which the browser is
    /// redirected.
    pub(super) fn allow(&mut self, options: &Options, page: &Url, now: i64) -> Result<Url, String> {
        let pairs: HashMap<String, String> = page.query_pairs().into_owned().collect();
        let get = |name: &str| {
            pairs
                .get(name)
                .map(String::as_str)
                .filter(|v| !v.is_empty())
                .ok_or_else(|| format!("authorize: {name} is missing"))
        };
        if get("response_type")? != "code" || get("client_id")? != options.client_id {
            return Err("authorize: response_type or client_id is wrong".into());
        }
        if get("redirect_uri")? != options.redirect {
            return Err("authorize: redirect_uri is not the one entered in the console".into());
        }
        if get("code_challenge_method")? != "S256" || get("code_challenge")?.len() != 43 {
            return Err("authorize: the code challenge is not an S256 one".into());
        }
        const SCOPES: [&str; 8] = [
            "tweet.read",
            "tweet.write",
            "users.read",
            "offline.access",
            "media.write",
            "like.read",
            "like.write",
            "follows.write",
        ];
        if let Some(odd) = get("scope")?.split(' ').find(|s| !SCOPES.contains(s)) {
            return Err(format!("authorize: unknown scope {odd}"));
        }
        let code = self.fresh("code");
        let made = Code {
            challenge: get("code_challenge")?.into(),
            redirect: get("redirect_uri")?.into(),
            scope: get("scope")?.into(),
            until: now + CODE,
        };
        let mut back = Url::parse(get("redirect_uri")?).map_err(|e| format!("authorize: {e}"))?;
        back.query_pairs_mut().append_pair("state", get("state")?).append_pair("code", &code);
        self.codes.insert(code, made);
        Ok(back)
    }

    /// `POST /2/oauth2/token`.
    pub(super) fn token(
        &mut self,
        options: &Options,
        form: &[(String, String)],
        basic: Option<&str>,
        now: i64,
    ) -> Result<serde_json::Value, Problem> {
        let get = |name: &str| {
            form.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str()).unwrap_or_default()
        };
        let client = match &options.client_secret {
            Some(secret) => {
                basic
                    == Some(
                        base64::engine::general_purpose::STANDARD
                            .encode(format!("{}:{secret}", options.client_id))
                            .as_str(),
                    )
            }
            None => get("client_id") == options.client_id,
        };
        if !client {
            return Err(Problem {
                status: 401,
                ..Problem::grant("invalid_client", "Missing or invalid client.")
            });
        }
        let scope = match get("grant_type") {
            "authorization_code" => {
                let code =
                    self.codes.remove(get("code")).filter(|c| now <= c.until).ok_or_else(|| {
                        Problem::grant(
                            "invalid_request",
                            "Value passed for the authorization code was invalid.",
                        )
                    })?;
                if code.redirect != get("redirect_uri") {
                    return Err(Problem::grant(
                        "invalid_request",
                        "Value passed for the redirect uri did not match.",
                    )
                    .breach("token: redirect_uri differs"));
                }
                let challenge = base64::engine::general_purpose::URL_SAFE_NO_PAD
                    .encode(Sha256::digest(get("code_verifier")));
                if challenge != code.challenge || !(43..=128).contains(&get("code_verifier").len())
                {
                    return Err(Problem::grant(
                        "invalid_request",
                        "Value passed for the code verifier did not match the code challenge.",
                    )
                    .breach("token: wrong code_verifier"));
                }
                code.scope
            }
            "refresh_token" => {
                let refused =
                    || Problem::grant("invalid_request", "Value passed for the token was invalid.");
                match self.refresh.get_mut(get("refresh_token")) {
                    None => return Err(refused()),
                    Some(true) => {
                        return Err(refused().breach("token: a refresh token was used twice"));
                    }
                    Some(used) => *used = true,
                }
                self.refreshed += 1;
                "tweet.read tweet.write users.read media.write offline.access".to_owned()
            }
            _ => {
                return Err(Problem::grant("unsupported_grant_type", "")
                    .breach("token: unknown grant_type"));
            }
        };
        // A new grant ends older access tokens.
        self.access.clear();
        let (access, refresh) = (self.fresh("access"), self.fresh("refresh"));
        self.access.insert(access.clone(), now + ACCESS);
        let mut answer = serde_json::json!({ "token_type": "bearer", "expires_in": ACCESS, "access_token": access, "scope": scope });
        if scope.contains("offline.access") {
            self.refresh.insert(refresh.clone(), false);
            answer["refresh_token"] = refresh.into();
        }
        Ok(answer)
    }

    /// True if a bearer token is valid.
    pub(super) fn is_good(&self, token: &str, now: i64) -> bool {
        self.access.get(token).is_some_and(|until| now < *until)
    }

    pub(super) fn expire(&mut self) {
        self.access.clear();
    }

    /// Ends every access and refresh token, as a person does who withdraws the permission.
    pub(super) fn revoke(&mut self) {
        self.access.clear();
        self.refresh.clear();
    }

    /// Every token so far, to search outputs for them.
    pub(super) fn secrets(&self) -> Vec<String> {
        self.access.keys().chain(self.refresh.keys()).cloned().collect()
    }

    fn fresh(&mut self, what: &str) -> String {
        self.next += 1;
        format!("{what}-canary-{:04}-{}", self.next, uuid::Uuid::new_v4().simple())
    }
}
