//! The HTTP layer of the loopback X: checks authentication and limits, applies faults, and writes
//! headers.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Instant,
};

use axum::{
    Router,
    body::Body,
    extract::{ConnectInfo, Request, State as AxumState},
    http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts},
    response::Response,
};
use bytes::Bytes;
use serde_json::Value;

use super::{
    faults::Effect,
    limits::Standing,
    oauth1::{self, Signed, Wrong},
    params::{self, Query},
    problem::Problem,
    routes::{self, Route},
    state::{Call, Shared, State},
};
use crate::{
    loopback::{ErrorBody, Wire},
    x::options::Access,
};

/// Largest request body: one piece of an upload and the form around it.
const MAX_BODY: usize = 6 << 20;

pub(super) fn router(shared: Arc<Shared>) -> Router {
    Router::new().fallback(handle).with_state(shared)
}

/// An answer under construction.
struct Answer {
    status: u16,
    body: Value,
    standing: Option<Standing>,
    access: Option<Access>,
}

async fn handle(
    AxumState(shared): AxumState<Arc<Shared>>,
    ConnectInfo(wire): ConnectInfo<Wire>,
    request: Request,
) -> Response {
    wire.open();
    if shared.unreachable.load(Ordering::Acquire) {
        return cut(&wire, 0);
    }
    let (head, body) = request.into_parts();
    let Ok(raw) = axum::body::to_bytes(body, MAX_BODY).await else {
        shared.lock().violate(head.uri.path(), "request body over the limit");
        return write(&answer_of(Problem { status: 413, ..Problem::invalid("too large") }));
    };
    let Some(route) = routes::find(head.method.as_str(), head.uri.path()) else {
        shared.lock().violate(&format!("{} {}", head.method, head.uri.path()), "unknown route");
        return write(&answer_of(Problem::no_route()));
    };
    let (index, effect) = begin(&shared, &route, &head, &raw);
    shared.bump();
    match &effect {
        Some(Effect::Hang) => {
            shared.stop.cancelled().await;
            return cut(&wire, 0);
        }
        Some(Effect::ServerError(status, kind)) => return failure(*status, *kind),
        _ => {}
    }
    let answer = {
        let mut state = shared.lock();
        let answer = match &effect {
            Some(Effect::RateLimited(seconds)) => {
                let now = state.seconds();
                let standing = state.limits.shut(route.name, now, *seconds);
                Answer { standing: Some(standing), ..answer_of(Problem::too_many()) }
            }
            Some(Effect::Refuse(status, body)) => {
                Answer { status: *status, body: body.clone(), standing: None, access: None }
            }
            _ => serve(&mut state, &route, &head, &raw),
        };
        if let Some(call) = state.calls.get_mut(index) {
            call.answer = Some((answer.status, answer.body.clone()));
        }
        answer
    };
    shared.bump();
    match effect {
        Some(Effect::LoseResponse) => cut(&wire, 0),
        Some(Effect::ApplyAndHang) => {
            shared.stop.cancelled().await;
            cut(&wire, 0)
        }
        Some(Effect::ApplyThenFail) => failure(500, ErrorBody::Json),
        Some(Effect::CutAfter(bytes)) => {
            wire.cut_after(bytes);
            write(&answer)
        }
        Some(Effect::Body(body)) => plain(200, "application/json; charset=utf-8", &body),
        Some(Effect::Garbage) => plain(200, "application/json", "{\"data\":"),
        _ => write(&answer),
    }
}

fn query_of(head: &Parts) -> Vec<(String, String)> {
    url::form_urlencoded::parse(head.uri.query().unwrap_or_default().as_bytes())
        .into_owned()
        .collect()
}

/// Records the call and finds the fault that applies to it. Secrets in forms are not recorded.
fn begin(shared: &Shared, route: &Route, head: &Parts, raw: &Bytes) -> (usize, Option<Effect>) {
    let mut state = shared.lock();
    let body = serde_json::from_slice(raw).unwrap_or(Value::Null);
    let call = Call {
        at: state.now(),
        instant: Instant::now(),
        route: route.name.to_owned(),
        path: head.uri.path().to_owned(),
        query: query_of(head).into_iter().collect(),
        body,
        answer: None,
    };
    state.calls.push(call);
    let effect = state.record.effect(route.name, None::<i64>);
    (state.calls.len() - 1, effect)
}

fn serve(state: &mut State, route: &Route, head: &Parts, raw: &Bytes) -> Answer {
    match checked(state, route, head, raw) {
        Ok(answer) => answer,
        Err((problem, standing, access)) => {
            if let Some(what) = &problem.violation {
                state.violate(route.name, what);
            }
            Answer { standing, access, ..answer_of(problem) }
        }
    }
}

type Refused = (Problem, Option<Standing>, Option<Access>);

fn checked(state: &mut State, route: &Route, head: &Parts, raw: &Bytes) -> Result<Answer, Refused> {
    let text = |name: header::HeaderName| {
        head.headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default().to_owned()
    };
    let content_type = text(header::CONTENT_TYPE);
    if route.name == "POST /2/oauth2/token" {
        if !content_type.starts_with("application/x-www-form-urlencoded") {
            return Err((
                Problem::grant("invalid_request", "").breach("token: not a form"),
                None,
                None,
            ));
        }
        let form: Vec<(String, String)> = url::form_urlencoded::parse(raw).into_owned().collect();
        let (options, now) = (state.options.clone(), state.seconds());
        let basic = text(header::AUTHORIZATION);
        let body = state
            .grants
            .token(&options, &form, basic.strip_prefix("Basic "), now)
            .map_err(|p| (p, None, None))?;
        return Ok(Answer { status: 200, body, standing: None, access: None });
    }
    let access = prove(state, head).map_err(|p| (p, None, None))?;
    let now = state.seconds();
    let standing = state.limits.count(route.name, now).map_err(|s| {
        (
            Problem::too_many().breach("asked before x-rate-limit-reset, or over the limit"),
            Some(s),
            access,
        )
    })?;
    let answer = allowed(state, route, head, raw, &content_type, access)
        .map_err(|p| (p, Some(standing), access))?;
    Ok(Answer { status: answer.0, body: answer.1, standing: Some(standing), access })
}

fn allowed(
    state: &mut State,
    route: &Route,
    head: &Parts,
    raw: &Bytes,
    content_type: &str,
    access: Option<Access>,
) -> Result<(u16, Value), Problem> {
    if !state.credits {
        return Err(Problem::no_credits());
    }
    if !state.enrolled {
        return Err(Problem::not_enrolled());
    }
    if route.writes && access == Some(crate::x::options::Access::Read) {
        return Err(Problem::read_only());
    }
    let query: Query = query_of(head).into_iter().collect();
    params::check(route.name, &query)?;
    let form = route.name == "POST /2/media/upload/:id/append";
    let body = match raw.is_empty() || form {
        true => Value::Null,
        false if content_type.starts_with("application/json") => {
            serde_json::from_slice(raw).map_err(|_| Problem::invalid("the body is not JSON"))?
        }
        false => return Err(Problem::invalid("the body is not application/json")),
    };
    routes::run(state, route, &query, &body, raw, content_type)
}

/// Authenticates the caller. Returns the token's permission for OAuth 1.0a, `None` for OAuth 2.
fn prove(state: &mut State, head: &Parts) -> Result<Option<Access>, Problem> {
    let header =
        head.headers.get(header::AUTHORIZATION).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let now = state.seconds();
    if let Some(token) = header.strip_prefix("Bearer ") {
        return if state.grants.is_good(token, now) {
            Ok(None)
        } else {
            Err(Problem::unauthorized())
        };
    }
    let url = format!("{}{}", state.origin, head.uri.path());
    let parameters = query_of(head);
    let signed = Signed { method: head.method.as_str(), url: &url, parameters: &parameters };
    let keys = state.options.keys.clone();
    match oauth1::verify(header, &signed, &keys, &mut state.nonces, now) {
        Ok(()) => Ok(Some(state.options.access)),
        Err(Wrong::Keys) => Err(Problem::unauthorized()),
        Err(Wrong::Breach(what)) => Err(Problem::unauthorized().breach(what)),
    }
}

fn answer_of(problem: Problem) -> Answer {
    Answer { status: problem.status, body: problem.body, standing: None, access: None }
}

fn write(answer: &Answer) -> Response {
    let kind = if answer.status < 400 {
        "application/json; charset=utf-8"
    } else {
        "application/problem+json"
    };
    let mut response = plain(answer.status, kind, &answer.body.to_string());
    let headers = response.headers_mut();
    if let Some(standing) = answer.standing {
        set(headers, "x-rate-limit-limit", &standing.limit.to_string());
        set(headers, "x-rate-limit-remaining", &standing.remaining.to_string());
        set(headers, "x-rate-limit-reset", &standing.reset.to_string());
    }
    match answer.access {
        Some(crate::x::options::Access::Read) => set(headers, "x-access-level", "read"),
        Some(crate::x::options::Access::Write) => set(headers, "x-access-level", "read-write"),
        None => {}
    }
    response
}

fn set(headers: &mut HeaderMap, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

fn failure(status: u16, kind: ErrorBody) -> Response {
    let name =
        StatusCode::from_u16(status).ok().and_then(|s| s.canonical_reason()).unwrap_or("Error");
    match kind {
        ErrorBody::Html => plain(status, "text/html", &format!("<html><head><title>{status} {name}</title></head></html>")),
        ErrorBody::Json => plain(
            status,
            "application/problem+json",
            &serde_json::json!({ "title": name, "detail": name, "type": "about:blank", "status": status }).to_string(),
        ),
    }
}

fn cut(wire: &Wire, bytes: usize) -> Response {
    wire.cut_after(bytes);
    plain(200, "application/json", "")
}

fn plain(status: u16, kind: &'static str, body: &str) -> Response {
    let mut response = Response::new(Body::from(body.to_owned()));
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
