//! The HTTP side: paths, faults, long polls, downloads.

use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use axum::{
    Router,
    body::Body,
    extract::{ConnectInfo, Request, State as AxumState},
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use bytes::Bytes;
use serde_json::{Value, json};

use super::{
    answer::{Answer, Refusal},
    fast,
    faults::Effect,
    methods,
    params::Params,
    schema::{self, Method},
    state::{Call, Shared},
    updates, webhook,
};
use crate::loopback::{ErrorBody, Wire};

/// Longest long poll in seconds (telegram-bot-api, LONG_POLL_MAX_TIMEOUT).
const MAX_POLL: i64 = 50;
const OTHER_POLL: &str =
    "terminated by other getUpdates request; make sure that only one bot instance is running";
const WEBHOOK_ACTIVE: &str = "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first";

/// Routes every path to [`handle`]; two kinds of path do not need axum's router.
pub(crate) fn router(shared: Arc<Shared>) -> Router {
    Router::new().fallback(handle).with_state(shared)
}

async fn handle(
    AxumState(shared): AxumState<Arc<Shared>>,
    ConnectInfo(wire): ConnectInfo<Wire>,
    request: Request,
) -> Response {
    wire.open();
    if shared.unreachable.load(Ordering::Acquire) {
        wire.cut_after(0);
        return body_of(200, "text/plain", Bytes::new());
    }
    let (head, body) = request.into_parts();
    let max = shared.lock().options.max_upload;
    let path = head.uri.path().to_owned();
    if let Some(rest) = path.strip_prefix("/file/bot") {
        return download(&shared, rest);
    }
    let Ok(body) = axum::body::to_bytes(body, max).await else {
        shared.lock().violate("upload", "request body over the limit");
        return answer(&Err(Refusal::too_large()));
    };
    let method = match route(&shared, &path) {
        Ok(method) => method,
        Err(refusal) => return answer(&Err(refusal)),
    };
    let kind =
        head.headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    if let Some(body) = fast::answer(&shared, method, &body) {
        return body_of(200, "application/json", body);
    }
    match Params::read(head.uri.query(), kind, &body) {
        Ok(params) => call(shared, &wire, method, params).await,
        Err(refusal) => {
            shared.lock().violate(method.name, &refusal.description);
            answer(&Err(refusal))
        }
    }
}

/// Token and method of a path. A malformed token is answered 404 and a wrong one 401, as by the
/// hosted server.
fn route(shared: &Shared, path: &str) -> Result<&'static Method, Refusal> {
    let mut state = shared.lock();
    let parts = path.strip_prefix("/bot").and_then(|p| p.split_once('/'));
    let Some((token, name)) = parts.filter(|(token, _)| well_formed(token)) else {
        state.violate("path", "no well-formed token in the path");
        return Err(Refusal::not_found("Not Found"));
    };
    if token != state.options.token {
        return Err(Refusal::unauthorized());
    }
    schema::find(name.trim_end_matches('/')).ok_or_else(|| {
        state.violate(name, "unknown method");
        Refusal::not_found("Not Found: method not found")
    })
}

fn well_formed(token: &str) -> bool {
    token.split_once(':').is_some_and(|(id, secret)| {
        !id.is_empty()
            && id.bytes().all(|b| b.is_ascii_digit())
            && !secret.is_empty()
            && secret.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
    })
}

async fn call(
    shared: Arc<Shared>,
    wire: &Wire,
    method: &'static Method,
    params: Params,
) -> Response {
    let (index, effect) = begin(&shared, method, &params);
    shared.bump();
    let outcome = match effect {
        Some(Effect::ApplyLate) => {
            shared.lock().late.push((method, params));
            shared.bump();
            return cut(wire, 0);
        }
        Some(Effect::Hang) => {
            shared.stop.cancelled().await;
            return cut(wire, 0);
        }
        Some(Effect::RateLimited(seconds)) => Err(limit(&shared, method, &params, seconds)),
        Some(Effect::ServerError(status, kind)) => {
            let (content_type, body) = failure(status, kind);
            finish(&shared, index, &json!({ "ok": false, "error_code": status }));
            return body_of(status, content_type, body);
        }
        _ => perform(&shared, method, params).await,
    };
    if shared.unreachable.load(Ordering::Acquire) {
        return cut(wire, 0);
    }
    match effect {
        Some(Effect::LoseResponse) => cut(wire, 0),
        Some(Effect::ApplyAndHang) => {
            shared.stop.cancelled().await;
            cut(wire, 0)
        }
        Some(Effect::CutAfter(bytes)) => {
            wire.cut_after(bytes);
            answer(&outcome)
        }
        Some(Effect::Garbage) => {
            body_of(200, "application/json", Bytes::from_static(b"{\"ok\":true,\"result\":"))
        }
        Some(Effect::WrongType) => {
            let mut response = answer(&outcome);
            response
                .headers_mut()
                .insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html"));
            response
        }
        _ => {
            let response = answer(&outcome);
            let body =
                outcome.map_or_else(|r| r.body(), |result| json!({ "ok": true, "result": result }));
            finish(&shared, index, &body);
            response
        }
    }
}

/// Records the call and finds the fault that applies to it.
fn begin(
    shared: &Shared,
    method: &'static Method,
    params: &Params,
) -> (Option<usize>, Option<Effect>) {
    let mut state = shared.lock();
    let call = Call {
        at: state.now(),
        instant: Instant::now(),
        method: method.name.to_owned(),
        params: params.values().clone(),
        files: params.files().clone(),
        answer: None,
    };
    let effect = state.record.effect(method.name, call.chat());
    if !state.options.history {
        return (None, effect);
    }
    state.calls.push(call);
    (Some(state.calls.len() - 1), effect)
}

fn finish(shared: &Shared, index: Option<usize>, body: &Value) {
    if let Some(index) = index
        && let Some(call) = shared.lock().calls.get_mut(index)
    {
        call.answer = Some(body.clone());
    }
    shared.bump();
}

/// Starts a flood wait and returns its refusal.
fn limit(shared: &Shared, method: &'static Method, params: &Params, seconds: u64) -> Refusal {
    let mut state = shared.lock();
    let until = state.now().plus(Duration::from_secs(seconds));
    let chat = chat_number(params);
    state.flood.start(method.name, method.is_send(), chat, until);
    Refusal::too_many(seconds)
}

fn chat_number(params: &Params) -> Option<i64> {
    match params.chat("chat_id") {
        Ok(super::params::ChatRef::Id(id)) => Some(id),
        _ => None,
    }
}

async fn perform(shared: &Arc<Shared>, method: &'static Method, params: Params) -> Answer {
    let refused = {
        let mut state = shared.lock();
        let now = state.now();
        let early = state.flood.check(method.name, method.is_send(), chat_number(&params), now);
        early.inspect_err(|_| {
            state
                .violate(method.name, "sent before the retry_after of an earlier answer had passed")
        })
    };
    refused?;
    if method.name == "getUpdates" {
        return get_updates(shared, params).await;
    }
    let (outcome, hook) = {
        let mut state = shared.lock();
        let outcome = state.run(method, &params);
        let hook = (method.name == "setWebhook" && outcome.is_ok())
            .then(|| webhook::job(&state))
            .flatten();
        (outcome, hook)
    };
    if let Some(job) = hook {
        tokio::spawn(webhook::run(shared.clone(), job));
    }
    shared.bump();
    outcome
}

/// getUpdates: offset, limit, timeout, one poller at a time (telegram-bot-api,
/// process_get_updates_query and do_get_updates). Not implemented: the real server delays a second
/// 409 within 3 s, and slows a client that repeats an offset within 0.5 s.
async fn get_updates(shared: &Arc<Shared>, params: Params) -> Answer {
    let mut changes = shared.changed.subscribe();
    let (limit, timeout, mine) = {
        let mut state = shared.lock();
        let checked = begin_poll(&mut state, &params);
        for note in params.take_notes() {
            state.violate("getUpdates", &note);
        }
        let (limit, timeout) = checked.inspect_err(|r| {
            if r.violation {
                state.violate("getUpdates", &r.description);
            }
        })?;
        let ready = state.hand_out(limit);
        if !ready.is_empty() || timeout.is_zero() {
            return Ok(json!(ready));
        }
        state.updates.poll += 1;
        (limit, timeout, state.updates.poll)
    };
    let clock = shared.lock().options.clock.clone();
    // Wakes an older poll, so that it ends with 409.
    shared.bump();
    let over = clock.sleep(timeout);
    tokio::pin!(over);
    loop {
        tokio::select! {
            () = shared.stop.cancelled() => return Ok(json!([])),
            () = &mut over => return Ok(json!([])),
            _ = changes.changed() => {
                if shared.unreachable.load(Ordering::Acquire) {
                    return Ok(json!([]));
                }
                let mut state = shared.lock();
                if state.webhook.is_some() {
                    return Err(Refusal::conflict("terminated by setWebhook request"));
                }
                if state.updates.poll != mine {
                    return Err(Refusal::conflict(OTHER_POLL));
                }
                let ready = state.hand_out(limit);
                if !ready.is_empty() {
                    return Ok(json!(ready));
                }
            }
        }
    }
}

fn begin_poll(
    state: &mut super::state::State,
    params: &Params,
) -> Result<(usize, Duration), Refusal> {
    methods::check_declared(schema::find("getUpdates").unwrap_or(&schema::METHODS[0]), params)?;
    if state.webhook.is_some() {
        return Err(Refusal::conflict(WEBHOOK_ACTIVE));
    }
    let offset = params.int("offset")?.unwrap_or(0);
    let limit = params.int("limit")?.unwrap_or(100);
    let timeout = params.int("timeout")?.unwrap_or(0);
    if !(1..=100).contains(&limit) {
        params.note(format!("limit {limit} is not 1-100"));
    }
    if timeout < 0 {
        params.note("timeout is negative");
    }
    state.updates.allow(params)?;
    state.updates.confirm(offset);
    if let Some(load) = &mut state.load {
        load.confirmed(offset);
    }
    let limit = usize::try_from(limit.clamp(1, 100)).unwrap_or(100);
    Ok((limit, Duration::from_secs(timeout.clamp(0, MAX_POLL).unsigned_abs())))
}

/// Serves `/file/bot<token>/<path>`.
fn download(shared: &Shared, rest: &str) -> Response {
    let mut state = shared.lock();
    let Some((token, path)) = rest.split_once('/') else {
        return answer(&Err(Refusal::not_found("Not Found")));
    };
    if token != state.options.token {
        return answer(&Err(Refusal::unauthorized()));
    }
    let file = state.files.values().find(|f| f.path == path).map(|f| f.bytes.clone());
    match file {
        Some(bytes) => body_of(200, "application/octet-stream", bytes),
        None => {
            state.violate("file", "no such file_path");
            answer(&Err(Refusal::not_found("Not Found")))
        }
    }
}

fn failure(status: u16, kind: ErrorBody) -> (&'static str, Bytes) {
    let name =
        StatusCode::from_u16(status).ok().and_then(|s| s.canonical_reason()).unwrap_or("Error");
    match kind {
        ErrorBody::Html => (
            "text/html",
            Bytes::from(format!(
                "<html>\r\n<head><title>{status} {name}</title></head>\r\n<body>\r\n<center><h1>{status} {name}</h1></center>\r\n</body>\r\n</html>\r\n"
            )),
        ),
        ErrorBody::Json => (
            "application/json",
            Bytes::from(
                json!({ "ok": false, "error_code": status, "description": name }).to_string(),
            ),
        ),
    }
}

fn cut(wire: &Wire, bytes: usize) -> Response {
    wire.cut_after(bytes);
    body_of(200, "application/json", Bytes::new())
}

fn answer(outcome: &Answer) -> Response {
    match outcome {
        Ok(result) => {
            let mut body = b"{\"ok\":true,\"result\":".to_vec();
            body.extend_from_slice(updates::wire(result).as_bytes());
            body.push(b'}');
            body_of(200, "application/json", Bytes::from(body))
        }
        Err(refusal) => {
            body_of(refusal.code, "application/json", Bytes::from(refusal.body().to_string()))
        }
    }
}

fn body_of(status: u16, content_type: &'static str, body: Bytes) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
