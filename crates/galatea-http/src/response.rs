//! An HTTP answer: status, headers, and a body read within limits of size and time.

use std::{fmt, sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use futures::stream::{BoxStream, StreamExt};
use galatea_core::{Clock, Error, ErrorKind, Result};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, timeout_at};

use crate::{
    error::{codes, status_error, timed_out, transport},
    json,
    retry_after::{parse_http_date, parse_retry_after},
};

/// An answer whose headers have arrived.
pub struct Response {
    inner: reqwest::Response,
    place: String,
    start: Instant,
    total: Duration,
    idle: Option<Duration>,
    max_body: usize,
    clock: Arc<dyn Clock>,
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response")
            .field("host", &self.place)
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}

impl Response {
    pub(crate) fn new(
        inner: reqwest::Response,
        place: String,
        start: Instant,
        total: Duration,
        idle: Option<Duration>,
        max_body: usize,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { inner, place, start, total, idle, max_body, clock }
    }

    /// HTTP status.
    pub fn status(&self) -> u16 {
        self.inner.status().as_u16()
    }

    /// True if the status is 2xx.
    pub fn is_success(&self) -> bool {
        self.inner.status().is_success()
    }

    /// A header's first value, if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.inner.headers().get(name)?.to_str().ok()
    }

    /// Media type without parameters, in lower case.
    pub fn media_type(&self) -> String {
        media_type(self.header("content-type").unwrap_or_default())
    }

    /// Wait that the server asks for. A date is compared with the server's own
    /// `Date`, so that a wrong clock on either side does not matter.
    pub fn retry_after(&self) -> Option<Duration> {
        let ours = self.clock.now();
        let now = self.header("date").and_then(|date| parse_http_date(date, ours)).unwrap_or(ours);
        parse_retry_after(self.header("retry-after")?, now)
    }

    /// `host:port` that answered.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Returns the answer if its status is 2xx.
    ///
    /// # Errors
    /// The error of [`status_error`] for any other status, with the server's `Retry-After`. The
    /// body is not read.
    pub fn ok(self) -> Result<Self> {
        if self.is_success() {
            Ok(self)
        } else {
            Err(status_error(self.status(), &self.place, self.retry_after()))
        }
    }

    /// The body, in pieces as they arrive.
    ///
    /// # Errors
    /// Each piece can be `Timeout`, `Unavailable` (the connection broke) or `Invalid` (too long).
    /// The stream ends after an error.
    pub fn stream(self) -> BoxStream<'static, Result<Bytes>> {
        let reader = BodyReader {
            deadline: self.start + self.total,
            total: self.total,
            idle: self.idle,
            left: self.max_body,
            max: self.max_body,
            place: self.place,
            body: Some(self.inner),
        };
        futures::stream::unfold(reader, |mut reader| async move {
            reader.next().await.map(|piece| (piece, reader))
        })
        .boxed()
    }

    /// The whole body.
    ///
    /// # Errors
    /// As [`Response::stream`].
    pub async fn bytes(self) -> Result<Bytes> {
        let mut stream = self.stream();
        let Some(first) = stream.next().await.transpose()? else { return Ok(Bytes::new()) };
        let Some(second) = stream.next().await.transpose()? else { return Ok(first) };
        let mut all = BytesMut::from(first.as_ref());
        all.extend_from_slice(&second);
        while let Some(piece) = stream.next().await.transpose()? {
            all.extend_from_slice(&piece);
        }
        Ok(all.freeze())
    }

    /// The whole body as UTF-8; invalid sequences are replaced.
    ///
    /// # Errors
    /// As [`Response::stream`].
    pub async fn text(self) -> Result<String> {
        Ok(String::from_utf8_lossy(&self.bytes().await?).into_owned())
    }

    /// The whole body as JSON.
    ///
    /// # Errors
    /// As [`Response::stream`], and `Unexpected` with line and column for other JSON than expected.
    /// The error never contains the body.
    pub async fn json<T: DeserializeOwned>(self) -> Result<T> {
        let place = self.place.clone();
        let bytes = self.bytes().await?;
        json::read(&bytes).map_err(|error| {
            let what = if error.is_data() { "is JSON of another shape" } else { "is not JSON" };
            Error::unexpected(format!("the answer {what}"))
                .with_code(codes::JSON)
                .with("host", place)
                .with("line", error.line())
                .with("column", error.column())
        })
    }
}

struct BodyReader {
    body: Option<reqwest::Response>,
    deadline: Instant,
    total: Duration,
    idle: Option<Duration>,
    left: usize,
    max: usize,
    place: String,
}

impl BodyReader {
    async fn next(&mut self) -> Option<Result<Bytes>> {
        let body = self.body.as_mut()?;
        let (until, silence) = match self.idle.map(|idle| (Instant::now() + idle, idle)) {
            Some((at, idle)) if at < self.deadline => (at, Some(idle)),
            _ => (self.deadline, None),
        };
        let piece = match timeout_at(until, body.chunk()).await {
            Ok(Ok(Some(piece))) if piece.len() <= self.left => {
                self.left -= piece.len();
                return Some(Ok(piece));
            }
            Ok(Ok(Some(_))) => Error::new(ErrorKind::Invalid, "the answer is longer than allowed")
                .with_code(codes::TOO_BIG)
                .with("host", &self.place)
                .with("max_bytes", self.max),
            Ok(Ok(None)) => {
                self.body = None;
                return None;
            }
            Ok(Err(error)) => transport(error, &self.place),
            Err(_) => match silence {
                Some(idle) => timed_out("the answer stopped coming", &self.place, idle),
                None => timed_out(
                    "the answer was not complete within the time allowed",
                    &self.place,
                    self.total,
                ),
            },
        };
        self.body = None;
        Some(Err(piece))
    }
}

pub(crate) fn media_type(value: &str) -> String {
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}
