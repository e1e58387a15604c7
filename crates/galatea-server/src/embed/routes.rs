//! What the chat script asks.

use axum::{
    Router,
    extract::{DefaultBodyLimit, FromRequest as _, Query, Request, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Response},
    routing::{delete, get, post},
};
use galatea_core::{AgentId, ChannelType, Decision, MemoryId, MemoryKind, store::MemoriesOf};
use galatea_host::ops::chat::{Channel, ChatEvent, Said, Speaker, Waiting};
use galatea_http::listen::Ending;
use serde::Deserialize;
use serde_json::json;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::visitor::{self, Visitor};
use crate::{
    app::App,
    error::Problem,
    sse::{self, Events},
};

/// Longest body in bytes.
const BODY: usize = 16 * 1024;
/// Longest message of a visitor, in characters.
const LONGEST: usize = 4_000;
/// Messages of the history that are shown.
const HISTORY: u32 = 50;
/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(180);
/// Longest wait until everything is forgotten.
const FORGETS: Duration = Duration::from_secs(60);

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/embed/chat.js", get(script))
        .route("/embed/agent", get(agent))
        .route("/embed/messages", get(history).merge(post(say)))
        .route("/embed/visitor", delete(forget))
        .layer(DefaultBodyLimit::max(BODY))
}

#[derive(Deserialize)]
struct Of {
    agent: String,
}

#[derive(Deserialize)]
struct Body {
    agent: String,
    text: String,
}

fn off() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "GAL-EMBED-OFF", "no page may show the chat of this server")
        .fix("list the pages in WEB_ORIGINS")
}

/// The agent of this name; the only one if none is named.
fn found(app: &App, name: &str) -> Result<(AgentId, String), Problem> {
    if !app.embed.is_on() {
        return Err(off());
    }
    let all = app.chat.personas();
    let wanted = name.trim().to_lowercase();
    let only = wanted.is_empty() && all.len() == 1;
    let mut fits = all
        .into_iter()
        .filter(|(id, name)| only || name.to_lowercase() == wanted || id.to_string() == wanted);
    fits.next().ok_or_else(|| {
        Problem::new(StatusCode::NOT_FOUND, "GAL-API-ROUTE", "there is no such agent")
    })
}

async fn script(State(app): State<Arc<App>>) -> Response {
    if !app.embed.is_on() {
        return off().into_response();
    }
    let headers = [
        (header::CONTENT_TYPE, "text/javascript; charset=utf-8"),
        (header::CACHE_CONTROL, "public, max-age=300"),
        (header::HeaderName::from_static("cross-origin-resource-policy"), "cross-origin"),
    ];
    (headers, include_str!("../../assets/chat.js")).into_response()
}

async fn agent(State(app): State<Arc<App>>, Query(of): Query<Of>) -> Result<Response, Problem> {
    let (id, name) = found(&app, &of.agent)?;
    Ok(axum::Json(json!({"id": id, "name": name})).into_response())
}

/// What was said, oldest first. A visitor who is not known has said nothing.
async fn history(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    Query(of): Query<Of>,
) -> Result<Response, Problem> {
    let (agent, _) = found(&app, &of.agent)?;
    let Some(visitor) = visitor::known(&headers) else {
        return Ok(axum::Json(json!({"items": []})).into_response());
    };
    let room = app.chat.room(agent, &visitor.id).await?;
    let newest = galatea_core::store::Place::NEWEST;
    let store = app.ops.store();
    let kind = MemoryKind::Messages;
    let page = store.list_memories(MemoriesOf::Room(room), &kind, newest, HISTORY).await?;
    let items: Vec<_> = page
        .rows
        .into_iter()
        .rev()
        .map(|memory| {
            json!({
                "own": memory.entity_id.0 != memory.agent_id.0,
                "text": memory.content.text,
                "at": memory.created_at.0,
            })
        })
        .collect();
    Ok(axum::Json(json!({ "items": items })).into_response())
}

fn said(visitor: &Visitor, text: &str) -> Said {
    let speaker = Speaker::new(&visitor.id, Some("Visitor".to_owned()));
    let mut channel = Channel::new(&visitor.id, ChannelType::Dm);
    channel.name = Some("Visitor".to_owned());
    let mut said = Said::new(speaker, channel, MemoryId::fresh().to_string(), text);
    said.visitor = true;
    said
}

async fn say(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, Problem> {
    let ending = request.extensions().get::<Ending>().cloned();
    let body = axum::Json::<Body>::from_request(request, &()).await;
    let axum::Json(Body { agent, text }) =
        body.map_err(|refused| Problem::input(refused.status(), refused.body_text()))?;
    let (agent, _) = found(&app, &agent)?;
    if text.chars().count() > LONGEST {
        let detail = "text: at most 4000 characters";
        return Err(Problem::input(StatusCode::BAD_REQUEST, detail));
    }
    let busy =
        Problem::new(StatusCode::TOO_MANY_REQUESTS, "GAL-EMBED-BUSY", "too many visitors ask now")
            .fix("try again in a minute");
    let visitor = match visitor::known(&headers) {
        Some(visitor) => visitor,
        None if app.embed.meets(Instant::now()) => visitor::fresh(&headers)?,
        None => return Err(busy),
    };
    if app.embed.busy.available_permits() == 0 {
        return Err(busy);
    }
    let follower = app.chat.follow(Some(Vec::new()), None).await?;
    let heard = app.chat.say(&[agent], &said(&visitor, &text)).await?;
    let waiting = app.chat.wait(&heard, follower, PATIENCE);
    let work = move |events: Events| stream(Arc::clone(&app), waiting, events);
    let mut response = sse::respond(ending, "event: end\ndata: {}\n\n", work);
    if let Some(cookie) = visitor.cookie {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

/// Writes drafts and messages. A visitor learns of no rule and no failure more than that there is no answer.
async fn stream(app: Arc<App>, mut waiting: Waiting, events: Events) {
    let _place = app.embed.busy.acquire().await;
    while let Ok(Some(event)) = waiting.next().await {
        match event {
            ChatEvent::Draft(draft) => {
                events.send("draft", &json!({"turn": draft.turn, "text": &*draft.text})).await;
            }
            ChatEvent::Message { message, .. } => {
                let view = json!({"turn": message.turn, "text": message.text, "at": message.at.0});
                events.send("message", &view).await;
            }
            ChatEvent::Decided { decision: Decision::Skip | Decision::Failed, .. } => {
                events.send("silent", &json!({})).await;
            }
            _ => {}
        }
    }
    events.send("end", &json!({})).await;
}

/// Forgets the visitor: all that was written and answered, at every agent.
async fn forget(State(app): State<Arc<App>>, headers: HeaderMap) -> Result<Response, Problem> {
    if !app.embed.is_on() {
        return Err(off());
    }
    if let Some(visitor) = visitor::known(&headers) {
        for (agent, _) in app.chat.personas() {
            let room = app.chat.room(agent, &visitor.id).await?;
            if app.ops.store().room(room).await?.is_none() {
                continue;
            }
            let follower = app.chat.follow(Some(Vec::new()), None).await?;
            let asked = said(&visitor, "/privacy forget me");
            let heard = app.chat.say(&[agent], &asked).await?;
            let outcomes = app.chat.wait(&heard, follower, FORGETS).end().await?;
            let done = outcomes.iter().all(|one| one.decision == Decision::Command);
            if outcomes.is_empty() || !done {
                let detail = "not everything was forgotten yet";
                return Err(Problem::new(
                    StatusCode::SERVICE_UNAVAILABLE,
                    "GAL-EMBED-BUSY",
                    detail,
                )
                .fix("try again in a minute"));
            }
        }
    }
    let cookie = visitor::forgotten(&headers)?;
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie)]).into_response())
}
