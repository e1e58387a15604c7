//! Answers in elizaOS's envelopes. Routes of agents and memories name a code; those of messaging only
//! say what happened; sessions and jobs answer bare objects.

use axum::{
    body::{Bytes, to_bytes},
    extract::{FromRequest, Request},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use galatea_core::{Error, ErrorKind};
use serde::Serialize;
use serde_json::{Value, json};
use uuid::Uuid;

/// Most bytes of a body, as in elizaOS (`EXPRESS_MAX_PAYLOAD`).
const BODY: usize = 2 << 20;

/// A refused request: its status and its body.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    pub(super) body: Value,
}

/// What a handler returns.
pub(super) type Answer = Result<Response, Refusal>;

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.status, axum::Json(self.body)).into_response()
    }
}

/// `{success: true, data}`.
#[allow(clippy::unnecessary_wraps, reason = "the end of every handler")]
pub(super) fn success(data: impl Serialize) -> Answer {
    success_as(StatusCode::OK, data)
}

/// `{success: true, data}` with a status.
#[allow(clippy::unnecessary_wraps, reason = "the end of every handler")]
pub(super) fn success_as(status: StatusCode, data: impl Serialize) -> Answer {
    Ok((status, axum::Json(json!({ "success": true, "data": data }))).into_response())
}

/// A bare object.
#[allow(clippy::unnecessary_wraps, reason = "the end of every handler")]
pub(super) fn bare(status: StatusCode, body: Value) -> Answer {
    Ok((status, axum::Json(body)).into_response())
}

/// 204.
#[allow(clippy::unnecessary_wraps, reason = "the end of every handler")]
pub(super) fn nothing() -> Answer {
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// `{success: false, error: {code, message}}`.
pub(super) fn coded(status: u16, code: &str, message: &str) -> Refusal {
    let body = json!({ "success": false, "error": { "code": code, "message": message } });
    Refusal { status: status_of(status), body }
}

/// `{success: false, error}`.
pub(super) fn plain(status: u16, message: &str) -> Refusal {
    Refusal { status: status_of(status), body: json!({ "success": false, "error": message }) }
}

fn status_of(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// Status and code that elizaOS has for a failure.
fn kind(error: &Error) -> (u16, &'static str) {
    match error.kind() {
        ErrorKind::Invalid => (400, "BAD_REQUEST"),
        ErrorKind::TooLong => (413, "PAYLOAD_TOO_LARGE"),
        ErrorKind::NotFound => (404, "NOT_FOUND"),
        ErrorKind::Unauthorized => (401, "UNAUTHORIZED"),
        ErrorKind::Forbidden => (403, "FORBIDDEN"),
        ErrorKind::Conflict | ErrorKind::Unsupported => (409, "CONFLICT"),
        ErrorKind::RateLimited => (429, "RATE_LIMIT_EXCEEDED"),
        ErrorKind::Unavailable | ErrorKind::Exhausted => (503, "UNAVAILABLE"),
        ErrorKind::Timeout => (504, "TIMEOUT"),
        ErrorKind::Unexpected => (500, "500"),
    }
}

fn noted(error: &Error) -> (u16, &'static str) {
    let (status, code) = kind(error);
    if status >= 500 {
        tracing::warn!(error = %error.report(), "a request to elizaOS's API failed");
    }
    (status, code)
}

/// A failure as [`coded`].
pub(super) fn failed(error: Error) -> Refusal {
    let (status, code) = noted(&error);
    let mut refusal = coded(status, code, &error.to_string());
    if let (Some(fix), Some(body)) = (error.fix(), refusal.body.get_mut("error")) {
        body["details"] = json!(fix);
    }
    refusal
}

/// A failure as [`plain`].
pub(super) fn failed_plainly(error: Error) -> Refusal {
    plain(noted(&error).0, &error.to_string())
}

/// An id as elizaOS reads it: 8-4-4-4-12 hexadecimal digits, of any version.
pub(crate) fn uuid(text: &str) -> Option<Uuid> {
    (text.len() == 36).then(|| Uuid::parse_str(text).ok()).flatten()
}

/// An id in a body.
pub(crate) fn uuid_in(body: &Value, key: &str) -> Option<Uuid> {
    uuid(body.get(key)?.as_str()?)
}

/// A text in a body that is not empty.
pub(super) fn text_in<'a>(body: &'a Value, key: &str) -> Option<&'a str> {
    body.get(key)?.as_str().filter(|text| !text.is_empty())
}

/// A time as JavaScript writes it.
pub(super) fn iso(millis: i64) -> String {
    use jiff::{Timestamp, fmt::temporal::DateTimePrinter};
    const PRINTER: DateTimePrinter = DateTimePrinter::new().precision(Some(3));
    let at = Timestamp::from_millisecond(millis).unwrap_or_default();
    PRINTER.timestamp_to_string(&at)
}

/// The JSON of a request; an empty object where it has none.
pub(super) struct Body(pub(super) Value);

impl<S: Send + Sync> FromRequest<S> for Body {
    type Rejection = Refusal;

    async fn from_request(request: Request, _: &S) -> Result<Self, Refusal> {
        let kind = request.headers().get(header::CONTENT_TYPE).cloned();
        let bytes: Bytes = to_bytes(request.into_body(), BODY)
            .await
            .map_err(|_| coded(413, "PAYLOAD_TOO_LARGE", "request entity too large"))?;
        if bytes.is_empty() {
            return Ok(Self(json!({})));
        }
        let json = kind.as_ref().and_then(|kind| kind.to_str().ok());
        if !json.is_some_and(|kind| kind.contains("application/json")) {
            let message = "Invalid or missing Content-Type header";
            return Err(coded(400, "INVALID_CONTENT_TYPE", message));
        }
        let read = serde_json::from_slice(&bytes);
        read.map(Self).map_err(|_| coded(400, "BAD_REQUEST", "the body is not JSON"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_as_elizaos_does() {
        assert!(uuid("b850bc30-45f8-0041-a00a-83df46d8555d").is_some(), "of any version");
        assert!(uuid("B850BC30-45F8-0041-A00A-83DF46D8555D").is_some());
        for bad in ["", "b850bc3045f80041a00a83df46d8555d", "{b850bc30-45f8-0041-a00a-83df46d855}"]
        {
            assert_eq!(uuid(bad), None, "{bad}");
        }
    }

    #[test]
    fn times_are_written_as_javascript_does() {
        assert_eq!(iso(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(iso(1_790_000_000_123), "2026-09-21T14:13:20.123Z");
    }
}
