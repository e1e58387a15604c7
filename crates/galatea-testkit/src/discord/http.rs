//! The HTTP side: authorization, rate limits, faults, downloads, and the upgrade to the gateway.

use axum::{
    Router,
    body::Body,
    extract::{
        ConnectInfo, FromRequestParts, Request as HttpRequest, State as AxumState,
        ws::WebSocketUpgrade,
    },
    http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use serde_json::Value;
use std::{
    collections::HashMap,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use super::{
    faults::Effect,
    gateway,
    limits::Allowance,
    load,
    refusal::{Answer, Limit, Refusal},
    request::Request,
    routes,
    state::{Call, Shared},
};
use crate::{
    loopback::{ErrorBody, Wire},
    telegram::multipart,
};

/// Largest request body (Discord, "Uploading Files": 25 MiB in all), with some room for the form
/// around the files.
const MAX_BODY: usize = 26 << 20;

pub(crate) fn router(shared: Arc<Shared>) -> Router {
    Router::new().fallback(handle).with_state(shared)
}

async fn handle(
    AxumState(shared): AxumState<Arc<Shared>>,
    ConnectInfo(wire): ConnectInfo<Wire>,
    request: HttpRequest,
) -> Response {
    wire.open();
    if shared.unreachable.load(Ordering::Acquire) {
        return cut(&wire, 0);
    }
    let (mut head, body) = request.into_parts();
    if head.headers.contains_key(header::UPGRADE) {
        return upgrade(shared, wire, &mut head).await;
    }
    if let Some(path) = head.uri.path().strip_prefix("/attachments/") {
        return download(&shared, path);
    }
    let Ok(body) = axum::body::to_bytes(body, MAX_BODY).await else {
        return refuse(&Refusal::new(413, 40005, "Request entity too large"), None);
    };
    if let Some(body) = load::answer(&shared, &head.method, &head.uri, &body) {
        return plain(
            if body.is_empty() { 204 } else { 200 },
            "application/json",
            body,
            Some(&Allowance::unlimited()),
        );
    }
    match read(&shared, &head, &body) {
        Ok(request) => call(shared, &wire, request).await,
        Err(refusal) => {
            shared.bump();
            refuse(&refusal, None)
        }
    }
}

async fn upgrade(shared: Arc<Shared>, wire: Wire, head: &mut Parts) -> Response {
    let query = query(head.uri.query());
    let known = query.get("v").is_some_and(|v| v == "10")
        && query.get("encoding").is_some_and(|e| e == "json")
        && !query.contains_key("compress");
    if !known {
        shared.lock().violate("gateway", "connected with other than v=10 and encoding=json");
    }
    match WebSocketUpgrade::from_request_parts(head, &()).await {
        Ok(upgrade) => {
            upgrade.on_upgrade(move |socket| gateway::serve(shared, wire, socket)).into_response()
        }
        Err(rejection) => rejection.into_response(),
    }
}

fn query(text: Option<&str>) -> HashMap<String, String> {
    url::form_urlencoded::parse(text.unwrap_or_default().as_bytes()).into_owned().collect()
}

/// Decodes a call and checks its authorization.
fn read(shared: &Arc<Shared>, head: &Parts, body: &Bytes) -> Result<Request, Refusal> {
    let mut state = shared.lock();
    let path = head.uri.path();
    let Some(rest) = path.strip_prefix("/api/v10/") else {
        state.violate(path, "not a path of the API, version 10");
        return Err(Refusal::new(404, 0, "404: Not Found"));
    };
    let Some((route, ids)) = routes::find(head.method.as_str(), rest) else {
        state.violate(head.method.as_str(), &format!("unknown route /{rest}"));
        return Err(Refusal::new(404, 0, "404: Not Found"));
    };
    let header =
        |name: &str| head.headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default();
    if !header("user-agent").starts_with("DiscordBot (") {
        state.violate(route, "a User-Agent that is not DiscordBot (url, version)");
    }
    // Interaction routes carry their token in the path instead of a header.
    let token_in_path = route.contains("/callback") || route.contains("/webhooks/");
    if !token_in_path && header("authorization") != format!("Bot {}", state.options.token()) {
        state.limits.invalid += 1;
        return Err(Refusal::new(401, 0, "401: Unauthorized"));
    }
    let (body, files) = match payload(header("content-type"), body) {
        Ok(read) => read,
        Err(why) => {
            state.violate(route, why);
            return Err(Refusal::new(400, 50109, "The request body contains invalid JSON."));
        }
    };
    Ok(Request { route, ids, query: query(head.uri.query()), body, files })
}

fn payload(kind: &str, body: &Bytes) -> Result<(Value, Vec<multipart::Part>), &'static str> {
    if body.is_empty() {
        return Ok((Value::Null, Vec::new()));
    }
    if kind.starts_with("application/json") {
        return serde_json::from_slice(body)
            .map(|v| (v, Vec::new()))
            .map_err(|_| "a body that is not JSON");
    }
    let boundary = Some(kind)
        .filter(|k| k.starts_with("multipart/form-data"))
        .and_then(multipart::boundary)
        .ok_or("a body that is neither JSON nor a form")?;
    let mut parts = multipart::parts(body, boundary).ok_or("a form that is not well formed")?;
    let at =
        parts.iter().position(|p| p.name == "payload_json").ok_or("a form without payload_json")?;
    let json = parts.remove(at);
    serde_json::from_slice(&json.bytes)
        .map(|v| (v, parts))
        .map_err(|_| "a payload_json that is not JSON")
}

async fn call(shared: Arc<Shared>, wire: &Wire, request: Request) -> Response {
    let (route, channel) = (request.route, request.channel());
    let (index, effect, left, limited) = begin(&shared, &request);
    shared.bump();
    let outcome = match (limited, &effect) {
        (Some(refusal), _) => Err(refusal),
        (_, Some(Effect::ApplyLate)) => {
            shared.lock().late.push(request);
            shared.bump();
            return cut(wire, 0);
        }
        (_, Some(Effect::Hang)) => {
            shared.stop.cancelled().await;
            return cut(wire, 0);
        }
        (_, Some(Effect::RateLimited(wait))) => Err(order(&shared, &request, *wait, false, false)),
        (_, Some(Effect::GlobalLimit(wait))) => Err(order(&shared, &request, *wait, true, false)),
        (_, Some(Effect::SharedLimit(wait))) => Err(order(&shared, &request, *wait, false, true)),
        (_, Some(Effect::Refuse(status, code))) => Err(Refusal::new(*status, *code, "Refused")),
        (_, Some(Effect::ServerError(status, kind))) => {
            finish(&shared, index, *status, Value::Null);
            return failure(*status, *kind);
        }
        _ => perform(&shared, &request),
    };
    if let Err(refusal) = &outcome {
        let mut state = shared.lock();
        if matches!(refusal.status, 401 | 403)
            || (refusal.status == 429 && refusal.limit.as_ref().is_some_and(|l| !l.shared))
        {
            state.limits.invalid += 1;
        }
        if let Some(why) = &refusal.violation {
            let place = channel.map_or_else(|| route.to_owned(), |c| format!("{route} of {c}"));
            state.violate(&place, why);
        }
    }
    let response = match &outcome {
        Ok(Value::Null) => plain(204, "application/json", Bytes::new(), Some(&left)),
        Ok(value) => plain(200, "application/json", Bytes::from(value.to_string()), Some(&left)),
        Err(refusal) => refuse(refusal, Some(&left)),
    };
    match effect {
        Some(Effect::LoseResponse) => cut(wire, 0),
        Some(Effect::ApplyAndHang) => {
            shared.stop.cancelled().await;
            cut(wire, 0)
        }
        Some(Effect::ApplyThenError(status)) => failure(status, ErrorBody::Json),
        Some(Effect::CutAfter(bytes)) => {
            wire.cut_after(bytes);
            response
        }
        Some(Effect::Body(body)) => plain(200, "application/json", Bytes::from(body), None),
        Some(Effect::Garbage) => {
            plain(200, "application/json", Bytes::from_static(b"{\"id\":"), None)
        }
        _ => {
            let (status, body) = match &outcome {
                Ok(value) => (if value.is_null() { 204 } else { 200 }, value.clone()),
                Err(refusal) => (refusal.status, refusal.body()),
            };
            finish(&shared, index, status, body);
            response
        }
    }
}

/// Records and counts the call, and finds the fault that applies to it.
fn begin(
    shared: &Arc<Shared>,
    request: &Request,
) -> (usize, Option<Effect>, Allowance, Option<Refusal>) {
    let mut state = shared.lock();
    let files = request
        .files
        .iter()
        .map(|f| (f.file_name.clone().unwrap_or_default(), f.bytes.clone()))
        .collect();
    let channel = request.channel();
    state.calls.push(Call {
        instant: Instant::now(),
        route: request.route.to_owned(),
        channel,
        body: request.body.clone(),
        files,
        answer: None,
    });
    let index = state.calls.len() - 1;
    let (size, window) = if request.route == "POST /channels/{}/messages" {
        state.options.bucket
    } else {
        (1000, Duration::from_secs(5))
    };
    let major = request.ids.first().cloned().unwrap_or_default();
    let exempt = request.route.contains("/callback") || request.route.contains("/webhooks/");
    let (left, limited) = state.limits.count(request.route, &major, size, window, exempt);
    let effect = if limited.is_some() { None } else { state.record.effect(request.route, channel) };
    (index, effect, left, limited)
}

fn order(
    shared: &Arc<Shared>,
    request: &Request,
    wait: Duration,
    global: bool,
    common: bool,
) -> Refusal {
    let major = request.ids.first().cloned().unwrap_or_default();
    shared.lock().limits.order(request.route, &major, wait, global);
    Refusal::too_many(Limit { retry_after: wait, global, shared: common })
}

pub(crate) fn perform(shared: &Arc<Shared>, request: &Request) -> Answer {
    let outcome = routes::run(&mut shared.lock(), request);
    shared.bump();
    outcome
}

fn finish(shared: &Arc<Shared>, index: usize, status: u16, body: Value) {
    if let Some(call) = shared.lock().calls.get_mut(index) {
        call.answer = Some((status, body));
    }
    shared.bump();
}

fn download(shared: &Arc<Shared>, path: &str) -> Response {
    let state = shared.lock();
    let file = path.split('/').nth(1).and_then(|id| id.parse::<u64>().ok());
    let mut files =
        state.world.channels.values().flat_map(|c| c.messages.values()).flat_map(|m| &m.files);
    match files.find(|f| Some(f.id) == file) {
        Some(found) => plain(200, "application/octet-stream", found.bytes.clone(), None),
        None => plain(
            404,
            "text/plain",
            Bytes::from_static(b"This content is no longer available."),
            None,
        ),
    }
}

fn failure(status: u16, kind: ErrorBody) -> Response {
    let name =
        StatusCode::from_u16(status).ok().and_then(|s| s.canonical_reason()).unwrap_or("Error");
    match kind {
        ErrorBody::Html => plain(
            status,
            "text/html",
            Bytes::from(format!("<html><head><title>{status} {name}</title></head></html>")),
            None,
        ),
        ErrorBody::Json => plain(
            status,
            "application/json",
            Bytes::from(format!("{{\"message\": \"{status}: {name}\", \"code\": 0}}")),
            None,
        ),
    }
}

fn refuse(refusal: &Refusal, left: Option<&Allowance>) -> Response {
    let mut response =
        plain(refusal.status, "application/json", Bytes::from(refusal.body().to_string()), left);
    if let Some(limit) = &refusal.limit {
        let headers = response.headers_mut();
        // Whole seconds, rounded up.
        set(headers, "retry-after", &limit.retry_after.as_secs_f64().ceil().to_string());
        set(
            headers,
            "x-ratelimit-scope",
            if limit.shared {
                "shared"
            } else if limit.global {
                "global"
            } else {
                "user"
            },
        );
        if limit.global {
            set(headers, "x-ratelimit-global", "true");
        }
    }
    response
}

fn set(headers: &mut HeaderMap, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

fn cut(wire: &Wire, bytes: usize) -> Response {
    wire.cut_after(bytes);
    plain(200, "application/json", Bytes::new(), None)
}

fn plain(status: u16, kind: &'static str, body: Bytes, left: Option<&Allowance>) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    if let Some(left) = left {
        set(headers, "x-ratelimit-limit", &left.limit.to_string());
        set(headers, "x-ratelimit-remaining", &left.remaining.to_string());
        set(headers, "x-ratelimit-reset-after", &format!("{:.3}", left.reset_after.as_secs_f64()));
        let reset =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default()
                + left.reset_after;
        set(headers, "x-ratelimit-reset", &format!("{:.3}", reset.as_secs_f64()));
        set(headers, "x-ratelimit-bucket", &left.bucket);
    }
    response
}
