//! Saying something to the agents of a channel, by each of elizaOS's transports: `http` waits for the
//! answer, `sse` streams it, `websocket` leaves it to sockets.

use axum::{
    Router,
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse as _, Response},
    routing::post,
};
use galatea_core::{
    AgentId,
    store::{Channel, ChannelMessage},
};
use galatea_host::ops::{
    channel_history::NewChannelMessage, channels::NewChannel, hearing::SaidMessage,
};
use galatea_http::listen::Ending;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use uuid::Uuid;

use super::{
    envelope::{Answer, Body, Refusal, failed_plainly, iso, plain, text_in, uuid, uuid_in},
    wait,
    who::Who,
};
use crate::app::App;

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/api/messaging/channels/{channel}/messages", post(say))
        .route("/api/messaging/central-channels/{channel}/messages", post(say))
}

/// How a program gets the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Transport {
    /// In the answer to the request.
    Http,
    /// In a stream.
    Sse,
    /// Through sockets, or by reading the channel.
    WebSocket,
}

/// The transport that a body names, with elizaOS's older names.
pub(super) fn transport(body: &Value) -> Result<Transport, String> {
    let named = ["transport", "mode"].into_iter().filter_map(|key| body.get(key));
    let Some(named) = named.into_iter().find(|value| !value.is_null()) else {
        return Ok(Transport::WebSocket);
    };
    match named.as_str() {
        Some("http" | "sync") => Ok(Transport::Http),
        Some("sse" | "stream") => Ok(Transport::Sse),
        Some("websocket") => Ok(Transport::WebSocket),
        Some(other) => Err(format!(
            "Invalid transport \"{other}\". Must be one of: http, sse, websocket, sync, stream"
        )),
        None => Err("Invalid transport type. Transport must be a string.".to_owned()),
    }
}

/// Whether metadata says that a channel is a direct one.
pub(crate) fn is_direct(metadata: &Value) -> bool {
    let names = |key: &str| metadata.get(key).and_then(Value::as_str) == Some("DM");
    let is_dm = metadata.get("isDm").is_some_and(|value| *value == json!(true));
    is_dm || names("channelType") || names("channel_type")
}

/// The channel that a message opens if there is none of its id yet, as in elizaOS.
pub(crate) fn missing(
    (id, server, author): (Uuid, Uuid, Uuid),
    metadata: &Value,
    by: &str,
    now: i64,
) -> NewChannel {
    let direct = is_direct(metadata);
    let (kind, word) = if direct { ("DM", "DM") } else { ("GROUP", "Chat") };
    let mut kept = Map::new();
    kept.insert("created_by".to_owned(), json!(by));
    kept.insert("created_for_user".to_owned(), json!(author));
    kept.insert("created_at".to_owned(), json!(iso(now)));
    kept.insert("channel_type".to_owned(), json!(kind));
    if let Some(metadata) = metadata.as_object() {
        kept.extend(metadata.clone());
    }
    let other = ["targetUserId", "recipientId"].iter().filter_map(|key| uuid_in(metadata, key));
    let mut people = vec![author];
    people.extend(other.filter(|_| direct).take(1));
    let id_text = id.to_string();
    NewChannel {
        id: Some(id),
        server,
        name: format!("{word} {}", id_text.get(..8).unwrap_or_default()),
        kind: kind.to_owned(),
        source_type: Some("auto_created".to_owned()),
        metadata: Value::Object(kept),
        people,
    }
}

/// Makes the channel of a message if there is none.
pub(super) async fn make_missing(
    app: &App,
    who: &Who,
    ids: (Uuid, Uuid, Uuid),
    metadata: &Value,
    by: &str,
) -> Result<Channel, Refusal> {
    if let Ok(channel) = app.ops.channel(&who.by, ids.0).await {
        return Ok(channel);
    }
    let new = missing(ids, metadata, by, app.ops.clock().now().0);
    let server = ids.1;
    app.ops.make_channel(&who.by, new).await.map_err(|error| {
        if error.kind() == galatea_core::ErrorKind::NotFound {
            return plain(500, &format!("Server {server} does not exist"));
        }
        failed_plainly(error)
    })
}

/// The message of a person as elizaOS returns it to the program that sent it.
pub(super) fn user_message(message: &ChannelMessage, server: Uuid, name: Option<&str>) -> Value {
    json!({
        "id": message.id,
        "channel_id": message.channel,
        "message_server_id": server,
        "author_id": message.author,
        "content": message.text,
        "created_at": message.created_at.0,
        "source_type": message.source_type,
        "raw_message": message.raw,
        "metadata": message.metadata,
        "author_display_name": name,
        "in_reply_to_message_id": message.reply_to,
        "source_id": message.source_id,
    })
}

/// The message of a person as sockets get it, where it came over HTTP.
pub(crate) fn broadcast(message: &ChannelMessage, name: Option<&str>, server: Uuid) -> Value {
    json!({
        "senderId": message.author,
        "senderName": name.unwrap_or("User"),
        "text": message.text,
        "roomId": message.channel,
        "messageServerId": server,
        "createdAt": message.created_at.0,
        "source": message.source_type,
        "id": message.id,
    })
}

async fn say(
    State(app): State<Arc<App>>,
    who: Who,
    Path(id): Path<String>,
    ending: Option<axum::Extension<Ending>>,
    Body(body): Body,
) -> Answer {
    let transport = transport(&body).map_err(|message| plain(400, &message))?;
    let server = uuid_in(&body, "message_server_id").or_else(|| uuid_in(&body, "server_id"));
    let (Some(channel), Some(author), Some(text), Some(server)) =
        (uuid(&id), uuid_in(&body, "author_id"), text_in(&body, "content"), server)
    else {
        return Err(plain(
            400,
            "Missing required fields: channelId, message_server_id, author_id, content",
        ));
    };
    who.writes_as(author)?;
    let metadata = body.get("metadata").cloned().unwrap_or_default();
    make_missing(&app, &who, (channel, server, author), &metadata, "gui_auto_creation").await?;
    let target = uuid_in(&metadata, "targetAgentId").map(AgentId);
    let people = app.ops.channel_people(&who.by, channel).await.map_err(failed_plainly)?;
    if target.is_none() && !people.iter().any(|person| *person != author) {
        return Err(plain(400, "No agent found in channel participants"));
    }
    let name = metadata.get("user_display_name").and_then(Value::as_str).map(str::to_owned);
    let new = NewChannelMessage {
        id: Some(uuid_in(&body, "messageId").unwrap_or_else(|| app.told.fresh())),
        channel,
        author,
        text: text.to_owned(),
        raw: body.get("raw_message").cloned().unwrap_or_default(),
        source_type: Some(text_in(&body, "source_type").unwrap_or("eliza_gui").to_owned()),
        source_id: None,
        metadata,
        reply_to: uuid_in(&body, "in_reply_to_message_id"),
    };
    let shown = |message: &ChannelMessage| user_message(message, server, name.as_deref());
    let follower = wait::Waiting::begin(&app).await.map_err(failed_plainly)?;
    let said = app
        .ops
        .say(&who.by, &app.chat, new, name.as_deref(), target)
        .await
        .map_err(failed_plainly)?;
    let told = broadcast(&said.message, name.as_deref(), server);
    app.told.tell(channel, "messageBroadcast", told);
    let user = shown(&said.message);
    let ending = ending.map(|axum::Extension(ending)| ending);
    respond(&app, &who, (transport, follower), said, (user, Map::new()), ending).await
}

/// Answers by the transport. `more` stands beside the messages.
pub(super) async fn respond(
    app: &Arc<App>,
    who: &Who,
    (transport, waiting): (Transport, wait::Waiting),
    said: SaidMessage,
    (user, more): (Value, Map<String, Value>),
    ending: Option<Ending>,
) -> Result<Response, Refusal> {
    let mut body = Map::new();
    body.insert("success".to_owned(), json!(true));
    body.insert("userMessage".to_owned(), user.clone());
    match transport {
        Transport::WebSocket => {
            body.extend(more);
            Ok((StatusCode::CREATED, axum::Json(Value::Object(body))).into_response())
        }
        Transport::Http => {
            let answer = waiting.answer(app, &who.by, &said).await.map_err(failed_plainly)?;
            body.insert("agentResponse".to_owned(), answer);
            body.extend(more);
            Ok((StatusCode::CREATED, axum::Json(Value::Object(body))).into_response())
        }
        Transport::Sse => Ok(waiting.stream(app, who.by.clone(), said, user, ending)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transports_have_two_names_each() {
        let of = |body: Value| transport(&body);
        assert_eq!(of(json!({})), Ok(Transport::WebSocket));
        assert_eq!(of(json!({"transport": "http"})), Ok(Transport::Http));
        assert_eq!(of(json!({"mode": "sync"})), Ok(Transport::Http));
        assert_eq!(of(json!({"mode": "stream"})), Ok(Transport::Sse));
        assert_eq!(of(json!({"transport": null, "mode": "websocket"})), Ok(Transport::WebSocket));
        assert!(of(json!({"transport": "pigeon"})).unwrap_err().contains("Must be one of"));
        assert!(of(json!({"transport": 1})).unwrap_err().contains("must be a string"));
    }

    #[test]
    fn a_missing_channel_is_named_by_its_sort() {
        let [id, server, author, other] = [1_u128, 0, 3, 4].map(Uuid::from_u128);
        let direct = json!({ "isDm": true, "targetUserId": other });
        let made = missing((id, server, author), &direct, "socketio_auto_creation", 0);
        assert_eq!((made.name.as_str(), made.kind.as_str()), ("DM 00000000", "DM"));
        assert_eq!(made.people, [author, other]);
        let made = missing((id, server, author), &json!({ "targetUserId": other }), "x", 0);
        assert_eq!((made.name.as_str(), made.kind.as_str()), ("Chat 00000000", "GROUP"));
        assert_eq!(made.people, [author], "a group's members are added by its maker");
        assert_eq!(made.metadata["created_at"], "1970-01-01T00:00:00.000Z");
    }
}
