//! Messages of channels: reading, deleting, and what foreign programs post for their own agents.

use axum::{
    Router,
    extract::{Path, Query, State},
    http::StatusCode,
    routing::{delete, get, patch, post},
};
use galatea_core::{AgentId, Timestamp, store::ChannelMessage};
use galatea_host::ops::{
    channel_history::{HISTORY, MessageUpdate, NewChannelMessage},
    hearing::SaidMessage,
};
use serde_json::{Value, json};
use std::{collections::HashMap, sync::Arc};
use uuid::Uuid;

use super::wire_message::agents_broadcast;
use super::{
    channels::channel_id,
    envelope::{
        Answer, Body, Refusal, bare, failed_plainly, iso, nothing, plain, success, success_as,
        text_in, uuid, uuid_in,
    },
    runs::Asked,
    say::make_missing,
    who::Who,
};
use crate::app::App;

pub(super) fn routes() -> Router<Arc<App>> {
    let mut router = Router::new()
        .route("/api/messaging/submit", post(submit))
        .route("/api/messaging/action", post(action))
        .route("/api/messaging/action/{message}", patch(change_action))
        .route("/api/messaging/complete", post(complete))
        .route("/api/messaging/ingest-external", post(ingest));
    for name in ["channels", "central-channels"] {
        let path = format!("/api/messaging/{name}/{{channel}}/messages");
        router = router
            .route(&path, get(list).delete(clear))
            .route(&format!("{path}/{{message}}"), delete(remove));
    }
    router
}

/// A message as elizaOS stores it.
pub(super) fn view(message: &ChannelMessage) -> Value {
    json!({
        "id": message.id,
        "channelId": message.channel,
        "authorId": message.author,
        "content": message.text,
        "rawMessage": message.raw,
        "sourceType": message.source_type,
        "sourceId": message.source_id,
        "metadata": message.metadata,
        "inReplyToRootMessageId": message.reply_to,
        "createdAt": iso(message.created_at.0),
        "updatedAt": iso(message.updated_at.0),
    })
}

/// What an answer of an agent was made with, beside the words.
pub(super) fn with_thought(message: &ChannelMessage) -> Value {
    let mut metadata = message.metadata.clone();
    if let Some(metadata) = metadata.as_object_mut() {
        for key in ["thought", "actions", "attachments"] {
            let value = message.raw.get(key).filter(|value| !value.is_null());
            if let Some(value) = value.or(message.metadata.get(key)) {
                metadata.insert(key.to_owned(), value.clone());
            }
        }
    }
    metadata
}

/// A time of the query, in milliseconds.
pub(super) fn time(asked: &HashMap<String, String>, key: &str) -> Option<i64> {
    asked.get(key)?.parse().ok()
}

async fn list(
    State(app): State<Arc<App>>,
    who: Who,
    Path(id): Path<String>,
    Query(asked): Asked,
) -> Answer {
    let channel = channel_id(&id)?;
    let limit = time(&asked, "limit").and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0);
    let limit = limit.unwrap_or(50).min(HISTORY);
    let before = Timestamp(time(&asked, "before").unwrap_or(i64::MAX));
    let messages = app.ops.history(&who.by, channel, before, limit).await;
    let shown = |message: &ChannelMessage| {
        let mut shown = view(message);
        shown["metadata"] = with_thought(message);
        shown["created_at"] = json!(message.created_at.0);
        shown["updated_at"] = json!(message.updated_at.0);
        shown
    };
    let messages = messages.map_err(failed_plainly)?;
    success(json!({ "messages": messages.iter().map(shown).collect::<Vec<_>>() }))
}

async fn remove(
    State(app): State<Arc<App>>,
    who: Who,
    Path((id, message)): Path<(String, String)>,
) -> Answer {
    let (Some(channel), Some(message)) = (uuid(&id), uuid(&message)) else {
        return Err(plain(400, "Invalid channelId or messageId"));
    };
    app.ops.remove_message(&who.by, channel, message).await.map_err(failed_plainly)?;
    let told = json!({ "messageId": message, "channelId": channel });
    app.told.tell(channel, "messageDeleted", told);
    nothing()
}

async fn clear(State(app): State<Arc<App>>, who: Who, Path(id): Path<String>) -> Answer {
    let channel = channel_id(&id)?;
    app.ops.clear_channel(&who.by, channel).await.map_err(failed_plainly)?;
    app.told.tell(channel, "channelCleared", json!({ "channelId": channel }));
    nothing()
}

/// What a program posts, checked as elizaOS does.
fn posted(body: &Value) -> Result<NewChannelMessage, Refusal> {
    let server = uuid_in(body, "message_server_id").or_else(|| uuid_in(body, "server_id"));
    let (Some(channel), Some(_), Some(author), Some(text), Some(source), Some(raw)) = (
        uuid_in(body, "channel_id"),
        server,
        uuid_in(body, "author_id"),
        text_in(body, "content"),
        text_in(body, "source_type"),
        body.get("raw_message").filter(|raw| !raw.is_null()),
    ) else {
        return Err(plain(
            400,
            "Missing required fields: channel_id, message_server_id, author_id, content, source_type, raw_message",
        ));
    };
    let optional = |key: &str, message: &str| match body.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(_) => uuid_in(body, key).map(Some).ok_or_else(|| plain(400, message)),
    };
    let reply_to = optional("in_reply_to_message_id", "Invalid in_reply_to_message_id format")?;
    Ok(NewChannelMessage {
        id: optional("messageId", "Invalid messageId format")?,
        channel,
        author,
        text: text.to_owned(),
        raw: raw.clone(),
        source_type: Some(source.to_owned()),
        source_id: None,
        metadata: body.get("metadata").cloned().unwrap_or_default(),
        reply_to,
    })
}

/// Keeps what a program posts for an agent of its own, and shows it to the channel. No agent of ours
/// hears it, as in elizaOS.
async fn keep(app: &App, who: &Who, body: &Value) -> Result<ChannelMessage, Refusal> {
    let new = posted(body)?;
    who.writes_as(new.author)?;
    app.ops.keep_message(&who.by, new).await.map_err(failed_plainly)
}

async fn submit(State(app): State<Arc<App>>, who: Who, Body(body): Body) -> Answer {
    let message = keep(&app, &who, &body).await?;
    let server = uuid_in(&body, "message_server_id").unwrap_or_default();
    app.told.tell(
        message.channel,
        "messageBroadcast",
        agents_broadcast(&message, "serverId", server),
    );
    success_as(StatusCode::CREATED, view(&message))
}

async fn action(State(app): State<Arc<App>>, who: Who, Body(body): Body) -> Answer {
    let message = keep(&app, &who, &body).await?;
    let server = uuid_in(&body, "message_server_id").unwrap_or_default();
    app.told.tell(message.channel, "messageBroadcast", changed_broadcast(&message, server));
    success_as(StatusCode::CREATED, view(&message))
}

fn changed_broadcast(message: &ChannelMessage, server: Uuid) -> Value {
    let mut told = agents_broadcast(message, "messageServerId", server);
    told["updatedAt"] = json!(message.updated_at.0);
    told["rawMessage"] = message.raw.clone();
    told
}

async fn change_action(
    State(app): State<Arc<App>>,
    who: Who,
    Path(id): Path<String>,
    Body(body): Body,
) -> Answer {
    let id = uuid(&id).ok_or_else(|| plain(400, "Invalid message id"))?;
    let update = MessageUpdate {
        text: text_in(&body, "content").map(str::to_owned),
        raw: body.get("raw_message").cloned(),
        source_type: text_in(&body, "source_type").map(str::to_owned),
        metadata: body.get("metadata").cloned(),
        reply_to: uuid_in(&body, "in_reply_to_message_id"),
    };
    let changed = app.ops.change_message(&who.by, id, update).await;
    let changed = changed.map_err(|error| match failed_plainly(error) {
        refusal if refusal.status == StatusCode::NOT_FOUND => plain(404, "Message not found"),
        refusal => refusal,
    })?;
    let server = uuid_in(&body, "server_message_id").unwrap_or_default();
    app.told.tell(changed.channel, "messageBroadcast", changed_broadcast(&changed, server));
    success(view(&changed))
}

/// A program tells that its own agent has said all.
async fn complete(State(app): State<Arc<App>>, who: Who, Body(body): Body) -> Answer {
    who.by.need(galatea_core::store::OperatorRole::Operator).map_err(failed_plainly)?;
    let (Some(channel), Some(server)) =
        (uuid_in(&body, "channel_id"), uuid_in(&body, "message_server_id"))
    else {
        return Err(plain(400, "Missing required fields: channel_id, message_server_id"));
    };
    let told = json!({ "channelId": channel, "roomId": channel, "serverId": server });
    app.told.tell(channel, "messageComplete", told);
    bare(StatusCode::OK, json!({ "success": true, "message": "Completion event emitted" }))
}

/// A message that a bridge brings from another place: agents of the channel hear it.
async fn ingest(State(app): State<Arc<App>>, who: Who, Body(body): Body) -> Answer {
    let (Some(channel), Some(server), Some(author), Some(text)) = (
        uuid_in(&body, "channel_id"),
        uuid_in(&body, "message_server_id"),
        uuid_in(&body, "author_id"),
        text_in(&body, "content"),
    ) else {
        return Err(plain(400, "Invalid external message payload"));
    };
    who.writes_as(author)?;
    let metadata = body.get("metadata").cloned().unwrap_or_default();
    make_missing(&app, &who, (channel, server, author), &metadata, "ingest_auto_creation").await?;
    let source = text_in(&body, "source_type").map(str::to_owned);
    let new = NewChannelMessage {
        id: Some(app.told.fresh()),
        channel,
        author,
        text: text.to_owned(),
        raw: body.get("raw_message").cloned().unwrap_or_default(),
        source_type: source,
        source_id: text_in(&body, "source_id").map(str::to_owned),
        metadata,
        reply_to: uuid_in(&body, "in_reply_to_message_id"),
    };
    let name = text_in(&body, "author_display_name");
    let target = new.metadata.get("targetAgentId").and_then(Value::as_str).and_then(uuid);
    let said: SaidMessage = app
        .ops
        .say(&who.by, &app.chat, new, name, target.map(AgentId))
        .await
        .map_err(failed_plainly)?;
    let told = super::say::broadcast(&said.message, name, server);
    app.told.tell(channel, "messageBroadcast", told);
    let message = "Message ingested and published to bus";
    let body =
        json!({ "success": true, "message": message, "data": { "messageId": said.message.id } });
    bare(StatusCode::ACCEPTED, body)
}
