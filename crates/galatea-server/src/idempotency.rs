//! Two layers over the API: a request that is sent twice under one key is carried out once, and an
//! answer that a reader has already is not sent again.

use axum::{
    body::{Body, HttpBody as _, to_bytes},
    extract::{Request, State},
    http::{HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use galatea_core::{Timestamp, store::SecretDigest};
use galatea_host::ops::{Operator, digest};
use std::sync::Arc;

use crate::{app::App, body_limit::UPLOAD, error::Problem};

/// Header with the key of a request.
const KEY: &str = "idempotency-key";
/// Longest key in bytes.
const LONGEST: usize = 255;
/// How long an answer is kept, in milliseconds: clients give up within a day.
const KEPT: i64 = 24 * 60 * 60 * 1000;
/// Longest answer that is kept.
const BODY: usize = 1 << 20;

/// Marks an answer that contains a secret: it is never kept.
#[derive(Clone, Copy)]
pub(crate) struct ContainsSecret;

/// Carries a request out once per key of a user.
pub(crate) async fn once(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let key = request.headers().get(KEY).map(|key| key.to_str().unwrap_or_default().to_owned());
    let operator = request.extensions().get::<Operator>().cloned();
    let (Some(key), Some(operator)) = (key, operator) else { return next.run(request).await };
    if matches!(*request.method(), Method::GET | Method::HEAD) {
        return next.run(request).await;
    }
    if key.is_empty() || key.len() > LONGEST {
        let detail = "Idempotency-Key: 1 to 255 visible characters";
        return Problem::input(StatusCode::BAD_REQUEST, detail).into_response();
    }
    match carry_out(&app, &operator, &key, request, next).await {
        Ok(response) => response,
        Err(problem) => problem.into_response(),
    }
}

async fn carry_out(
    app: &App,
    operator: &Operator,
    key: &str,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    // Each route has its own, shorter limit.
    let body = to_bytes(body, UPLOAD)
        .await
        .map_err(|_| Problem::input(StatusCode::PAYLOAD_TOO_LARGE, "the body is too long"))?;
    let whose = operator.user.map(|user| user.to_string()).unwrap_or_default();
    let key = digest(&format!("{whose}\n{key}"));
    let text = String::from_utf8_lossy(&body);
    let asked = digest(&format!("{}\n{}\n{text}", parts.method, parts.uri));
    let store = app.ops.store();
    let now = app.ops.clock().now();
    let until = Timestamp(now.0.saturating_add(KEPT));
    if let Some(kept) = store.take_key(&key, &asked, now, until).await? {
        let (Some(status), true) = (kept.status, kept.request == asked) else {
            let detail =
                "the key was used for another request, or its first one is still carried out";
            return Err(Problem::new(StatusCode::CONFLICT, "GAL-API-KEY", detail)
                .fix("use a new key for each request, and the same one only to repeat it"));
        };
        return Ok(again(status, kept.body.unwrap_or_default()));
    }
    let response = next.run(Request::from_parts(parts, Body::from(body))).await;
    keep(app, &key, response).await
}

fn again(status: u16, body: String) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    let kind = match (body.is_empty(), status.is_success()) {
        (true, _) => None,
        (false, true) => Some("application/json"),
        (false, false) => Some("application/problem+json"),
    };
    let mut response = (status, body).into_response();
    response.headers_mut().remove(header::CONTENT_TYPE);
    if let Some(kind) = kind {
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    }
    response.headers_mut().insert("idempotency-replayed", HeaderValue::from_static("true"));
    response
}

/// Keeps an answer. One that says the server failed is not kept: the request may be tried again.
async fn keep(app: &App, key: &SecretDigest, response: Response) -> Result<Response, Problem> {
    let store = app.ops.store();
    let length = response.body().size_hint().exact();
    let secret = response.extensions().get::<ContainsSecret>().is_some();
    let whole = length.is_some_and(|length| length <= BODY as u64);
    if secret || !whole || response.status().is_server_error() {
        store.free_key(key).await?;
        return Ok(response);
    }
    let (parts, body) = response.into_parts();
    let body = to_bytes(body, BODY).await.map_err(|_| {
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "GAL-UNEXPECTED", "no body")
    })?;
    store.keep_answer(key, parts.status.as_u16(), &String::from_utf8_lossy(&body)).await?;
    Ok(Response::from_parts(parts, Body::from(body)))
}

/// Adds an `ETag` to what is read, and answers 304 to who has it.
pub(crate) async fn tagged(request: Request, next: Next) -> Response {
    let reads = *request.method() == Method::GET;
    let has = request.headers().get(header::IF_NONE_MATCH).cloned();
    let response = next.run(request).await;
    let length = response.body().size_hint().exact();
    if !reads || response.status() != StatusCode::OK || length.is_none_or(|n| n > BODY as u64) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let Ok(body) = to_bytes(body, BODY).await else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let digest = digest(&String::from_utf8_lossy(&body)).0;
    let tag = format!("\"{}\"", digest.get(..32).unwrap_or_default());
    let same = has.as_ref().and_then(|has| has.to_str().ok()).is_some_and(|has| {
        has.split(',').any(|one| one.trim().trim_start_matches("W/") == tag || one.trim() == "*")
    });
    if let Ok(value) = HeaderValue::from_str(&tag) {
        parts.headers.insert(header::ETAG, value);
    }
    parts.headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    if same {
        parts.status = StatusCode::NOT_MODIFIED;
        parts.headers.remove(header::CONTENT_LENGTH);
        return Response::from_parts(parts, Body::empty());
    }
    Response::from_parts(parts, Body::from(body))
}
