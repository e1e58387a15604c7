//! Parses the updates of a getUpdates answer or of a webhook call, one by one. teloxide rejects a
//! whole message for one field it does not know, and its parser can panic. This module keeps the
//! rest of such a message, and the number of every update, so that the offset can move past it.

use galatea_http::json;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::{
    borrow::Cow,
    panic::{AssertUnwindSafe, catch_unwind},
};
use teloxide::types::{Message, MessageEntity, MessageKind, MessageOrigin, Update, UpdateKind};

const MESSAGES: [&str; 4] = ["message", "edited_message", "channel_post", "edited_channel_post"];

/// Longest field name that is logged; the Bot API's longest update type has 28 letters.
const NAME: usize = 40;

/// An update, parsed as far as possible.
#[derive(Debug)]
pub(crate) struct RawUpdate {
    /// The `update_id`.
    pub(crate) id: i64,
    /// The update; `None` if even a reduced form cannot be parsed.
    pub(crate) update: Option<Update>,
    /// Name of its type field, for the log: short, and of plain characters only.
    pub(crate) kind: String,
    /// True if the update is malformed and may contain a message or a press. False for types that
    /// were not requested and for service messages.
    pub(crate) lost: bool,
}

/// The answer of getUpdates.
#[derive(Debug, Default)]
pub(crate) struct ApiAnswer {
    /// The updates, in order.
    pub(crate) items: Vec<RawUpdate>,
    /// Number of further updates without a number, so that no offset can move past them.
    pub(crate) without_number: usize,
}

/// Parses the answer of getUpdates. `None` if it is not a JSON object with a list of updates.
pub(crate) fn answer(body: &[u8]) -> Option<ApiAnswer> {
    #[derive(Deserialize)]
    struct Typed {
        result: Vec<Update>,
    }
    if let Ok(Ok(typed)) = catch_unwind(|| serde_json::from_slice::<Typed>(body))
        && !typed.result.iter().any(lossy)
    {
        return Some(ApiAnswer {
            items: typed.result.into_iter().map(whole).collect(),
            without_number: 0,
        });
    }
    // Parse one by one, so that a malformed update does not affect the others.
    let body = json::mend(body);
    let found = json::items(json::member(&body, "result")?)?;
    let items: Vec<RawUpdate> = found.iter().filter_map(|text| item(text)).collect();
    Some(ApiAnswer { without_number: found.len() - items.len(), items })
}

/// Parses the body of one webhook call.
pub(crate) fn single(body: &[u8]) -> Option<RawUpdate> {
    if let Ok(Ok(update)) = catch_unwind(|| serde_json::from_slice::<Update>(body))
        && !lossy(&update)
    {
        return Some(whole(update));
    }
    item(&json::mend(body))
}

/// The number of the first update in an answer that was too long to read.
pub(crate) fn first_of(beginning: &[u8]) -> Option<RawUpdate> {
    let list = json::opened(beginning, "result")?;
    let at = list.iter().position(|b| *b == b'{')?;
    cut(list.get(at..)?)
}

/// The number of an update that was too long to read.
pub(crate) fn cut(beginning: &[u8]) -> Option<RawUpdate> {
    Some(RawUpdate {
        id: number(beginning)?,
        update: None,
        kind: "of more bytes than are taken".to_owned(),
        lost: true,
    })
}

fn whole(update: Update) -> RawUpdate {
    RawUpdate { id: i64::from(update.id.0), update: Some(update), kind: String::new(), lost: false }
}

fn item(text: &[u8]) -> Option<RawUpdate> {
    let id = number(text)?;
    let name = json::members(text)
        .map(|(name, _)| name)
        .find(|name| *name != b"update_id")
        .unwrap_or_default();
    let kind = galatea_http::plain(&String::from_utf8_lossy(name), NAME);
    let value = serde_json::from_slice::<Value>(text).ok();
    let update = value.as_ref().and_then(|value| {
        let value = renumbered(value);
        parse(&value).filter(|u| !lossy(u)).or_else(|| salvage(&value))
    });
    let lost = update.is_none() && value.is_none_or(|value| says_something(&value));
    Some(RawUpdate { id, update, kind, lost })
}

/// The `update_id`, even if the rest of the update is malformed or missing.
fn number(text: &[u8]) -> Option<i64> {
    serde_json::from_slice(json::member(text, "update_id")?).ok()
}

/// Replaces an `update_id` that does not fit into teloxide's 32 bits; [`RawUpdate::id`] keeps the real
/// one.
fn renumbered(value: &Value) -> Cow<'_, Value> {
    let fits = |id: &Value| id.as_u64().is_some_and(|id| u32::try_from(id).is_ok());
    if value.get("update_id").is_some_and(fits) {
        return Cow::Borrowed(value);
    }
    let mut value = value.clone();
    if let Some(id) = value.get_mut("update_id") {
        *id = 0.into();
    }
    Cow::Owned(value)
}

/// True if an update is a press or a message with text. Member changes and unknown media do not
/// count.
fn says_something(value: &Value) -> bool {
    let has_words =
        |message: &Value| ["text", "caption"].iter().any(|words| message.get(words).is_some());
    value.get("callback_query").is_some()
        || MESSAGES.iter().any(|kind| value.get(kind).is_some_and(has_words))
}

fn parse(value: &Value) -> Option<Update> {
    catch_unwind(AssertUnwindSafe(|| Update::deserialize(value).ok())).ok().flatten()
}

/// True if teloxide dropped the content of the update.
fn lossy(update: &Update) -> bool {
    let message: &Message = match &update.kind {
        UpdateKind::Error(_) => return true,
        UpdateKind::Message(m)
        | UpdateKind::EditedMessage(m)
        | UpdateKind::ChannelPost(m)
        | UpdateKind::EditedChannelPost(m) => m,
        _ => return false,
    };
    matches!(message.kind, MessageKind::Empty {})
}

/// Parses a message without the fields that fail most often, then reduced to its text.
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

fn repaired(whole: &Map<String, Value>) -> Map<String, Value> {
    let mut message = whole.clone();
    for field in [
        "external_reply",
        "quote",
        "link_preview_options",
        "reply_markup",
        "via_bot",
        "forward_origin",
        "story",
        "effect_id",
    ] {
        message.remove(field);
    }
    message.extend(quoted(whole));
    for field in ["voice", "audio", "video", "animation"] {
        // Optional in the Bot API, but required by teloxide's parser.
        if let Some(Value::Object(file)) = message.get_mut(field) {
            file.entry("mime_type").or_insert(Value::Null);
            file.remove("thumbnail");
        }
    }
    if let Some(reply) = message.get("reply_to_message").and_then(Value::as_object).map(spoken) {
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
    let known = entities
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter(|e| MessageEntity::deserialize(*e).is_ok())
        .cloned()
        .collect();
    out.insert("entities".into(), Value::Array(known));
    out.extend(quoted(message));
    if let Some(reply) = message.get("reply_to_message").and_then(Value::as_object) {
        out.insert("reply_to_message".into(), Value::Object(spoken(reply)));
    }
    Some(out)
}

/// The external reply and the selected quote of a message, in a form that teloxide can parse. Its
/// parser requires a medium in every external reply, even to plain text, so a die stands in for it;
/// only the origin is used.
fn quoted(message: &Map<String, Value>) -> Map<String, Value> {
    let mut out = Map::new();
    if let Some(text) =
        message.get("quote").and_then(|quote| quote.get("text")).filter(|text| text.is_string())
    {
        out.insert("quote".into(), serde_json::json!({ "text": text, "position": 0 }));
    }
    let origin = message.get("external_reply").and_then(|reply| reply.get("origin"));
    if let Some(origin) = origin.filter(|origin| MessageOrigin::deserialize(*origin).is_ok()) {
        let die = serde_json::json!({ "emoji": "\u{1F3B2}", "value": 1 });
        out.insert(
            "external_reply".into(),
            serde_json::json!({ "origin": origin, "message_id": null, "dice": die }),
        );
    }
    out
}

/// Sender, chat, date and text of a message, without its other fields.
fn spoken(message: &Map<String, Value>) -> Map<String, Value> {
    let mut out = bare(message);
    if let Some(text) =
        message.get("text").or_else(|| message.get("caption")).filter(|text| text.is_string())
    {
        out.insert("text".into(), text.clone());
    }
    out
}

/// Sender, chat and date of a message, without content.
fn bare(message: &Map<String, Value>) -> Map<String, Value> {
    const PEOPLE: [&str; 5] = ["id", "is_bot", "first_name", "last_name", "username"];
    const CHATS: [&str; 7] =
        ["id", "type", "title", "username", "first_name", "last_name", "is_forum"];
    let keep = |value: &Value, names: &[&str]| {
        let fields = value.as_object().map(|o| {
            names
                .iter()
                .filter_map(|n| o.get(*n).map(|v| ((*n).to_owned(), v.clone())))
                .collect::<Map<_, _>>()
        });
        Value::Object(fields.unwrap_or_default())
    };
    let mut out = Map::new();
    for (name, value) in message {
        let kept = match name.as_str() {
            "message_id"
            | "date"
            | "edit_date"
            | "message_thread_id"
            | "is_topic_message"
            | "is_automatic_forward" => value.clone(),
            "chat" | "sender_chat" => keep(value, &CHATS),
            "from" => keep(value, &PEOPLE),
            _ => continue,
        };
        out.insert(name.clone(), kept);
    }
    out
}
