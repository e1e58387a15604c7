//! What sockets are told about messages, in elizaOS's fields.

use galatea_core::store::ChannelMessage;
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// A message of an agent. elizaOS names the message server differently where a program posts an action.
pub(crate) fn agents_broadcast(message: &ChannelMessage, server_key: &str, server: Uuid) -> Value {
    let name = message.metadata.get("agentName").and_then(Value::as_str).unwrap_or("Agent");
    let mut told = Map::new();
    let mut put = |key: &str, value: Value| told.insert(key.to_owned(), value);
    put("senderId", json!(message.author));
    put("senderName", json!(name));
    put("text", json!(message.text));
    put("roomId", json!(message.channel));
    put(server_key, json!(server));
    put("createdAt", json!(message.created_at.0));
    put("source", json!(message.source_type));
    put("id", json!(message.id));
    for key in ["thought", "actions"] {
        if let Some(value) = message.raw.get(key).filter(|value| !value.is_null()) {
            put(key, value.clone());
        }
    }
    let attachments = message.metadata.get("attachments").or(message.raw.get("attachments"));
    if let Some(attachments) = attachments.filter(|list| !list.is_null() && **list != json!([])) {
        put("attachments", attachments.clone());
    }
    Value::Object(told)
}

/// A message that came over a socket. Its sender gets it with the id that the program gave it.
pub(crate) fn users_broadcast(
    message: &ChannelMessage,
    name: Option<&str>,
    server: Uuid,
    attachments: Option<&Value>,
) -> Value {
    let mut told = json!({
        "id": message.id,
        "senderId": message.author,
        "senderName": name.unwrap_or("User"),
        "text": message.text,
        "channelId": message.channel,
        "roomId": message.channel,
        "messageServerId": server,
        "createdAt": message.created_at.0,
        "source": message.source_type,
    });
    if let Some(attachments) = attachments.filter(|list| !list.is_null()) {
        told["attachments"] = attachments.clone();
    }
    told
}

/// The confirmation that the sender of a message gets.
pub(crate) fn ack(message: &ChannelMessage, client: Option<&Value>) -> Value {
    let mut told = json!({
        "messageId": message.id,
        "status": "received_by_server_and_processing",
        "channelId": message.channel,
        "roomId": message.channel,
    });
    if let Some(client) = client {
        told["clientMessageId"] = client.clone();
    }
    told
}
