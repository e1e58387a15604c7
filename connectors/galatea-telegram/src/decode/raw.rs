//! Bytes of getUpdates or of a webhook call → updates, one by one. teloxide gives up on a whole message for one field it does not know,
//! and its reader can panic; here everything else of such a message is kept, and every update keeps its number so that the offset can pass it.

use serde::Deserialize;
use serde_json::{Map, Value};
use std::panic::{AssertUnwindSafe, catch_unwind};
use teloxide::types::{Message, MessageEntity, MessageKind, Update, UpdateKind};

const MESSAGES: [&str; 4] = ["message", "edited_message", "channel_post", "edited_channel_post"];

/// One update as it came.
#[derive(Debug)]
pub(crate) struct Item {
    /// Its number.
    pub(crate) id: i64,
    /// What it says; none when even a reduced form could not be read.
    pub(crate) update: Option<Update>,
    /// Name of its field, for the log.
    pub(crate) kind: String,
}

/// Reads the answer of getUpdates. None when it is no JSON list of numbered updates.
pub(crate) fn answer(body: &[u8]) -> Option<Vec<Item>> {
    #[derive(Deserialize)]
    struct Typed {
        result: Vec<Update>,
    }
    #[derive(Deserialize)]
    struct Loose {
        result: Vec<Value>,
    }
    if let Ok(Ok(typed)) = catch_unwind(|| serde_json::from_slice::<Typed>(body))
        && !typed.result.iter().any(lossy)
    {
        return Some(typed.result.into_iter().map(|u| Item { id: i64::from(u.id.0), update: Some(u), kind: String::new() }).collect());
    }
    let loose: Loose = serde_json::from_slice(body).ok()?;
    Some(loose.result.into_iter().filter_map(item).collect())
}

/// Reads the body of one webhook call.
pub(crate) fn single(body: &[u8]) -> Option<Item> {
    if let Ok(Ok(update)) = catch_unwind(|| serde_json::from_slice::<Update>(body))
        && !lossy(&update)
    {
        return Some(Item { id: i64::from(update.id.0), update: Some(update), kind: String::new() });
    }
    item(serde_json::from_slice(body).ok()?)
}

fn item(value: Value) -> Option<Item> {
    let fields = value.as_object()?;
    let id = fields.get("update_id")?.as_i64()?;
    let kind = fields.keys().find(|k| *k != "update_id").cloned().unwrap_or_default();
    let update = parse(&value).filter(|u| !lossy(u)).or_else(|| salvage(&value));
    Some(Item { id, update, kind })
}

fn parse(value: &Value) -> Option<Update> {
    catch_unwind(AssertUnwindSafe(|| Update::deserialize(value).ok())).ok().flatten()
}

/// True when teloxide dropped what the update says.
fn lossy(update: &Update) -> bool {
    let message: &Message = match &update.kind {
        UpdateKind::Error(_) => return true,
        UpdateKind::Message(m) | UpdateKind::EditedMessage(m) | UpdateKind::ChannelPost(m) | UpdateKind::EditedChannelPost(m) => m,
        _ => return false,
    };
    matches!(message.kind, MessageKind::Empty {})
}

/// First without the fields that break most often, then reduced to the words.
fn salvage(value: &Value) -> Option<Update> {
    let key = MESSAGES.into_iter().find(|k| value.get(k).is_some_and(Value::is_object))?;
    let message = value.get(key)?.as_object()?;
    let rebuild = |message: Map<String, Value>| {
        let mut update = Map::new();
        update.insert("update_id".into(), value.get("update_id")?.clone());
        update.insert(key.into(), Value::Object(message));
        parse(&Value::Object(update)).filter(|u| !lossy(u))
    };
    rebuild(repaired(message)).or_else(|| rebuild(reduced(message)?))
}

fn repaired(message: &Map<String, Value>) -> Map<String, Value> {
    let mut message = message.clone();
    for field in ["external_reply", "quote", "link_preview_options", "reply_markup", "via_bot", "forward_origin", "story", "effect_id"] {
        message.remove(field);
    }
    for field in ["voice", "audio", "video", "animation"] {
        // Optional in the Bot API, required by teloxide's reader.
        if let Some(Value::Object(file)) = message.get_mut(field) {
            file.entry("mime_type").or_insert(Value::Null);
            file.remove("thumbnail");
        }
    }
    if let Some(reply) = message.get("reply_to_message").and_then(Value::as_object).map(bare) {
        message.insert("reply_to_message".into(), Value::Object(reply));
    }
    for field in ["entities", "caption_entities"] {
        if let Some(Value::Array(entities)) = message.get_mut(field) {
            entities.retain(|e| MessageEntity::deserialize(e).is_ok());
        }
    }
    message
}

fn reduced(message: &Map<String, Value>) -> Option<Map<String, Value>> {
    let mut out = bare(message);
    let (text, entities) = match message.get("text") {
        Some(text) => (text, message.get("entities")),
        None => (message.get("caption")?, message.get("caption_entities")),
    };
    out.insert("text".into(), text.clone());
    let known = entities.and_then(Value::as_array).into_iter().flatten().filter(|e| MessageEntity::deserialize(*e).is_ok()).cloned().collect();
    out.insert("entities".into(), Value::Array(known));
    if let Some(reply) = message.get("reply_to_message").and_then(Value::as_object) {
        out.insert("reply_to_message".into(), Value::Object(bare(reply)));
    }
    Some(out)
}

/// Who, where and when, with nothing said.
fn bare(message: &Map<String, Value>) -> Map<String, Value> {
    const PEOPLE: [&str; 5] = ["id", "is_bot", "first_name", "last_name", "username"];
    const CHATS: [&str; 7] = ["id", "type", "title", "username", "first_name", "last_name", "is_forum"];
    let keep = |value: &Value, names: &[&str]| {
        let fields = value.as_object().map(|o| names.iter().filter_map(|n| o.get(*n).map(|v| ((*n).to_owned(), v.clone()))).collect::<Map<_, _>>());
        Value::Object(fields.unwrap_or_default())
    };
    let mut out = Map::new();
    for (name, value) in message {
        let kept = match name.as_str() {
            "message_id" | "date" | "edit_date" | "message_thread_id" | "is_topic_message" | "is_automatic_forward" => value.clone(),
            "chat" | "sender_chat" => keep(value, &CHATS),
            "from" => keep(value, &PEOPLE),
            _ => continue,
        };
        out.insert(name.clone(), kept);
    }
    out
}
