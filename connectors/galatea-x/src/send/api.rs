//! The X API over our own HTTP client: proof of who we are, limits obeyed, refusals that latch, one
//! pool of kept connections.

use bytes::Bytes;
use dashmap::DashMap;
use galatea_core::{Clock, Deadline, Error, Result, Retry, Timestamp};
use galatea_http::{
    Form, HttpClient, HttpOptions, Method, Part, Response, json, retry_after::parse_http_date,
};
use serde_json::Value;
use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use url::Url;

use super::{auth::Auth, budget::Budget, latch::Latch};
use crate::{
    config::{Origins, XConfig},
    error::{self, Failure, Problem, codes},
};

/// Longest wait for a connection and for an ordinary answer.
const CONNECT: Duration = Duration::from_secs(3);
const TOTAL: Duration = Duration::from_secs(15);
/// A chunk of a film over a slow line.
const UPLOAD: Duration = Duration::from_secs(25);
/// Longest answer: 100 posts with everything stay far below.
const MAX_ANSWER: usize = 16 << 20;
/// Longest wait believed: limits are per 15 minutes or per day (X API, rate limits).
const MAX_WAIT: Duration = Duration::from_secs(24 * 3600);

/// Calls that share a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Class {
    /// Who we are.
    Me,
    /// Our mentions.
    Mentions,
    /// Our own posts.
    Timeline,
    /// One post.
    Lookup,
    /// Saying something.
    Post,
    /// Removing something.
    Delete,
    /// Liking and taking that back.
    Like,
    /// Uploads.
    Media,
}

impl Class {
    /// Needs the permission to write.
    fn writes(self) -> bool {
        matches!(self, Self::Post | Self::Delete | Self::Like | Self::Media)
    }
}

/// One call.
pub(crate) struct Call<'a> {
    pub(crate) method: Method,
    pub(crate) path: &'a str,
    pub(crate) query: Vec<(&'a str, &'a str)>,
    pub(crate) body: Body,
    pub(crate) class: Class,
}

/// What goes with it.
#[derive(Debug, Clone)]
pub(crate) enum Body {
    /// Nothing.
    None,
    /// JSON.
    Json(Value),
    /// A piece of a file, with its number.
    Chunk(Bytes, usize),
}

impl<'a> Call<'a> {
    pub(crate) fn get(path: &'a str, class: Class) -> Self {
        Self { method: Method::GET, path, query: Vec::new(), body: Body::None, class }
    }
    pub(crate) fn post(path: &'a str, body: Body, class: Class) -> Self {
        Self { method: Method::POST, path, query: Vec::new(), body, class }
    }
    pub(crate) fn delete(path: &'a str, class: Class) -> Self {
        Self { method: Method::DELETE, path, query: Vec::new(), body: Body::None, class }
    }
    #[must_use]
    pub(crate) fn with(mut self, name: &'a str, value: &'a str) -> Self {
        self.query.push((name, value));
        self
    }
}

/// Calls of one account.
pub(crate) struct Api {
    http: HttpClient,
    clock: Arc<dyn Clock>,
    root: String,
    host: String,
    auth: Auth,
    origins: Origins,
    /// What the day costs.
    pub(crate) budget: Budget,
    gates: DashMap<Class, Deadline>,
    latch: Mutex<Option<Latch>>,
    read_only: AtomicBool,
}

impl fmt::Debug for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Api").field("host", &self.host).finish_non_exhaustive()
    }
}

/// The HTTP client of this connector. No network calls.
///
/// # Errors
/// As [`HttpClient::new`].
pub(crate) fn client(clock: Arc<dyn Clock>) -> Result<HttpClient> {
    HttpClient::new(HttpOptions {
        connect_timeout: CONNECT,
        total_timeout: TOTAL,
        max_body: MAX_ANSWER,
        clock,
        ..HttpOptions::default()
    })
}

impl Api {
    pub(crate) fn new(
        http: HttpClient,
        config: &XConfig,
        auth: Auth,
        budget: Budget,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let root = &config.api_root;
        Self {
            http,
            clock,
            root: base(root),
            host: root.host_str().unwrap_or("unknown host").to_owned(),
            auth,
            origins: config.origins.clone(),
            budget,
            gates: DashMap::new(),
            latch: Mutex::new(None),
            read_only: AtomicBool::new(false),
        }
    }

    /// A failure as an error that knows where the setting it is about comes from.
    pub(crate) fn error(&self, failure: Failure, call: &'static str) -> Error {
        self.origins.add(failure.into_error(call))
    }

    /// An error with that place.
    pub(crate) fn placed(&self, error: Error) -> Error {
        self.origins.add(error)
    }

    /// Host of the API.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// The client, for files at public addresses.
    pub(crate) fn http(&self) -> &HttpClient {
        &self.http
    }

    /// The clock.
    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// The access token may only read, as X said with its last answer. A warning: only a refused
    /// post proves it.
    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only.load(Ordering::Relaxed)
    }

    /// What stands until a person acts, or for a while; none when all is well.
    pub(crate) fn latched(&self) -> Option<Error> {
        let now = self.clock.now();
        let mut latch = self.latch.lock().unwrap_or_else(PoisonError::into_inner);
        if latch.as_ref().is_some_and(|latch| latch.is_over(now)) {
            *latch = None;
        }
        latch.as_ref().map(|latch| latch.error(now))
    }

    /// Forgets what stood: the configuration may have changed.
    pub(crate) fn release(&self) {
        *self.latch.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Why a call of this class may not be made now.
    fn held(&self, class: Class) -> Option<Error> {
        if let Some(error) =
            self.latched().filter(|error| error.code() != Some(codes::PERMISSION) || class.writes())
        {
            return Some(error);
        }
        self.gates.get(&class)?.left(self.clock.now()).map(error::slow)
    }

    /// Makes one call and reads JSON; `Null` for an empty answer.
    pub(crate) async fn call(&self, call: Call<'_>) -> Result<Value, Failure> {
        if let Some(error) = self.held(call.class) {
            return Err(Failure::Transport(error));
        }
        let url = format!("{}{}", self.root, call.path);
        let mut refused = None;
        loop {
            let proof = self
                .auth
                .proof(
                    call.method.as_str(),
                    &url,
                    &call.query,
                    self.clock.machine(),
                    refused.as_ref(),
                )
                .await;
            let proof = proof.map_err(|error| self.stop_on(self.placed(error)))?;
            let mut request = self
                .http
                .request(call.method.clone(), &url)
                .secret_header("authorization", &proof.header);
            if !call.query.is_empty() {
                request = request.query(&call.query);
            }
            request = match &call.body {
                Body::None => request,
                Body::Json(body) => request.json(body),
                Body::Chunk(bytes, index) => {
                    let part = Part::stream_with_length(bytes.clone(), bytes.len() as u64)
                        .file_name("media");
                    request
                        .multipart(
                            Form::new()
                                .text("segment_index", index.to_string())
                                .part("media", part),
                        )
                        .total_timeout(UPLOAD)
                }
            };
            let response = request.send().await.map_err(Failure::Transport)?;
            // A bearer token may end early. X refused, so nothing was done: once more with a new
            // one.
            if response.status() == 401 && refused.is_none() && proof.bearer.is_some() {
                refused = proof.bearer;
                continue;
            }
            return self.answer(response, call.class).await;
        }
    }

    async fn answer(&self, response: Response, class: Class) -> Result<Value, Failure> {
        let (status, place) = (response.status(), response.place().to_owned());
        let (reset, skew) = self.learn(&response, class);
        let body = response.bytes().await.map_err(Failure::Transport)?;
        if (200..300).contains(&status) {
            if body.is_empty() {
                return Ok(Value::Null);
            }
            return json::read(&body).map_err(|_| Failure::Garbage { status, place });
        }
        let Some(problem) = Problem::read(status, &body) else {
            if status == 429 {
                return Err(Failure::Transport(error::slow(
                    reset.unwrap_or(Duration::from_secs(60)),
                )));
            }
            return Err(Failure::Garbage { status, place });
        };
        let failure = Failure::Refused(Box::new(Problem { reset, skew, ..problem.clone() }));
        // The same words again, for those who come after.
        let error = Failure::Refused(Box::new(Problem { skew, reset, ..problem }))
            .into_error("an earlier call");
        let error = self.placed(error);
        match error.code() {
            Some(codes::SLOW) => {
                if let Retry::After(wait) = error.retry() {
                    self.gates.insert(class, Deadline::after(self.clock.now(), wait));
                }
            }
            _ => drop(self.stop_on(error)),
        }
        Err(failure)
    }

    /// Latches what a person has to repair, told once.
    fn stop_on(&self, error: Error) -> Failure {
        if let Some(latch) = Latch::of(&error, self.clock.now()) {
            let mut standing = self.latch.lock().unwrap_or_else(PoisonError::into_inner);
            if standing.as_ref().is_none_or(|standing| standing.code() != latch.code()) {
                tracing::error!(code = error.code(), error = %error, fix = error.fix(), "X refuses to go on");
            }
            *standing = Some(latch);
        }
        Failure::Transport(error)
    }

    /// Limits, permission and clock from the headers (X API, "Rate limits"; `x-access-level`).
    fn learn(&self, response: &Response, class: Class) -> (Option<Duration>, Option<i64>) {
        let now = self.clock.now();
        let date = response.header("date").and_then(|date| parse_http_date(date, now));
        // Counted from X's own time, so that clocks need not agree.
        let theirs = date.unwrap_or(now);
        let reset =
            response.header("x-rate-limit-reset").and_then(|at| at.parse::<i64>().ok()).map(|at| {
                let wait = Timestamp(at.saturating_mul(1000)).since(theirs).min(MAX_WAIT);
                wait.max(Duration::from_secs(1))
            });
        if response.header("x-rate-limit-remaining") == Some("0")
            && let Some(wait) = reset
        {
            self.gates.insert(class, Deadline::after(now, wait));
        }
        if let Some(level) = response.header("x-access-level") {
            let read_only = level == "read";
            if read_only != self.read_only.swap(read_only, Ordering::Relaxed) && read_only {
                tracing::warn!(
                    code = codes::PERMISSION,
                    "X calls the access token read-only: posts may be refused"
                );
            }
        }
        (reset, date.map(|date| (now.0 - date.0) / 1000))
    }
}

/// An address without the slash at its end.
pub(crate) fn base(root: &Url) -> String {
    root.as_str().trim_end_matches('/').to_owned()
}
