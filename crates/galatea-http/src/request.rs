//! Builds and sends one HTTP request.

use std::{fmt, time::Duration};

use bytes::Bytes;
use galatea_core::{Error, ExposeSecret, Result, SecretString, SendPermit};
use reqwest::{
    Method, RequestBuilder,
    header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue},
    multipart::Form,
};
use serde::Serialize;
use tokio::time::{Instant, timeout_at};
use url::Url;

use crate::{
    client::{HttpClient, is_loopback, place},
    error::{codes, timed_out, transport},
    response::Response,
};

/// A request under construction. An error made while building is kept and returned by
/// [`Request::send`].
#[must_use = "a request does nothing until it is sent"]
pub struct Request {
    client: HttpClient,
    builder: Result<RequestBuilder>,
    place: String,
    total: Duration,
    head: Option<Duration>,
    idle: Option<Duration>,
    max_body: usize,
    permit: SendPermit,
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").field("host", &self.place).finish_non_exhaustive()
    }
}

impl HttpClient {
    /// Starts a GET request.
    pub fn get(&self, url: &str) -> Request {
        self.request(Method::GET, url)
    }

    /// Starts a POST request.
    pub fn post(&self, url: &str) -> Request {
        self.request(Method::POST, url)
    }

    /// Starts a request of any method. A bad URL is reported by [`Request::send`].
    pub fn request(&self, method: Method, url: &str) -> Request {
        match Url::parse(url) {
            Ok(url) if matches!(url.scheme(), "http" | "https") => {
                match if is_loopback(&url) { self.direct() } else { self.proxied() } {
                    Ok(client) => {
                        Request::new(self.clone(), client.request(method, url.clone()), place(&url))
                    }
                    Err(error) => Request::broken(self.clone(), error),
                }
            }
            Ok(_) => Request::broken(
                self.clone(),
                Error::invalid("only http and https addresses can be called").with_code(codes::URL),
            ),
            Err(error) => Request::broken(
                self.clone(),
                Error::invalid("this is not a valid URL")
                    .with_code(codes::URL)
                    .with("cause", error),
            ),
        }
    }
}

impl Request {
    pub(crate) fn new(client: HttpClient, builder: RequestBuilder, place: String) -> Self {
        let (total, max_body) = (client.options().total_timeout, client.options().max_body);
        Self {
            client,
            builder: Ok(builder),
            place,
            total,
            head: None,
            idle: None,
            max_body,
            permit: SendPermit::always(),
        }
    }

    pub(crate) fn broken(client: HttpClient, error: Error) -> Self {
        let (total, max_body) = (client.options().total_timeout, client.options().max_body);
        Self {
            client,
            builder: Err(error),
            place: String::new(),
            total,
            head: None,
            idle: None,
            max_body,
            permit: SendPermit::always(),
        }
    }

    fn map(mut self, change: impl FnOnce(RequestBuilder) -> Result<RequestBuilder>) -> Self {
        self.builder = self.builder.and_then(change);
        self
    }

    /// Adds a public header.
    pub fn header(self, name: &'static str, value: &str) -> Self {
        self.set_header(name, value, false)
    }

    /// Adds a header with a secret value, which debug output of the HTTP library omits.
    pub fn secret_header(self, name: &'static str, value: &SecretString) -> Self {
        self.set_header(name, value.expose_secret(), true)
    }

    /// Adds `Authorization: Bearer …` (RFC 6750 §2.1).
    pub fn bearer(self, token: &SecretString) -> Self {
        let value = SecretString::from(format!("Bearer {}", token.expose_secret()));
        self.secret_header("authorization", &value)
    }

    fn set_header(self, name: &'static str, value: &str, secret: bool) -> Self {
        self.map(|builder| {
            let key = HeaderName::try_from(name)
                .map_err(|_| Error::invalid("not a header name").with("header", name))?;
            let mut value = HeaderValue::from_str(value).map_err(|_| {
                Error::invalid("a header value holds a line break or another forbidden character")
                    .with("header", name)
            })?;
            value.set_sensitive(secret);
            Ok(builder.header(key, value))
        })
    }

    /// Adds query parameters.
    pub fn query(self, pairs: &[(&str, &str)]) -> Self {
        self.map(|builder| Ok(builder.query(pairs)))
    }

    /// Writes a [`Request::json`] body that is set after this call only if `permit` is still valid
    /// at that moment.
    pub fn only_with(mut self, permit: &SendPermit) -> Self {
        self.permit = permit.clone();
        self
    }

    /// Sets a JSON body.
    pub fn json<T: Serialize + ?Sized>(self, body: &T) -> Self {
        let permit = self.permit.clone();
        self.map(|builder| {
            let bytes = serde_json::to_vec(body)
                .map_err(|_| Error::unexpected("the request could not be written as JSON"))?;
            let builder = builder.header(CONTENT_TYPE, "application/json");
            if !permit.can_end() {
                return Ok(builder.body(bytes));
            }
            // The length is announced, so that a request without its body is incomplete and the
            // server does not act on it (RFC 9112 §6.3).
            let builder = builder.header(CONTENT_LENGTH, bytes.len());
            let written = async move {
                if permit.is_valid() {
                    Ok(bytes)
                } else {
                    Err(std::io::Error::other("the permit to send was withdrawn"))
                }
            };
            Ok(builder.body(reqwest::Body::wrap_stream(futures::stream::once(written))))
        })
    }

    /// Sets a body of the given media type.
    pub fn body(self, content_type: &str, bytes: Bytes) -> Self {
        let value = HeaderValue::from_str(content_type);
        self.map(|builder| {
            Ok(builder
                .header(CONTENT_TYPE, value.map_err(|_| Error::invalid("not a media type"))?)
                .body(bytes))
        })
    }

    /// Sets a body of `application/x-www-form-urlencoded` pairs.
    pub fn form(self, pairs: &[(&str, &str)]) -> Self {
        self.map(|builder| Ok(builder.form(pairs)))
    }

    /// Sets a `multipart/form-data` body, which may contain files.
    pub fn multipart(self, form: Form) -> Self {
        self.map(|builder| Ok(builder.multipart(form)))
    }

    /// Longest time until the last byte of the answer.
    pub fn total_timeout(mut self, limit: Duration) -> Self {
        self.total = limit;
        self
    }

    /// Longest time until the answer's headers.
    pub fn head_timeout(mut self, limit: Duration) -> Self {
        self.head = Some(limit);
        self
    }

    /// Longest time between two pieces of the answer's body.
    pub fn idle_timeout(mut self, limit: Duration) -> Self {
        self.idle = Some(limit);
        self
    }

    /// Longest answer read, in bytes after decompression.
    pub fn max_body(mut self, bytes: usize) -> Self {
        self.max_body = bytes;
        self
    }

    /// Sends the request and waits for the answer's headers. Any status is `Ok` here; see
    /// [`Response::ok`].
    ///
    /// # Errors
    /// `Invalid` for an invalid request, `Unavailable` when the connection failed
    /// ([`galatea_core::Sent::No`]) or broke ([`galatea_core::Sent::Maybe`]), `Timeout`.
    pub async fn send(self) -> Result<Response> {
        let builder = self.builder?;
        let start = Instant::now();
        let head = self.head.unwrap_or(self.total).min(self.total);
        let answer = match timeout_at(start + head, builder.send()).await {
            Ok(answer) => answer.map_err(|error| transport(error, &self.place))?,
            Err(_) => {
                return Err(timed_out("no answer within the time allowed", &self.place, head));
            }
        };
        Ok(Response::new(
            answer,
            self.place,
            start,
            self.total,
            self.idle,
            self.max_body,
            self.client.options().clock.clone(),
        ))
    }

    /// Sends the request, requires a success status and parses the body as JSON.
    ///
    /// # Errors
    /// As [`Request::send`], [`Response::ok`] and [`Response::json`].
    pub async fn send_json<T: serde::de::DeserializeOwned>(self) -> Result<T> {
        self.send().await?.ok()?.json().await
    }

    /// `host:port` of the server; empty for an invalid URL.
    pub fn place(&self) -> &str {
        &self.place
    }
}
