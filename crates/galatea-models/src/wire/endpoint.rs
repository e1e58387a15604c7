//! Calls a service: its address and its authentication.

mod adjusting;
mod failure;

pub(crate) use failure::was_cut_before_words;

use std::{borrow::Cow, fmt, time::Duration};

use bytes::Bytes;
use galatea_core::{Error, Result, model::TextRequest};
use galatea_http::{Form, HttpClient, Request, Response};
use serde::Serialize;

pub(crate) use self::adjusting::Adjusting;
use super::{Auth, Names, Origins, Times, codes, refusal::Refusal};

/// Timeout for the body of a refusal.
const ERROR_BODY: Duration = Duration::from_secs(5);
/// Most bytes read of an error body.
const MAX_ERROR_BODY: usize = 64 << 10;

/// Media types of web pages (WHATWG HTML §17.1 and §17.3). Captive portals and wrong addresses answer
/// with one, with a success status; no model service does.
const PAGES: [&str; 2] = ["text/html", "application/xhtml+xml"];

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
    adjusting: Adjusting,
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
        let url = url::Url::parse(base.trim()).map_err(|_| bad("is not a valid URL"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(bad("is neither an http nor an https address"));
        }
        if !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
            return Err(bad("must not contain credentials or a query"));
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
            adjusting: Adjusting::default(),
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

    /// Sets where it is remembered what requests the service refuses.
    #[must_use]
    pub(crate) fn with_adjusting(mut self, adjusting: Adjusting) -> Self {
        self.adjusting = adjusting;
        self
    }

    /// Names of the service and its settings, for messages.
    pub fn names(&self) -> Names {
        self.names
    }

    /// The variable its key comes from.
    pub fn key_variable(&self) -> &str {
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

    /// Posts JSON once.
    async fn post_once<T: Serialize>(
        &self,
        path: &str,
        body: &T,
        stream: bool,
        call: &Call<'_>,
    ) -> Result<Response, Unsent> {
        let request = self.request(self.http.post(&format!("{}{path}", self.base))).json(body);
        // Without a stream, the headers arrive only with the finished answer.
        let request = if stream { request.head_timeout(self.times.first) } else { request };
        self.try_send(request, call).await
    }

    /// Posts a form with files. An answer without a success status becomes an error.
    pub(crate) async fn post_form(
        &self,
        path: &str,
        form: Form,
        call: &Call<'_>,
    ) -> Result<Response> {
        let url = format!("{}{path}", self.base);
        self.send(self.request(self.http.post(&url)).multipart(form), call).await
    }

    /// Gets JSON. An answer without a success status becomes an error.
    pub(crate) async fn get(&self, path: &str, call: &Call<'_>) -> Result<Bytes> {
        let response =
            self.send(self.request(self.http.get(&format!("{}{path}", self.base))), call).await?;
        response.bytes().await.map_err(|error| self.transport(error))
    }

    async fn send(&self, request: Request, call: &Call<'_>) -> Result<Response> {
        self.try_send(request, call).await.map_err(|unsent| self.error(unsent, call))
    }

    async fn try_send(&self, request: Request, call: &Call<'_>) -> Result<Response, Unsent> {
        let failed = |error| Unsent::Failed(Box::new(error));
        let response = request.send().await.map_err(|error| failed(self.transport(error)))?;
        if response.is_success() {
            return if PAGES.contains(&response.media_type().as_str()) {
                Err(failed(self.web_page()))
            } else {
                Ok(response)
            };
        }
        let (status, wait) = (response.status(), response.retry_after());
        let body = read_error_body(response).await;
        let refusal = (call.read)(status, &body);
        Err(Unsent::Refused(Box::new(Refused { status, wait, refusal, body })))
    }

    fn error(&self, unsent: Unsent, call: &Call<'_>) -> Error {
        match unsent {
            Unsent::Failed(error) => *error,
            Unsent::Refused(refused) => {
                let Refused { status, wait, refusal, .. } = &*refused;
                self.refused(*status, *wait, refusal, call.model)
            }
        }
    }

    /// The whole body of an answer.
    pub(crate) async fn body(&self, response: Response) -> Result<Bytes> {
        response.bytes().await.map_err(|error| self.transport(error))
    }
}

/// The model that is called, and the reader of its service's error bodies.
pub(crate) struct Call<'a> {
    pub(crate) model: &'a str,
    pub(crate) read: fn(u16, &[u8]) -> Refusal,
}

/// Why a request got no answer.
enum Unsent {
    /// It did not reach the service, or what came back is none of its answers.
    Failed(Box<Error>),
    /// The service refused it.
    Refused(Box<Refused>),
}

/// A refusal, before it becomes an error.
#[derive(Debug, Clone)]
struct Refused {
    status: u16,
    wait: Option<Duration>,
    refusal: Refusal,
    body: Vec<u8>,
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
