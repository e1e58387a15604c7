//! Calls Discord's REST API through the shared HTTP client. Adds the token, respects rate limits,
//! and makes one attempt per call.

use bytes::Bytes;
use galatea_core::{
    Backoff, Clock, Error, ErrorKind, ExposeSecret, Result, SecretString, Timestamp,
};
use galatea_http::{Form, HttpClient, HttpOptions, Method, Origins, json};
use serde::Deserialize;
use serde_json::Value;
use std::{fmt, sync::Arc, time::Duration};
use url::Url;

use super::{
    guard::Guard,
    limits::{RateHeaders, RateLimits, Route, Scope},
};
use crate::{
    config::DiscordConfig,
    error::{Failure, Refusal, Room},
};

/// Timeouts for connecting and for an ordinary call.
const CONNECT: Duration = Duration::from_secs(3);
const TOTAL: Duration = Duration::from_secs(15);
/// Timeout for uploads: 25 MB over a slow line.
const UPLOAD: Duration = Duration::from_secs(120);
/// Timeout for acknowledging an interaction, which expires after three seconds (Discord, "Receiving
/// and Responding").
const ACKNOWLEDGE: Duration = Duration::from_millis(2_500);
/// Largest answer in bytes; 100 messages of full size stay far below it.
const MAX_ANSWER: usize = 16 << 20;
/// First and longest wait between attempts of [`DiscordApi::patient`].
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const PATIENT: Duration = Duration::from_secs(10);
/// Hosts from which Discord serves files.
const FILE_HOSTS: [&str; 4] = [
    "cdn.discordapp.com",
    "media.discordapp.net",
    // Copies of the pictures in embeds.
    "images-ext-1.discordapp.net",
    "images-ext-2.discordapp.net",
];

/// The REST client of one application. Clones share the connection pool and the rate limits.
#[derive(Clone)]
pub(crate) struct DiscordApi {
    http: HttpClient,
    clock: Arc<dyn Clock>,
    authorization: Arc<SecretString>,
    base: Arc<str>,
    root: Url,
    origins: Arc<Origins>,
    limits: Arc<RateLimits>,
}

impl fmt::Debug for DiscordApi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Api").field("host", &self.host()).finish_non_exhaustive()
    }
}

/// A REST call: route, path and body.
pub(crate) struct Call {
    method: Method,
    route: Route,
    path: SecretString,
    body: Body,
    interaction: bool,
}

enum Body {
    None,
    Json(Value),
    Form(Form),
}

impl Call {
    /// A call without a body. `template` is the method and the path without ids, such as `GET
    /// /channels/{}/messages`. `major` is the id by which Discord separates rate limits.
    pub(crate) fn new(template: &'static str, major: impl fmt::Display, path: String) -> Self {
        let method = match template.split(' ').next() {
            Some("POST") => Method::POST,
            Some("PUT") => Method::PUT,
            Some("PATCH") => Method::PATCH,
            Some("DELETE") => Method::DELETE,
            _ => Method::GET,
        };
        Self {
            method,
            route: Route { template, major: major.to_string() },
            path: SecretString::from(path),
            body: Body::None,
            interaction: false,
        }
    }

    /// Adds a JSON body.
    pub(crate) fn json(mut self, body: Value) -> Self {
        self.body = Body::Json(body);
        self
    }

    /// Adds a form with files.
    pub(crate) fn form(mut self, form: Form) -> Self {
        self.body = Body::Form(form);
        self
    }

    /// Marks the call as part of an interaction. The path holds the interaction's token, so the
    /// bot's token is not sent and the global rate limit does not apply.
    pub(crate) fn interaction(mut self) -> Self {
        self.interaction = true;
        self
    }
}

/// An error response, with the values of its headers.
struct RefusedAnswer {
    status: u16,
    /// Host and port that answered.
    place: String,
    body: Bytes,
    /// A limit of the resource, which other bots have used up.
    shared: bool,
    /// A limit over all routes.
    global: bool,
    header_wait: Option<Duration>,
}

/// Discord's error body.
#[derive(Deserialize)]
struct Wrong {
    #[serde(default)]
    code: u32,
    #[serde(default)]
    message: String,
    #[serde(default)]
    errors: Value,
    #[serde(default)]
    retry_after: Option<f64>,
    #[serde(default)]
    global: bool,
}

impl DiscordApi {
    /// Builds the client. Makes no network calls.
    ///
    /// # Errors
    /// Those of [`HttpClient::new`].
    pub(crate) fn new(
        config: &DiscordConfig,
        user_agent: String,
        clock: Arc<dyn Clock>,
    ) -> Result<Self> {
        let (root, token) = (&config.api_root, &config.token);
        let address =
            root.as_str().trim_end_matches('/').trim_end_matches("/v10").trim_end_matches("/api");
        // If the operator runs an API of their own at an IP address, files may come from there.
        let own = match root.host() {
            Some(url::Host::Ipv4(ip)) => vec![ip.into()],
            Some(url::Host::Ipv6(ip)) => vec![ip.into()],
            _ => Vec::new(),
        };
        let options = HttpOptions {
            connect_timeout: CONNECT,
            total_timeout: TOTAL,
            max_body: MAX_ANSWER,
            user_agent,
            untrusted_exceptions: own,
            clock: clock.clone(),
            ..HttpOptions::default()
        };
        Ok(Self {
            http: HttpClient::new(options)?,
            clock,
            authorization: Arc::new(SecretString::from(format!("Bot {}", token.expose_secret()))),
            base: format!("{address}/api/v10").into(),
            root: root.clone(),
            origins: Arc::new(config.origins.clone()),
            limits: Arc::default(),
        })
    }

    /// Converts a failure to an error that names the place of the setting it is about.
    pub(crate) fn error(&self, failure: Failure, call: &'static str) -> Error {
        self.origins.add(failure.into_error(call))
    }

    /// Like [`Self::error`], but names the room.
    pub(crate) fn error_in(&self, room: &Room, failure: Failure, call: &'static str) -> Error {
        self.origins.add(failure.into_error_in(room, call))
    }

    /// Adds to an error the place of the setting it is about.
    pub(crate) fn placed(&self, error: Error) -> Error {
        self.origins.add(error)
    }

    /// The API's host, for messages.
    pub(crate) fn host(&self) -> &str {
        self.root.host_str().unwrap_or("unknown host")
    }

    /// The API's address as configured.
    pub(crate) fn root(&self) -> &Url {
        &self.root
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// The guard against a ban of our IP address.
    pub(crate) fn guard(&self) -> &Guard {
        self.limits.guard()
    }

    /// Makes one attempt. Returns the answer's JSON, or null if it is empty.
    pub(crate) async fn call(&self, call: Call) -> Result<Value, Failure> {
        if let Some((wait, guard)) =
            self.limits.wait(&call.route, call.interaction, self.clock.now())
        {
            return Err(Failure::Deferred { wait, guard });
        }
        let address = SecretString::from(format!("{}{}", self.base, call.path.expose_secret()));
        let mut request = self.http.request(call.method, address.expose_secret());
        if !call.interaction {
            request = request.secret_header("authorization", &self.authorization);
        }
        request =
            match call.body {
                Body::None => request.total_timeout(TOTAL),
                Body::Json(body) => request.json(&body).total_timeout(
                    if call.route.template.ends_with("/callback") { ACKNOWLEDGE } else { TOTAL },
                ),
                Body::Form(form) => request.multipart(form).total_timeout(UPLOAD),
            };
        let response = request.send().await.map_err(Failure::Transport)?;
        let (status, place, headers) =
            (response.status(), response.place().to_owned(), RateHeaders::read(&response));
        let shared = response.header("x-ratelimit-scope") == Some("shared");
        let global = response.header("x-ratelimit-global").is_some();
        let header_wait = response.retry_after();
        let body = response.bytes().await.map_err(Failure::Transport)?;
        let now = self.clock.now();
        self.limits.note(&call.route, headers, now);
        if status < 500 && !matches!(status, 401 | 403 | 429) {
            self.limits.guard().taken();
        }
        if (200..300).contains(&status) {
            return if body.is_empty() {
                Ok(Value::Null)
            } else {
                json::read(&body).map_err(|_| Failure::Garbage { status, place })
            };
        }
        let answer = RefusedAnswer { status, place, body, shared, global, header_wait };
        Err(self.refused(&call.route, answer, now))
    }

    /// Converts an error response to a failure, and updates the rate limits from it.
    fn refused(&self, route: &Route, answer: RefusedAnswer, now: Timestamp) -> Failure {
        let RefusedAnswer { status, place, body, shared, global, header_wait } = answer;
        let read = json::read::<Wrong>(&body);
        let wrong = match read {
            Ok(wrong) => wrong,
            // A ban of the IP address comes as a 429 with a page of Cloudflare's.
            Err(_) if status == 429 => Wrong {
                code: 0,
                message: String::new(),
                errors: Value::Null,
                retry_after: None,
                global: true,
            },
            Err(_) => {
                if matches!(status, 401 | 403) {
                    self.limits.guard().refused(now);
                }
                return Failure::Garbage { status, place };
            }
        };
        let body_wait = wrong
            .retry_after
            .filter(|s| s.is_finite() && *s >= 0.0 && *s < 1e6)
            .map(Duration::from_secs_f64);
        let message = first_invalid_field(&wrong.message, &wrong.errors);
        let refusal = Refusal {
            status,
            code: wrong.code,
            message,
            retry_after: body_wait.or(header_wait),
            global: status == 429 && (wrong.global || global),
        };
        match (status, refusal.wait()) {
            (429, Some(wait)) => {
                let scope = if wrong.global || global {
                    Scope::Global
                } else if shared {
                    Scope::Shared
                } else {
                    Scope::Route
                };
                self.limits.limited(route, scope, wait, now);
            }
            (401 | 403, _) => self.limits.guard().refused(now),
            _ => {}
        }
        Failure::Refused(refusal)
    }

    /// Makes an idempotent call with up to seven attempts, for about a minute at most. Retries
    /// after rate limits, server errors, timeouts and failed connections.
    pub(crate) async fn patient(&self, make: impl Fn() -> Call) -> Result<Value, Failure> {
        let mut backoff = Backoff::new(FIRST_PAUSE, PATIENT);
        for _ in 0..6 {
            let pause = backoff.next_pause();
            let failure = match self.call(make()).await {
                Ok(value) => return Ok(value),
                Err(failure) => failure,
            };
            let wait = match &failure {
                Failure::Deferred { wait, guard: false } => *wait,
                Failure::Refused(r) if r.status == 429 => r.wait().unwrap_or(pause),
                Failure::Refused(r) if r.status >= 500 => pause,
                Failure::Garbage { status, .. } if *status >= 500 => pause,
                Failure::Transport(e)
                    if matches!(e.kind(), ErrorKind::Timeout | ErrorKind::Unavailable) =>
                {
                    pause
                }
                _ => return Err(failure),
            };
            if wait > PATIENT {
                return Err(failure);
            }
            self.clock.sleep(wait).await;
        }
        self.call(make()).await
    }

    /// Downloads a file from Discord, at most `limit` bytes.
    ///
    /// # Errors
    /// `Invalid` for an address that is not Discord's, `TooLong` for a larger file.
    pub(crate) async fn download(&self, url: &str, limit: usize) -> Result<Bytes> {
        let wrong = || {
            galatea_core::Error::invalid("not a file of Discord")
                .with_code(crate::error::codes::INVALID)
        };
        let parsed = Url::parse(url).map_err(|_| wrong())?;
        let host = parsed.host_str().unwrap_or_default();
        let known = parsed.origin() == self.root.origin()
            || (parsed.scheme() == "https" && FILE_HOSTS.contains(&host));
        if !known {
            return Err(wrong());
        }
        // Discord's own hosts are reached as its API is, through a proxy if one is set; only addresses
        // that others choose need the guard against private ones, which no proxy can have.
        let fetched = async {
            self.http
                .get(url)
                .total_timeout(UPLOAD)
                .max_body(limit)
                .send()
                .await?
                .ok()?
                .bytes()
                .await
        };
        fetched.await.map_err(|error| {
            if error.code() == Some(galatea_http::codes::TOO_BIG) {
                return galatea_core::Error::new(
                    galatea_core::ErrorKind::TooLong,
                    "a file is larger than allowed",
                )
                .with_code(crate::error::codes::INVALID)
                .with("limit", limit);
            }
            self.error(Failure::Transport(error), "download")
        })
    }
}

/// Discord's message with the first invalid field: `Invalid Form Body: content: Must be 2000 or
/// fewer in length.`
fn first_invalid_field(message: &str, errors: &Value) -> String {
    fn first(at: &Value, path: &str) -> Option<String> {
        let fields = at.as_object()?;
        if let Some(reason) = fields.get("_errors").and_then(|e| e[0]["message"].as_str()) {
            return Some(format!("{path}: {reason}"));
        }
        fields.iter().find_map(|(name, inner)| {
            first(inner, &if path.is_empty() { name.clone() } else { format!("{path}.{name}") })
        })
    }
    first(errors, "").map_or_else(|| message.to_owned(), |field| format!("{message}: {field}"))
}

#[cfg(test)]
mod tests;
