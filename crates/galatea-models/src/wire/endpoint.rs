//! Calls a service: its address, its authentication, and the conversion of its failures into errors
//! for people.

use std::{borrow::Cow, fmt, time::Duration};

use bytes::Bytes;
use galatea_core::{
    Error, ErrorKind, Result, Retry, Sent,
    model::{Finish, TextRequest},
};
use galatea_http::{HttpClient, Request, Response, codes as http, redact};
use serde::Serialize;

use super::{
    Auth, Fail, Names, Origins, Times, codes,
    refusal::{Hint, Refusal},
};

/// Timeout for the body of a refusal.
const ERROR_BODY: Duration = Duration::from_secs(5);
/// Most bytes read of an error body.
const MAX_ERROR_BODY: usize = 64 << 10;

/// A service's address and how to call it.
#[derive(Clone)]
pub struct Endpoint {
    http: HttpClient,
    names: Names,
    base: String,
    place: String,
    site: String,
    auth: Auth,
    key: Cow<'static, str>,
    headers: Vec<(&'static str, String)>,
    times: Times,
    max_body: usize,
    origins: Origins,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("provider", &self.names.provider)
            .field("place", &self.place)
            .finish_non_exhaustive()
    }
}

impl Endpoint {
    /// Creates an endpoint at a base address such as `https://api.openai.com/v1`.
    ///
    /// # Errors
    /// `Invalid` with [`codes::URL`] when the address is not an http or https URL, or contains a
    /// user name or a query (keys belong in the key's variable).
    pub fn new(
        http: HttpClient,
        names: Names,
        base: &str,
        auth: Auth,
        times: Times,
    ) -> Result<Self> {
        let bad = |why: &str| {
            Error::invalid(format!("{} {why}", names.url))
                .with_code(codes::URL)
                .with_fix(format!("write {} like https://host/v1, without key or query", names.url))
        };
        let url = url::Url::parse(base.trim()).map_err(|_| bad("is no address"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(bad("is neither an http nor an https address"));
        }
        if !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
            return Err(bad("holds more than an address"));
        }
        let place = galatea_http::client::place(&url);
        let site = url.origin().ascii_serialization();
        let base = url.as_str().trim_end_matches('/').to_owned();
        Ok(Self {
            http,
            names,
            base,
            place,
            site,
            auth,
            key: Cow::Borrowed(names.key),
            headers: Vec::new(),
            times,
            max_body: 16 << 20,
            origins: Origins::default(),
        })
    }

    /// Adds a public header to every call.
    #[must_use]
    pub fn with_header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Replaces the key; `variable` and `origin` name its source.
    #[must_use]
    pub fn with_key(mut self, auth: Auth, variable: String, origin: String) -> Self {
        self.auth = auth;
        self.key = Cow::Owned(variable);
        self.origins.key = Some(origin);
        self
    }

    /// Sets the origins of its settings, for messages.
    #[must_use]
    pub fn with_origins(mut self, origins: Origins) -> Self {
        self.origins = origins;
        self
    }

    /// Names of the service and its settings, for messages.
    pub fn names(&self) -> Names {
        self.names
    }

    /// The variable its key comes from.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Its authentication.
    pub fn auth(&self) -> &Auth {
        &self.auth
    }

    /// `host:port`.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// `https://host`, for people.
    pub fn site(&self) -> &str {
        &self.site
    }

    /// Provider and base address, the key under which chosen models are stored.
    pub fn service(&self) -> String {
        format!("{} {}", self.names.provider, self.base)
    }

    /// Its time limits.
    pub fn times(&self) -> Times {
        self.times
    }

    /// The endpoint with the request's limit for the first token, if that is shorter.
    pub(crate) fn of(&self, request: &TextRequest) -> Cow<'_, Self> {
        match request.first_within {
            Some(within) if within < self.times.first => {
                Cow::Owned(Self { times: Times { first: within, ..self.times }, ..self.clone() })
            }
            _ => Cow::Borrowed(self),
        }
    }

    fn request(&self, request: Request) -> Request {
        let request = request.total_timeout(self.times.total).max_body(self.max_body);
        let request = match &self.auth {
            Auth::None => request,
            Auth::Bearer(key) => request.bearer(key),
            Auth::Header(name, key) => request.secret_header(name, key),
        };
        self.headers.iter().fold(request, |request, (name, value)| request.header(name, value))
    }

    /// Posts JSON. An answer without a success status becomes an error.
    pub(crate) async fn post<T: Serialize>(
        &self,
        path: &str,
        body: &T,
        stream: bool,
        call: &Call<'_>,
    ) -> Result<Response> {
        let request = self.request(self.http.post(&format!("{}{path}", self.base))).json(body);
        // Without a stream, the headers arrive only with the finished answer.
        let request = if stream { request.head_timeout(self.times.first) } else { request };
        self.send(request, call).await
    }

    /// Gets JSON. An answer without a success status becomes an error.
    pub(crate) async fn get(&self, path: &str, call: &Call<'_>) -> Result<Bytes> {
        let response =
            self.send(self.request(self.http.get(&format!("{}{path}", self.base))), call).await?;
        response.bytes().await.map_err(|error| self.transport(error))
    }

    async fn send(&self, request: Request, call: &Call<'_>) -> Result<Response> {
        let response = request.send().await.map_err(|error| self.transport(error))?;
        if response.is_success() {
            return Ok(response);
        }
        let (status, wait) = (response.status(), response.retry_after());
        let body = read_error_body(response).await;
        let refusal = (call.read)(status, &body);
        Err(self.refused(status, wait, &refusal, call.model))
    }

    /// The whole body of an answer.
    pub(crate) async fn body(&self, response: Response) -> Result<Bytes> {
        response.bytes().await.map_err(|error| self.transport(error))
    }

    /// The error for a failed connection, described in terms of this service.
    pub(crate) fn transport(&self, error: Error) -> Error {
        // This machine lacks a resource; the service was not called.
        if error.kind() == ErrorKind::Exhausted {
            return error;
        }
        let (label, url) = (self.names.label, self.names.url);
        let (code, message, fix) = match error.code() {
            Some(http::REFUSED) => (
                codes::CONNECT,
                format!("nothing listens at {}", self.place),
                Some(format!("start the model server there, or correct {url}")),
            ),
            Some(http::DNS | http::CONNECT) => (
                codes::CONNECT,
                format!("{label} cannot be reached at {}", self.place),
                Some(format!("check the network and proxy, or correct {url}")),
            ),
            Some(http::TIMEOUT) => {
                (codes::TIMEOUT, format!("{label} gave no answer in time"), None)
            }
            Some(http::BROKEN) => (
                codes::CUT,
                format!("the connection to {label} broke before the answer was complete"),
                None,
            ),
            Some(http::TOO_BIG | http::JSON) => (
                codes::GARBAGE,
                format!("{label} answered with something that is no model answer"),
                Some(format!("check {url}")),
            ),
            _ => (
                codes::URL,
                format!("{label} cannot be called with these settings"),
                Some(format!("check {url} and {}", self.key)),
            ),
        };
        let told = Error::new(error.kind(), message)
            .with_code(code)
            .with_retry(error.retry())
            .with_sent(error.sent());
        let told = told
            .with("cause", format!("the call to {}: {}", self.place, error.message()))
            .with("host", &self.place);
        let told = match &self.origins.url {
            Some(place) => told.with("where", place),
            None => told,
        };
        let told = match fix {
            Some(fix) => told.with_fix(fix),
            None => told,
        };
        told.with_source(error)
    }

    /// The error for a refusal by the service, with a fix in terms of its settings.
    pub(crate) fn refused(
        &self,
        status: u16,
        wait: Option<Duration>,
        refusal: &Refusal,
        model: &str,
    ) -> Error {
        let Names { label, url, provider, .. } = self.names;
        let key = self.key.as_ref();
        let wait = wait.max(refusal.wait_ms.map(Duration::from_millis));
        let retry = wait.map_or(Retry::Soon, Retry::After);
        let hint = refusal.hint.or(match status {
            401 => Some(Hint::BadKey),
            402 => Some(Hint::NoMoney),
            413 => Some(Hint::TooLong),
            429 => Some(Hint::RateLimited),
            300..=399 => Some(Hint::WrongPath),
            500..=599 => Some(Hint::Busy),
            _ => None,
        });
        let error = match hint {
            Some(Hint::BadKey) => {
                Error::new(ErrorKind::Unauthorized, format!("{label} rejected {key}"))
                    .with_code(codes::KEY)
                    .with_fix(format!("put a valid key of {label} into {key}"))
            }
            Some(Hint::NoMoney) => Error::new(
                ErrorKind::Forbidden,
                format!("the account at {label} has no money left"),
            )
            .with_code(codes::QUOTA)
            .with_fix(format!("add credit or raise the spending limit at {label}")),
            Some(Hint::UnknownModel) if provider == "ollama" => {
                Error::not_found(format!("Ollama has not pulled the model {model}"))
                    .with_code(codes::UNKNOWN)
                    .with_fix(format!("ollama pull {model}"))
            }
            Some(Hint::UnknownModel) => {
                Error::not_found(format!("{label} has no model {model} for this key"))
                    .with_code(codes::UNKNOWN)
                    .with_fix(match self.origin_of(model) {
                        Some((variable, _)) => {
                            format!("set {variable} to a model that {label} offers")
                        }
                        None => format!(
                            "set {0}_SMALL_MODEL and {0}_LARGE_MODEL to models that {label} offers",
                            provider.to_uppercase()
                        ),
                    })
            }
            Some(Hint::TooLong) => Error::new(
                ErrorKind::TooLong,
                format!("the conversation is too long for {model}"),
            )
            .with_code(codes::TOO_LONG)
            .with_fix(
                "shorten the character or the history, or choose a model with a longer context",
            ),
            Some(Hint::NoTools) => {
                Error::new(ErrorKind::Unsupported, format!("{model} at {label} has no tool calls"))
                    .with_code(codes::TOOLS)
                    .with_fix("set MODEL_TOOLS=false, or choose a model with tools")
            }
            Some(Hint::RateLimited) => {
                Error::new(ErrorKind::RateLimited, format!("{label} asked to slow down"))
                    .with_code(codes::RATE)
                    .with_retry(retry)
            }
            Some(Hint::Busy) => {
                Error::new(ErrorKind::Unavailable, format!("{label} has a fault or is overloaded"))
                    .with_code(codes::FAULT)
                    .with_retry(retry)
                    .with_sent(Sent::Maybe)
            }
            Some(Hint::WrongPath) => {
                Error::not_found(format!("there is no such interface at {}", self.place))
                    .with_code(codes::URL)
                    .with_fix(format!("correct {url}; it usually ends in the version, such as /v1"))
            }
            None => match status {
                403 => Error::new(ErrorKind::Forbidden, format!("{label} refuses this to {key}"))
                    .with_code(codes::FORBIDDEN)
                    .with_fix(format!("check what the key in {key} may do")),
                408 => Error::new(ErrorKind::Timeout, format!("{label} gave up on the request"))
                    .with_code(codes::TIMEOUT)
                    .with_retry(retry),
                409 => Error::new(
                    ErrorKind::Conflict,
                    format!("{label} is busy with a conflicting request"),
                )
                .with_code(codes::CONFLICT)
                .with_retry(retry),
                _ => Error::invalid(format!("{label} found the request invalid"))
                    .with_code(codes::INVALID),
            },
        };
        let mut cause = format!("HTTP {status}");
        if let Some(word) = &refusal.word {
            cause.push(' ');
            cause.push_str(word);
        }
        let error = error.with("cause", self.clean(&cause)).with("host", &self.place);
        let place = match hint {
            Some(Hint::BadKey | Hint::NoMoney) => {
                self.origins.key.as_ref().map(|origin| format!("{key} from {origin}"))
            }
            Some(Hint::UnknownModel) => self.origin_of(model).map(|(_, place)| place.to_owned()),
            Some(Hint::WrongPath) => self.origins.url.clone(),
            _ => None,
        };
        let error = match place {
            Some(place) => error.with("where", place),
            None => error,
        };
        // A sentence about a refused key may contain parts of the key, which redaction does not
        // find.
        if refusal.sentence.is_empty() || matches!(hint, Some(Hint::BadKey)) {
            error
        } else {
            error.with_source(self.clean(&refusal.sentence))
        }
    }

    /// The variable that names a model, and its origin.
    fn origin_of(&self, model: &str) -> Option<(&'static str, &str)> {
        self.origins
            .models
            .iter()
            .find(|(name, ..)| name == model)
            .map(|(_, variable, place)| (*variable, place.as_str()))
    }

    /// The error for an answer that could not be decoded.
    pub(crate) fn fail(&self, fail: Fail, model: &str) -> Error {
        match fail {
            Fail::Garbage(expected) => {
                let error = Error::unexpected(format!(
                    "{} answered with something that is no model answer",
                    self.names.label
                ))
                .with_code(codes::GARBAGE)
                .with("host", &self.place)
                .with("expected", expected)
                .with_sent(Sent::Maybe)
                .with_fix(format!("check {}", self.names.url));
                match &self.origins.url {
                    Some(place) => error.with("where", place),
                    None => error,
                }
            }
            Fail::Refused(status, refusal) => self.refused(status, None, &refusal, model),
        }
    }

    /// The error for an empty answer.
    pub(crate) fn empty(&self, model: &str, finish: Finish) -> Error {
        let error =
            Error::unexpected(format!("{model} at {} answered with nothing", self.names.label))
                .with_code(codes::EMPTY)
                .with_sent(Sent::Maybe)
                .with("host", &self.place);
        if finish == Finish::Length {
            error.with_fix("raise MAX_TOKENS: the answer was cut before its first visible word")
        } else {
            error
        }
    }

    /// The error for a stream that ended before the answer was complete.
    pub(crate) fn cut(&self) -> Error {
        Error::new(
            ErrorKind::Unavailable,
            format!("the connection to {} broke before the answer was complete", self.names.label),
        )
        .with_code(codes::CUT)
        .with_sent(Sent::Maybe)
        .with("host", &self.place)
    }

    /// The error for a timeout of the first piece or of a later one.
    pub(crate) fn silent(&self, first: bool, after: Duration) -> Error {
        let what =
            if first { "gave no answer in time" } else { "stopped in the middle of its answer" };
        Error::new(ErrorKind::Timeout, format!("{} {what}", self.names.label))
            .with_code(codes::TIMEOUT)
            .with("host", &self.place)
            .with("seconds", after.as_secs_f32())
    }

    fn clean(&self, text: &str) -> String {
        match &self.auth {
            Auth::None => redact(text, &[]),
            Auth::Bearer(key) | Auth::Header(_, key) => redact(text, &[key]),
        }
    }
}

/// The model that is called, and the reader of its service's error bodies.
pub(crate) struct Call<'a> {
    pub(crate) model: &'a str,
    pub(crate) read: fn(u16, &[u8]) -> Refusal,
}

/// Reads as much of the body as arrives in time: the status alone says most, and a `Retry-After`
/// must not expire meanwhile.
async fn read_error_body(response: Response) -> Vec<u8> {
    use futures::StreamExt;
    let mut stream = response.stream();
    let mut body = Vec::new();
    let until = tokio::time::Instant::now() + ERROR_BODY;
    while let Ok(Some(Ok(piece))) = tokio::time::timeout_at(until, stream.next()).await {
        body.extend_from_slice(&piece[..piece.len().min(MAX_ERROR_BODY - body.len())]);
        if body.len() == MAX_ERROR_BODY {
            break;
        }
    }
    body
}
