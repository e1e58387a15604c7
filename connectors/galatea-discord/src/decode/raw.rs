//! Parses a message into serenity's type. An unknown form of one field must not lose the message,
//! so parsing retries without the fragile fields, and finally with the essential fields only.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use serenity::all::{Message, MessageReferenceKind, MessageType, User};

/// Fields that fail to parse most often, and that the text does not need.
const FRAGILE: [&str; 14] = [
    "embeds",
    "components",
    "poll",
    "interaction",
    "interaction_metadata",
    "application",
    "activity",
    "thread",
    "reactions",
    "role_subscription_data",
    "call",
    "resolved",
    "mention_channels",
    "sticker_items",
];
/// Fields that are kept in the last attempt.
const ESSENTIAL: [&str; 11] = [
    "id",
    "channel_id",
    "guild_id",
    "author",
    "content",
    "timestamp",
    "edited_timestamp",
    "type",
    "mention_roles",
    "webhook_id",
    "nonce",
];

/// Parses a message of the gateway or of REST. `None` if even the essential fields
/// cannot be parsed.
pub(crate) fn message(value: &Value) -> Option<Message> {
    Message::deserialize(value).ok().or_else(|| salvage(value))
}

fn salvage(value: &Value) -> Option<Message> {
    let fields = value.as_object()?;
    let mut repaired = with_defaults(fields.clone());
    for name in FRAGILE {
        repaired.remove(name);
    }
    repaired.insert("embeds".into(), json!([]));
    if let Some(Value::Object(referenced)) = repaired.get("referenced_message").cloned() {
        repaired.insert("referenced_message".into(), Value::Object(reduced(&referenced)));
    }
    let read = |fields: Map<String, Value>| Message::deserialize(Value::Object(fields)).ok();
    let without_member = || {
        let mut fields = repaired.clone();
        for name in ["member", "message_snapshots", "attachments", "flags"] {
            fields.remove(name);
        }
        read(with_defaults(fields))
    };
    read(repaired.clone()).or_else(without_member).or_else(|| read(reduced(fields)))
}

fn with_defaults(mut fields: Map<String, Value>) -> Map<String, Value> {
    for name in ["tts", "mention_everyone", "pinned"] {
        fields.entry(name).or_insert(Value::Bool(false));
    }
    for name in ["mentions", "mention_roles", "attachments", "embeds"] {
        fields.entry(name).or_insert_with(|| json!([]));
    }
    fields.entry("type").or_insert(json!(0));
    fields.entry("content").or_insert(json!(""));
    fields
}

fn reduced(fields: &Map<String, Value>) -> Map<String, Value> {
    let mut kept: Map<String, Value> = fields
        .iter()
        .filter(|(k, _)| ESSENTIAL.contains(&k.as_str()))
        .map(|(k, v)| (k.clone(), v.clone()))
        .collect();
    if let Some(author) = kept.get_mut("author") {
        reduce_user(author);
    }
    // The text contains only the ids of mentioned people. Their names are in `mentions`.
    let mentions = fields.get("mentions").and_then(Value::as_array).into_iter().flatten();
    let mentions = mentions.cloned().filter_map(|mut user| {
        reduce_user(&mut user);
        User::deserialize(&user).is_ok().then_some(user)
    });
    kept.insert("mentions".into(), mentions.collect());
    with_defaults(kept)
}

fn reduce_user(user: &mut Value) {
    if let Value::Object(user) = user {
        user.retain(|k, _| matches!(k.as_str(), "id" | "username" | "global_name" | "bot"));
    }
}

/// Reads an id from JSON. Discord writes ids as text; numbers are accepted, too.
pub(crate) fn id(value: &Value) -> Option<u64> {
    value.as_str().and_then(|s| s.parse().ok()).or_else(|| value.as_u64())
}

pub(super) fn replied(m: &Message) -> Option<u64> {
    let reference = m.message_reference.as_ref().filter(|r| {
        r.kind == MessageReferenceKind::Default && m.kind == MessageType::InlineReply
    })?;
    reference.message_id.map(|id| id.get())
}
