//! Sessions: bare objects, and errors in a form of their own.

use axum::{
    Router,
    extract::{Path, Query, State},
    http::StatusCode,
    routing::{get, patch, post},
};
use galatea_core::{
    AgentId, Error, ErrorKind, Timestamp,
    store::{ChannelMessage, ChatSession},
};
use galatea_host::ops::{
    channel_history::{AGENT_RESPONSE, NewChannelMessage},
    channels::DEFAULT_SERVER,
    chat_sessions::{Activity, SESSION_ENDED},
    session_time::is_near_end,
};
use galatea_http::listen::Ending;
use serde_json::{Map, Value, json};
use std::{sync::Arc, time::Instant};
use uuid::Uuid;

use super::{
    envelope::{Answer, Body, Refusal, bare, iso, uuid},
    kept::{time, with_thought},
    runs::Asked,
    say::{respond, transport, user_message},
    wait,
    who::Who,
};
use crate::app::App;

/// Longest text, in characters.
const TEXT: usize = 4_000;
/// Most bytes of metadata.
const METADATA: usize = 10_240;

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/api/messaging/sessions", get(list).post(begin))
        .route("/api/messaging/sessions/health", get(health))
        .route("/api/messaging/sessions/{session}", get(one).delete(end))
        .route("/api/messaging/sessions/{session}/messages", get(messages).post(say))
        .route("/api/messaging/sessions/{session}/renew", post(renew))
        .route("/api/messaging/sessions/{session}/heartbeat", post(heartbeat))
        .route("/api/messaging/sessions/{session}/timeout", patch(timeout))
}

/// elizaOS's error of a session.
fn refused(status: u16, code: &str, message: &str, details: Value) -> Refusal {
    let at = iso(galatea_core::Clock::now(&galatea_core::SystemClock).0);
    let mut error = json!({ "code": code, "message": message, "timestamp": at });
    if !details.is_null() {
        error["details"] = details;
    }
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    Refusal { status, body: json!({ "error": error }) }
}

fn invalid(message: &str, details: Value) -> Refusal {
    refused(400, "VALIDATION_ERROR", message, details)
}

/// A failure about a session.
fn failed(id: &str, error: Error) -> Refusal {
    if error.code() == Some(SESSION_ENDED) {
        return refused(
            410,
            "SESSION_EXPIRED",
            &format!("Session '{id}' has expired"),
            Value::Null,
        );
    }
    let text = error.to_string();
    match error.kind() {
        ErrorKind::NotFound => {
            let message = format!("Session with ID '{id}' not found");
            refused(404, "SESSION_NOT_FOUND", &message, Value::Null)
        }
        ErrorKind::Conflict => {
            let message = format!("Cannot renew session '{id}': {text}");
            refused(400, "SESSION_RENEWAL_FAILED", &message, Value::Null)
        }
        ErrorKind::Invalid | ErrorKind::TooLong => invalid(&text, Value::Null),
        ErrorKind::Forbidden => refused(403, "FORBIDDEN", &text, Value::Null),
        _ => {
            tracing::warn!(error = %error.report(), "a request about a session failed");
            refused(500, "MESSAGE_SEND_FAILED", &text, Value::Null)
        }
    }
}

fn session_id(text: &str) -> Result<Uuid, Refusal> {
    uuid(text).ok_or_else(|| failed(text, Error::not_found("no id")))
}

/// A session as a program sees it.
fn info(session: &ChatSession, now: Timestamp) -> Value {
    json!({
        "sessionId": session.id,
        "channelId": session.channel,
        "agentId": session.agent,
        "userId": session.user,
        "createdAt": iso(session.created_at.0),
        "lastActivity": iso(session.last_activity.0),
        "metadata": session.metadata,
        "expiresAt": iso(session.expires_at.0),
        "timeoutConfig": session.timeout,
        "renewalCount": session.renewals,
        "timeRemaining": session.expires_at.0.saturating_sub(now.0).max(0),
        "isNearExpiration": is_near_end(session, now),
    })
}

async fn health(State(app): State<Arc<App>>, who: Who) -> Answer {
    let (sessions, _) = app.ops.chat_sessions(&who.by).await.map_err(|e| failed("", e))?;
    let now = app.ops.clock().now();
    let near = sessions.iter().filter(|session| is_near_end(session, now)).count();
    let body = json!({
        "status": "healthy",
        "activeSessions": sessions.len(),
        "timestamp": iso(now.0),
        "expiringSoon": near,
        "uptime": Instant::now().duration_since(app.started).as_secs_f64(),
    });
    bare(StatusCode::OK, body)
}

fn check_metadata(metadata: &Value) -> Result<(), Refusal> {
    if metadata.to_string().len() > METADATA {
        let reason = format!("Metadata exceeds maximum size of {METADATA} bytes");
        return Err(invalid(&format!("Invalid metadata: {reason}"), json!({ "reason": reason })));
    }
    Ok(())
}

async fn begin(State(app): State<Arc<App>>, who: Who, Body(body): Body) -> Answer {
    let text = |key: &str| body.get(key).and_then(Value::as_str);
    let (Some(agent), Some(user)) = (text("agentId"), text("userId")) else {
        return Err(invalid(
            "Missing required fields: agentId, userId",
            json!({ "missingFields": ["agentId", "userId"] }),
        ));
    };
    let id = |field: &str, text: &str| {
        uuid(text).ok_or_else(|| {
            invalid(
                &format!("Invalid UUID format for field '{field}'"),
                json!({ "providedValue": text, "expectedFormat": "UUID v4" }),
            )
        })
    };
    let (agent, user) = (AgentId(id("agentId", agent)?), id("userId", user)?);
    who.writes_as(user)?;
    let known = app.ops.agents(&who.by).map_err(|e| failed("", e))?;
    if !known.iter().any(|info| info.id == agent) {
        let message = format!("Agent with ID '{agent}' not found");
        return Err(refused(404, "AGENT_NOT_FOUND", &message, Value::Null));
    }
    let metadata = body.get("metadata").cloned().unwrap_or_default();
    check_metadata(&metadata)?;
    let asked = body.get("timeoutConfig").cloned().unwrap_or_default();
    let timeout = app.ops.session_rules().timeout(&asked);
    let session = app.ops.begin_session(&who.by, agent, user, metadata, timeout).await;
    let session = session.map_err(|error| {
        let message = format!("Failed to create session: {error}");
        refused(500, "SESSION_CREATION_FAILED", &message, Value::Null)
    })?;
    let body = json!({
        "sessionId": session.id,
        "channelId": session.channel,
        "agentId": session.agent,
        "userId": session.user,
        "createdAt": iso(session.created_at.0),
        "metadata": session.metadata,
        "expiresAt": iso(session.expires_at.0),
        "timeoutConfig": session.timeout,
    });
    bare(StatusCode::CREATED, body)
}

async fn list(State(app): State<Arc<App>>, who: Who) -> Answer {
    let (sessions, ended) = app.ops.chat_sessions(&who.by).await.map_err(|e| failed("", e))?;
    let now = app.ops.clock().now();
    let active = sessions.len();
    let body = json!({
        "sessions": sessions.iter().map(|session| info(session, now)).collect::<Vec<_>>(),
        "total": active,
        "stats": {
            "totalSessions": active + ended,
            "activeSessions": active,
            "expiredSessions": ended,
        },
    });
    bare(StatusCode::OK, body)
}

async fn one(State(app): State<Arc<App>>, who: Who, Path(id): Path<String>) -> Answer {
    let session = app.ops.chat_session(&who.by, session_id(&id)?).await;
    let session = session.map_err(|error| failed(&id, error))?;
    bare(StatusCode::OK, info(&session, app.ops.clock().now()))
}

async fn end(State(app): State<Arc<App>>, who: Who, Path(id): Path<String>) -> Answer {
    let ended = app.ops.end_chat_session(&who.by, session_id(&id)?).await;
    ended.map_err(|error| failed(&id, error))?;
    let message = format!("Session {id} deleted successfully");
    bare(StatusCode::OK, json!({ "success": true, "message": message }))
}

async fn touched(app: &App, who: &Who, id: &str, activity: Activity) -> Answer {
    let touched = app.ops.touch_session(&who.by, session_id(id)?, activity).await;
    let (session, _) = touched.map_err(|error| failed(id, error))?;
    bare(StatusCode::OK, info(&session, app.ops.clock().now()))
}

async fn renew(State(app): State<Arc<App>>, who: Who, Path(id): Path<String>) -> Answer {
    touched(&app, &who, &id, Activity::Renewal).await
}

async fn heartbeat(State(app): State<Arc<App>>, who: Who, Path(id): Path<String>) -> Answer {
    touched(&app, &who, &id, Activity::Heartbeat).await
}

async fn timeout(
    State(app): State<Arc<App>>,
    who: Who,
    Path(id): Path<String>,
    Body(body): Body,
) -> Answer {
    let found = app.ops.chat_session(&who.by, session_id(&id)?).await;
    found.map_err(|error| failed(&id, error))?;
    let rules = app.ops.session_rules();
    if let Some(reason) = rules.refusal(&body) {
        let message = format!("Invalid timeout configuration: {reason}");
        return Err(invalid(&message, json!({ "reason": reason, "providedConfig": body })));
    }
    touched(&app, &who, &id, Activity::Timeout(rules.timeout(&body))).await
}

fn check_text(body: &Value) -> Result<String, Refusal> {
    let bad =
        |reason: &str| invalid(&format!("Invalid content: {reason}"), json!({ "reason": reason }));
    let text = body.get("content").and_then(Value::as_str);
    let text = text.ok_or_else(|| bad("Invalid message request format"))?;
    if text.is_empty() {
        return Err(bad("Content cannot be empty"));
    }
    if text.encode_utf16().count() > TEXT {
        return Err(bad(&format!("Content exceeds maximum length of {TEXT} characters")));
    }
    Ok(text.to_owned())
}

async fn say(
    State(app): State<Arc<App>>,
    who: Who,
    Path(id): Path<String>,
    ending: Option<axum::Extension<Ending>>,
    Body(body): Body,
) -> Answer {
    let transport = transport(&body).map_err(|reason| {
        invalid(&format!("Invalid content: {reason}"), json!({ "reason": reason }))
    })?;
    let session = app.ops.chat_session(&who.by, session_id(&id)?).await;
    let session = session.map_err(|error| failed(&id, error))?;
    who.writes_as(session.user)?;
    let text = check_text(&body)?;
    let own = body.get("metadata").cloned().unwrap_or_default();
    check_metadata(&own)?;
    let touched = app.ops.touch_session(&who.by, session.id, Activity::Message).await;
    let (session, renewed) = touched.map_err(|error| failed(&id, error))?;
    let channel = app.ops.channel(&who.by, session.channel).await;
    let channel = channel.map_err(|error| failed(&id, error))?;
    let mut metadata = channel.metadata.as_object().cloned().unwrap_or_default();
    metadata.insert("sessionId".to_owned(), json!(session.id));
    metadata.extend(own.as_object().cloned().unwrap_or_default());
    let new = NewChannelMessage {
        id: Some(app.told.fresh()),
        channel: session.channel,
        author: session.user,
        raw: json!({ "content": text, "attachments": body.get("attachments") }),
        text,
        source_type: Some("user".to_owned()),
        metadata: Value::Object(metadata),
        ..NewChannelMessage::default()
    };
    let waiting = wait::Waiting::begin(&app).await.map_err(|e| failed(&id, e))?;
    let said = app.ops.say(&who.by, &app.chat, new, None, Some(session.agent)).await;
    let said = said.map_err(|error| {
        let message = format!("Failed to send message in session '{id}': {error}");
        refused(500, "MESSAGE_SEND_FAILED", &message, Value::Null)
    })?;
    app.told.tell(
        session.channel,
        "messageBroadcast",
        super::say::broadcast(&said.message, None, DEFAULT_SERVER),
    );
    let user = user_message(&said.message, DEFAULT_SERVER, None);
    let status = json!({
        "expiresAt": iso(session.expires_at.0),
        "renewalCount": session.renewals,
        "wasRenewed": renewed,
        "isNearExpiration": is_near_end(&session, app.ops.clock().now()),
    });
    let more = Map::from_iter([("sessionStatus".to_owned(), status)]);
    let ending = ending.map(|axum::Extension(ending)| ending);
    respond(&app, &who, (transport, waiting), said, (user, more), ending).await
}

async fn messages(
    State(app): State<Arc<App>>,
    who: Who,
    Path(id): Path<String>,
    Query(asked): Asked,
) -> Answer {
    let session = app.ops.chat_session(&who.by, session_id(&id)?).await;
    let session = session.map_err(|error| failed(&id, error))?;
    let limit = time(&asked, "limit").map_or(50, |limit| limit.clamp(1, 100));
    let limit = u32::try_from(limit).unwrap_or(50);
    let at = |key: &str| match asked.get(key) {
        None => Ok(None),
        Some(_) => time(&asked, key).map(Some).ok_or_else(|| {
            let reason = "Must be a valid timestamp";
            let message = format!("Invalid pagination parameter '{key}': {reason}");
            invalid(&message, json!({ "parameter": key, "reason": reason }))
        }),
    };
    let (before, after) = (at("before")?, at("after")?);
    let read = if after.is_some() { limit.saturating_mul(10).min(1_000) } else { limit };
    let until = Timestamp(before.unwrap_or(i64::MAX));
    let history = app.ops.history(&who.by, session.channel, until, read).await;
    let mut history = history.map_err(|error| failed(&id, error))?;
    if let Some(after) = after {
        history.retain(|message| message.created_at.0 > after);
        // The oldest after it, so that a program goes on from where it was.
        let extra = history.len().saturating_sub(limit as usize);
        history.drain(..extra);
    }
    let shown = |message: &ChannelMessage| {
        json!({
            "id": message.id,
            "content": message.text,
            "authorId": message.author,
            "isAgent": message.source_type.as_deref() == Some(AGENT_RESPONSE),
            "createdAt": iso(message.created_at.0),
            "metadata": with_thought(message),
        })
    };
    let mut body = json!({
        "messages": history.iter().map(shown).collect::<Vec<_>>(),
        "hasMore": history.len() >= limit as usize,
    });
    if let (Some(newest), Some(oldest)) = (history.first(), history.last()) {
        body["cursors"] = json!({ "before": oldest.created_at.0, "after": newest.created_at.0 });
    }
    bare(StatusCode::OK, body)
}
