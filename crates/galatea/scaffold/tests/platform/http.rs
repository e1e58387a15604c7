//! The server's calls, each checked.

use axum::{
    Json, Router,
    body::{Body, Bytes},
    extract::{Path, Query, Request, State as Extract},
    http::{StatusCode, header::AUTHORIZATION},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use futures::{StreamExt, stream};
use galatea_testkit::connector_suite::PlatformFault;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{collections::HashMap, io, time::Duration};

use super::{ACCOUNT, ANN, BAND, DIRECT, MAX_TEXT, MAX_WAIT, Message, Shared, State, TOKEN};

/// Messages of a page of history.
const PAGE: usize = 100;

pub(super) fn routes(shared: Shared) -> Router {
    Router::new()
        .route("/me", get(async || Json(json!({ "id": ACCOUNT, "name": "Galatea" }))))
        .route("/events", get(events))
        .route("/rooms/{room}/messages", get(history).post(say))
        .route("/rooms/{room}/typing", post(typing))
        .layer(middleware::from_fn_with_state(shared.clone(), guard))
        .with_state(shared)
}

/// Notes a broken rule and answers as the platform would.
fn refuse(shared: &Shared, status: StatusCode, why: &str) -> Response {
    shared.change(|s| s.violations.push(why.to_owned()));
    (status, Json(json!({ "error": why }))).into_response()
}

/// An answer that begins and never ends well: the connection breaks.
fn broken() -> Response {
    let begins = stream::once(async { Ok(Bytes::from_static(b"{")) });
    let breaks = stream::once(async {
        // While this waits, the beginning leaves.
        tokio::task::yield_now().await;
        Err(io::Error::other("cut off"))
    });
    Response::new(Body::from_stream(begins.chain(breaks)))
}

/// Rejects requests without the token, and all requests while the platform is away; calls in
/// progress break off when it goes.
async fn guard(Extract(shared): Extract<Shared>, request: Request, next: Next) -> Response {
    let expected = format!("Bearer {TOKEN}");
    if request
        .headers()
        .get(AUTHORIZATION)
        .is_none_or(|token| token.as_bytes() != expected.as_bytes())
    {
        return refuse(&shared, StatusCode::UNAUTHORIZED, "a call without the account's token");
    }
    tokio::select! {
        biased;
        () = shared.wait_for(|s| s.away.then_some(())) => broken(),
        answer = next.run(request) => answer,
    }
}

fn parameter(query: &HashMap<String, String>, name: &str) -> Option<u64> {
    query.get(name)?.parse().ok()
}

async fn events(
    Extract(shared): Extract<Shared>,
    Query(query): Query<HashMap<String, String>>,
) -> Response {
    let (Some(after), Some(wait)) = (parameter(&query, "after"), parameter(&query, "wait")) else {
        return refuse(
            &shared,
            StatusCode::BAD_REQUEST,
            "GET /events needs the numbers after and wait",
        );
    };
    if wait > MAX_WAIT {
        return refuse(&shared, StatusCode::BAD_REQUEST, "GET /events is held for 60 s at most");
    }
    if shared.look(|s| after > s.events.len() as u64 || after < s.acknowledged) {
        return refuse(
            &shared,
            StatusCode::BAD_REQUEST,
            "GET /events asks for a place in the stream that is not the next",
        );
    }
    shared.change(|s| s.acknowledged = after);
    let news = shared.wait_for(|s| {
        let from = if s.again { 0 } else { after };
        Some(lines(s, from)).filter(|lines| !lines.is_empty())
    });
    let lines = tokio::time::timeout(Duration::from_secs(wait), news).await.unwrap_or_default();
    shared.change(|s| s.again = false);
    lines.into_response()
}

/// Events behind a number, one per line.
fn lines(state: &State, after: u64) -> String {
    let behind = state.events.iter().enumerate().skip(usize::try_from(after).unwrap());
    behind
        .filter_map(|(i, id)| Some(format!("{}\n", event(state, i + 1, state.message(*id)?))))
        .collect()
}

fn event(state: &State, seq: usize, message: &Message) -> Value {
    let (kind, name) = if message.room == DIRECT { ("direct", "Ann") } else { ("group", "Band") };
    let target = message
        .reply_to
        .and_then(|id| state.message(id))
        .map(|target| json!({ "id": target.id, "from": target.from }));
    json!({
        "seq": seq, "time": 1_760_000_000_000_u64 + seq as u64,
        "room": { "id": message.room, "kind": kind, "name": name },
        "from": { "id": ANN, "name": "Ann" },
        "message": { "id": message.id, "text": message.text, "mentions": message.mentions, "reply_to": target },
    })
}

/// What a post may hold.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Post {
    text: String,
    reply_to: Option<u64>,
}

async fn say(Extract(shared): Extract<Shared>, Path(room): Path<u64>, body: Bytes) -> Response {
    let Ok(said) = serde_json::from_slice::<Post>(&body) else {
        return refuse(&shared, StatusCode::BAD_REQUEST, "a post of another shape");
    };
    if said.text.trim().is_empty() || said.text.chars().count() > MAX_TEXT {
        return refuse(&shared, StatusCode::BAD_REQUEST, "a post has 1 to 2000 characters");
    }
    if ![DIRECT, BAND].contains(&room)
        || said
            .reply_to
            .is_some_and(|id| shared.look(|s| s.message(id).is_none_or(|m| m.room != room)))
    {
        return refuse(
            &shared,
            StatusCode::NOT_FOUND,
            "a post to a room or message that does not exist",
        );
    }
    let fault = shared.change(|s| s.fault.take());
    match fault {
        Some(PlatformFault::SlowDown(wait)) => {
            return (StatusCode::TOO_MANY_REQUESTS, [("retry-after", wait.as_secs().to_string())])
                .into_response();
        }
        Some(PlatformFault::ServerError) => return StatusCode::SERVICE_UNAVAILABLE.into_response(),
        Some(PlatformFault::Forbidden) => return StatusCode::FORBIDDEN.into_response(),
        Some(PlatformFault::LostResponse) | None => {}
    }
    let id = shared.change(|s| s.add(room, ACCOUNT, &said.text, Vec::new(), said.reply_to));
    if fault.is_some() { broken() } else { Json(json!({ "id": id })).into_response() }
}

async fn history(
    Extract(shared): Extract<Shared>,
    Path(room): Path<u64>,
    Query(query): Query<HashMap<String, String>>,
) -> Response {
    let Some(after) = parameter(&query, "after") else {
        return refuse(
            &shared,
            StatusCode::BAD_REQUEST,
            "GET /rooms/{room}/messages needs the number after",
        );
    };
    let page = shared.look(|s| {
        let behind = s.messages.iter().filter(|m| m.room == room && m.id > after).take(PAGE);
        behind.map(|m| json!({ "id": m.id, "from": m.from, "text": m.text })).collect::<Vec<_>>()
    });
    Json(page).into_response()
}

async fn typing(Extract(shared): Extract<Shared>, Path(room): Path<u64>) -> Response {
    if ![DIRECT, BAND].contains(&room) {
        return refuse(&shared, StatusCode::NOT_FOUND, "typing in a room that does not exist");
    }
    shared.change(|s| s.typing.insert(room));
    StatusCode::NO_CONTENT.into_response()
}
