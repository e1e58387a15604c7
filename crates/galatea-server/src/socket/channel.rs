//! The namespace `/`: joining channels and saying something there, as elizaOS's clients do.

use galatea_core::AgentId;
use galatea_host::ops::{Operator, channel_history::NewChannelMessage, channels::DEFAULT_SERVER};
use serde_json::{Value, json};
use socketioxide::extract::{SocketRef, TryData};
use std::{future::ready, sync::Arc};
use tokio::sync::mpsc;
use uuid::Uuid;

use super::{
    handshake::{self, Shown},
    logs,
};
use crate::{
    app::App,
    eliza::{
        say::{is_direct, missing},
        uuid, uuid_in,
        who::may_write_as,
        wire_message::{ack, users_broadcast},
    },
    told::Peer,
};

/// Requests of one socket that wait to be carried out.
const WAITING: usize = 64;
/// elizaOS's types of messages: joining a channel, and saying something.
const JOIN: u64 = 1;
const SEND: u64 = 2;
/// Longest name of a channel that is joined, in bytes.
const NAME: usize = 128;

/// A request of a socket.
enum Asked {
    Join(Value),
    Leave(Value),
    Send(Value),
    FollowLog,
    UnfollowLog,
    FilterLog(Value),
}

/// Sets a socket up that the handshake let in.
pub(super) async fn connected(
    app: Arc<App>,
    socket: SocketRef,
    auth: Option<Value>,
    presented: Shown,
) {
    let Ok(opened) = handshake::elizaos(&app, auth.as_ref(), presented).await else {
        let _ = socket.disconnect();
        return;
    };
    let peer = app.told.add(&socket, opened.entity, opened.presented);
    let told = Arc::clone(&app.told);
    socket.on_disconnect(move |socket: SocketRef| {
        told.remove(socket.id);
        ready(())
    });
    let (queue, waiting) = mpsc::channel(WAITING);
    listen(&socket, &queue, &peer);
    let now = app.ops.clock().now().0;
    peer.tell("authenticated", Arc::new(json!({ "entityId": peer.entity, "timestamp": now })));
    let message = "Connected to Eliza Socket.IO server";
    let told = json!({ "message": message, "socketId": socket.id.to_string() });
    peer.tell("connection_established", Arc::new(told));
    tokio::spawn(carry_out(app, opened.by, peer, waiting));
}

/// Puts what a socket asks for in a queue: handlers run side by side, and a message must not overtake the
/// joining before it.
fn listen(socket: &SocketRef, queue: &mpsc::Sender<Asked>, peer: &Arc<Peer>) {
    let on = |event: &'static str, read: fn(Value) -> Option<Asked>| {
        let (queue, peer) = (queue.clone(), Arc::downgrade(peer));
        socket.on(event, move |TryData(data): TryData<Value>| {
            // Some events have no payload.
            if let Some(asked) = read(data.unwrap_or_default())
                && queue.try_send(asked).is_err()
                && let Some(peer) = peer.upgrade()
            {
                let error = "too many requests at once; wait for the answers";
                peer.tell("messageError", Arc::new(json!({ "error": error })));
            }
            ready(())
        });
    };
    on("1", |data| Some(Asked::Join(data)));
    on("2", |data| Some(Asked::Send(data)));
    on("message", |mut data| {
        let kind = data.get("type").and_then(Value::as_u64);
        let payload = data.get_mut("payload").map(Value::take)?;
        match kind {
            Some(JOIN) => Some(Asked::Join(payload)),
            Some(SEND) => Some(Asked::Send(payload)),
            _ => None,
        }
    });
    // Names that elizaOS's pages describe, and no release has.
    for event in ["join", "join_channel"] {
        on(event, |data| Some(Asked::Join(named(data))));
    }
    for event in ["leave", "leave_channel"] {
        on(event, |data| Some(Asked::Leave(named(data))));
    }
    on("subscribe_logs", |_| Some(Asked::FollowLog));
    on("unsubscribe_logs", |_| Some(Asked::UnfollowLog));
    on("update_log_filters", |data| Some(Asked::FilterLog(data)));
}

/// A payload of a channel that is only named.
fn named(data: Value) -> Value {
    if data.is_string() { json!({ "channelId": data }) } else { data }
}

async fn carry_out(
    app: Arc<App>,
    by: Operator,
    peer: Arc<Peer>,
    mut waiting: mpsc::Receiver<Asked>,
) {
    let mut gone = peer.gone();
    loop {
        let asked = tokio::select! {
            biased;
            _ = gone.wait_for(|gone| *gone) => return,
            asked = waiting.recv() => asked,
        };
        let Some(asked) = asked else { return };
        match asked {
            Asked::Join(payload) => join(&app, &peer, &payload),
            Asked::Leave(payload) => {
                if let Some(channel) = channel_of(&payload) {
                    app.told.leave(&peer, channel);
                }
            }
            Asked::Send(payload) => {
                if let Err(error) = send(&app, &by, &peer, &payload).await {
                    peer.tell("messageError", Arc::new(json!({ "error": error })));
                }
            }
            Asked::FollowLog => logs::subscribe(&peer, by.role),
            Asked::UnfollowLog => logs::unsubscribe(&peer),
            Asked::FilterLog(filters) => logs::filter(&peer, &filters),
        }
    }
}

fn channel_of(payload: &Value) -> Option<&str> {
    let text = |key: &str| payload.get(key)?.as_str().filter(|text| !text.is_empty());
    text("channelId").or_else(|| text("roomId")).filter(|text| text.len() <= NAME)
}

fn join(app: &App, peer: &Peer, payload: &Value) {
    let Some(channel) = channel_of(payload) else {
        let error = "channelId is required for joining.";
        peer.tell("messageError", Arc::new(json!({ "error": error })));
        return;
    };
    app.told.join(peer, channel);
    let mut told = json!({
        "message": format!("Socket {} successfully joined channel {channel}.", peer.id),
        "channelId": channel,
        "roomId": channel,
    });
    if let Some(agent) = payload.get("agentId").filter(|agent| agent.is_string()) {
        told["agentId"] = agent.clone();
    }
    let told = Arc::new(told);
    peer.tell("channel_joined", Arc::clone(&told));
    peer.tell("room_joined", told);
}

/// Says something in a channel, which is made if there is none.
async fn send(app: &App, by: &Operator, peer: &Peer, payload: &Value) -> Result<(), String> {
    let server = match payload.get("messageServerId").or_else(|| payload.get("serverId")) {
        None | Some(Value::Null) => None,
        Some(id) => id.as_str().and_then(uuid),
    };
    let text = payload.get("message").and_then(Value::as_str).filter(|text| !text.is_empty());
    let (Some(channel), Some(server), Some(sender), Some(text)) =
        (channel_of(payload).and_then(uuid), server, uuid_in(payload, "senderId"), text)
    else {
        return Err("For SEND_MESSAGE: channelId, messageServerId (message_server_id), senderId (author_id), and message are required.".to_owned());
    };
    if sender != peer.entity && !may_write_as(by, peer.has_token(), sender) {
        return Err("this socket may not write in the name of another sender".to_owned());
    }
    if !may_write_as(by, peer.has_token(), sender) {
        return Err("this socket may not write: it needs a token of role operator".to_owned());
    }
    let metadata = payload.get("metadata").cloned().unwrap_or_default();
    let name = payload.get("senderName").and_then(Value::as_str);
    make_missing(app, by, (channel, server, sender), (&metadata, payload)).await?;
    let attachments = payload.get("attachments");
    let new = NewChannelMessage {
        id: Some(app.told.fresh()),
        channel,
        author: sender,
        text: text.to_owned(),
        raw: payload.clone(),
        source_type: Some(
            payload.get("source").and_then(Value::as_str).unwrap_or("socketio_client").to_owned(),
        ),
        source_id: payload.get("messageId").and_then(Value::as_str).map(str::to_owned),
        metadata: kept(&metadata, name, peer, server, attachments),
        reply_to: None,
    };
    let target = uuid_in(&metadata, "targetAgentId").or_else(|| uuid_in(&metadata, "targetUserId"));
    let failed = |error: galatea_core::Error| format!("Error processing your message: {error}");
    let said = app.ops.say(by, &app.chat, new, name, target.map(AgentId)).await.map_err(failed)?;
    let told = users_broadcast(&said.message, name, server, attachments);
    app.told.tell_but(&channel.to_string(), Some(peer.id), "messageBroadcast", told.clone());
    let mut own = told;
    let client = payload.get("messageId");
    if let Some(client) = client {
        own["clientMessageId"] = client.clone();
    }
    peer.tell("messageBroadcast", Arc::new(own));
    peer.tell("messageAck", Arc::new(ack(&said.message, client)));
    Ok(())
}

/// Metadata of a message, as elizaOS keeps it. The id of the socket is left out: it says nothing later.
fn kept(
    metadata: &Value,
    name: Option<&str>,
    peer: &Peer,
    server: Uuid,
    attachments: Option<&Value>,
) -> Value {
    let mut kept = metadata.as_object().cloned().unwrap_or_default();
    kept.insert("user_display_name".to_owned(), json!(name));
    kept.insert("entityId".to_owned(), json!(peer.entity));
    kept.insert("messageServerId".to_owned(), json!(server));
    if let Some(attachments) = attachments {
        kept.insert("attachments".to_owned(), attachments.clone());
    }
    Value::Object(kept)
}

async fn make_missing(
    app: &App,
    by: &Operator,
    ids: (Uuid, Uuid, Uuid),
    (metadata, payload): (&Value, &Value),
) -> Result<(), String> {
    if app.ops.channel(by, ids.0).await.is_ok() {
        return Ok(());
    }
    let now = app.ops.clock().now().0;
    let mut new = missing(ids, metadata, "socketio_auto_creation", now);
    if is_direct(metadata) && new.people.len() == 1 {
        new.people.extend(uuid_in(payload, "targetUserId"));
    }
    app.ops.make_channel(by, new).await.map(drop).map_err(|error| {
        if error.kind() == galatea_core::ErrorKind::NotFound {
            return format!("Server {} does not exist", ids.1);
        }
        format!("Failed to create channel: {error}")
    })
}

/// The message server of channels whose own is not known.
pub(super) const SERVER: Uuid = DEFAULT_SERVER;
