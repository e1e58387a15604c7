//! Calls the X API over Galatea's HTTP client: it authenticates each call, observes rate limits,
//! and makes no further calls after a refusal that only the owner can fix.

use bytes::Bytes;
use dashmap::DashMap;
use galatea_core::{Clock, Deadline, Error, Result, Retry, Timestamp};
use galatea_http::{
    Form, HttpClient, HttpOptions, Method, Origins, Part, Response, json,
    retry_after::parse_http_date,
};
use parking_lot::Mutex;
use serde_json::Value;
use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use url::Url;

use super::{auth::Auth, budget::DailyBudget, latch::Latch};
use crate::{
    config::XConfig,
    error::{self, Failure, Problem, codes},
};

/// Connect timeout, and the timeout of an ordinary call.
const CONNECT: Duration = Duration::from_secs(3);
const TOTAL: Duration = Duration::from_secs(15);
/// Timeout for uploading one chunk of a video over a slow line.
const UPLOAD: Duration = Duration::from_secs(25);
/// Most bytes of an answer; a page of 100 posts with all fields is far smaller.
const MAX_ANSWER: usize = 16 << 20;
/// Longest wait accepted from X: limits are per 15 minutes or per day (X API, rate limits).
const MAX_WAIT: Duration = Duration::from_secs(24 * 3600);

/// Calls that share a rate limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Class {
    /// The account's id and handle.
    Me,
    /// Our mentions.
    Mentions,
    /// Our own posts.
    Timeline,
    /// A post.
    Lookup,
    /// Posting.
    Post,
    /// Deleting a post.
    Delete,
    /// Liking a post and removing the like.
    Like,
    /// Uploads.
    Media,
}

impl Class {
    /// True if the call needs write permission.
    fn writes(self) -> bool {
        matches!(self, Self::Post | Self::Delete | Self::Like | Self::Media)
    }
}

/// A call of the API.
pub(crate) struct ApiCall<'a> {
    pub(crate) method: Method,
    pub(crate) path: &'a str,
    pub(crate) query: Vec<(&'a str, &'a str)>,
    pub(crate) body: CallBody,
    pub(crate) class: Class,
}

/// The body of a call.
#[derive(Debug, Clone)]
pub(crate) enum CallBody {
    /// Nothing.
    None,
    /// JSON.
    Json(Value),
    /// A chunk of a file, with its index.
    Chunk(Bytes, usize),
}

impl<'a> ApiCall<'a> {
    pub(crate) fn get(path: &'a str, class: Class) -> Self {
        Self { method: Method::GET, path, query: Vec::new(), body: CallBody::None, class }
    }
    pub(crate) fn post(path: &'a str, body: CallBody, class: Class) -> Self {
        Self { method: Method::POST, path, query: Vec::new(), body, class }
    }
    pub(crate) fn delete(path: &'a str, class: Class) -> Self {
        Self { method: Method::DELETE, path, query: Vec::new(), body: CallBody::None, class }
    }
    #[must_use]
    pub(crate) fn with(mut self, name: &'a str, value: &'a str) -> Self {
        self.query.push((name, value));
        self
    }
}

/// Makes the API calls of one account.
pub(crate) struct Api {
    http: HttpClient,
    clock: Arc<dyn Clock>,
    root: String,
    host: String,
    auth: Auth,
    origins: Origins,
    /// The day's spending and its limit.
    pub(crate) budget: DailyBudget,
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
        budget: DailyBudget,
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

    /// Converts a failure of `call` into an error that names the origin of the setting at fault.
    pub(crate) fn error(&self, failure: Failure, call: &'static str) -> Error {
        self.origins.add(failure.into_error(call))
    }

    /// Adds the origin of the setting at fault to an error.
    pub(crate) fn placed(&self, error: Error) -> Error {
        self.origins.add(error)
    }

    /// Host of the API.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// The HTTP client, used to fetch files from public addresses.
    pub(crate) fn http(&self) -> &HttpClient {
        &self.http
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// True if the access token may only read, according to X's last answer. Only a warning: a
    /// refused post is the only proof.
    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only.load(Ordering::Relaxed)
    }

    /// The latched refusal, if one is in force: until the owner acts, or until its time has passed.
    pub(crate) fn latched(&self) -> Option<Error> {
        let now = self.clock.now();
        let mut latch = self.latch.lock();
        if latch.as_ref().is_some_and(|latch| latch.is_over(now)) {
            *latch = None;
        }
        latch.as_ref().map(|latch| latch.error(now))
    }

    /// Clears the latched refusal, because the configuration may have changed.
    pub(crate) fn release(&self) {
        *self.latch.lock() = None;
    }

    /// Why a call of this class must not be made now: a latched refusal or a rate limit.
    fn held(&self, class: Class) -> Option<Error> {
        if let Some(error) =
            self.latched().filter(|error| error.code() != Some(codes::PERMISSION) || class.writes())
        {
            return Some(error);
        }
        self.gates.get(&class)?.left(self.clock.now()).map(error::slow)
    }

    /// Makes one call and reads its JSON; `Null` for an empty body.
    pub(crate) async fn call(&self, call: ApiCall<'_>) -> Result<Value, Failure> {
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
                CallBody::None => request,
                CallBody::Json(body) => request.json(body),
                CallBody::Chunk(bytes, index) => {
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
            // A bearer token may expire early. The refused call had no effect, so it is repeated
            // once with a new token.
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
        // The latch gets an error of its own, to return for later calls.
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

    /// Latches an error that further calls would only repeat; logs it once per code.
    fn stop_on(&self, error: Error) -> Failure {
        if let Some(latch) = Latch::of(&error, self.clock.now()) {
            let mut standing = self.latch.lock();
            if standing.as_ref().is_none_or(|standing| standing.code() != latch.code()) {
                tracing::error!(code = error.code(), error = %error, fix = error.fix(), "X refuses further calls; this account makes none until the cause is repaired");
            }
            *standing = Some(latch);
        }
        Failure::Transport(error)
    }

    /// Reads rate limit, permission and clock difference from the headers (X API, "Rate limits";
    /// `x-access-level`).
    fn learn(&self, response: &Response, class: Class) -> (Option<Duration>, Option<i64>) {
        let now = self.clock.now();
        let date = response.header("date").and_then(|date| parse_http_date(date, now));
        // The wait is computed from X's `date`, because this machine's clock may be off.
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
                    "X reports the access token as read-only; X may refuse posts"
                );
            }
        }
        (reset, date.map(|date| (now.0 - date.0) / 1000))
    }
}

/// The address without a trailing slash.
pub(crate) fn base(root: &Url) -> String {
    root.as_str().trim_end_matches('/').to_owned()
}
