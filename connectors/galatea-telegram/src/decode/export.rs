//! Reads the JSON export of Telegram Desktop (`result.json`): one chat, or all chats.
//!
//! Its ids of chats are without the Bot API's prefix. Only in supergroups and channels do bots and
//! people count messages alike, so only there a message gets the id under which a bot receives it.

use galatea_core::{
    Addressed, ChannelType, Connection, Content, EntityRef, Incoming, IncomingEvent,
    IncomingMessage, RemoteId, RoomRef, Timestamp, WorldRef,
};
use serde::Deserialize;
use serde_json::Value;

use super::place::{message_id, room_id};

/// What the Bot API puts in front of the ids of supergroups and channels
/// (<https://core.telegram.org/api/bots/ids>).
const CHANNEL: i64 = -1_000_000_000_000;

#[derive(Debug, Deserialize)]
struct Chat {
    id: i64,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    name: Option<String>,
    messages: Vec<Value>,
}

#[derive(Debug, Deserialize)]
struct Message {
    id: i64,
    #[serde(rename = "type")]
    kind: String,
    date_unixtime: String,
    #[serde(default)]
    from: Option<String>,
    #[serde(default)]
    from_id: Option<String>,
    #[serde(default)]
    text: Value,
    #[serde(default)]
    reply_to_message_id: Option<i64>,
}

/// The messages of an export; `None` for any other JSON. A message that cannot be read is passed
/// over.
pub fn read_export(export: &Value) -> Option<Vec<Incoming>> {
    let chats = match export.pointer("/chats/list") {
        Some(list) => list.as_array()?.iter().filter_map(chat).collect(),
        None => vec![chat(export)?],
    };
    Some(chats.iter().filter_map(messages).flatten().collect())
}

fn chat(value: &Value) -> Option<Chat> {
    Chat::deserialize(value).ok()
}

/// The messages of a chat; `None` for an id that the Bot API cannot have.
fn messages(chat: &Chat) -> Option<Vec<Incoming>> {
    let (remote, kind) = match chat.kind.as_str() {
        "personal_chat" | "bot_chat" | "saved_messages" => (chat.id, ChannelType::Dm),
        "private_group" => (positive(chat.id)?.checked_neg()?, ChannelType::Group),
        "private_channel" | "public_channel" => (prefixed(chat.id)?, ChannelType::Feed),
        _ => (prefixed(chat.id)?, ChannelType::Group),
    };
    let read = |value: &Value| {
        let message = Message::deserialize(value).ok()?;
        read_message(chat, remote, kind, message)
    };
    Some(chat.messages.iter().filter_map(read).collect())
}

/// The Bot API's id of a supergroup or channel.
fn prefixed(id: i64) -> Option<i64> {
    CHANNEL.checked_sub(positive(id)?)
}

/// An export's ids of groups and channels are positive; the Bot API negates them.
fn positive(id: i64) -> Option<i64> {
    (id > 0).then_some(id)
}

fn read_message(chat: &Chat, remote: i64, kind: ChannelType, message: Message) -> Option<Incoming> {
    let text = plain(&message.text);
    if message.kind != "message" || text.trim().is_empty() {
        return None;
    }
    let seconds: i64 = message.date_unixtime.parse().ok()?;
    let id = |number: i64| match i32::try_from(number) {
        Ok(number) if remote < CHANNEL => message_id(remote, number),
        _ => RemoteId::new(format!("export:{remote}:{number}")),
    };
    let author = author(message.from_id.as_deref(), remote);
    Some(Incoming {
        connection: Connection {
            world: WorldRef::new(RemoteId::new(remote), chat.name.clone()),
            room: RoomRef::new(room_id(remote, None), chat.name.clone(), kind),
            entity: Some(EntityRef::new(RemoteId::new(author), message.from.clone(), None)),
        },
        event: IncomingEvent::Message(IncomingMessage {
            id: id(message.id),
            legacy_id: None,
            content: Content::text(text),
            addressed: Addressed::default(),
            reply_to: message.reply_to_message_id.map(id),
            command: None,
            from_self: false,
        }),
        at: Timestamp(seconds.saturating_mul(1000)),
    })
}

/// The Bot API's id of a sender: `user123` or `channel123`. Deleted accounts have none, and count
/// as the chat.
fn author(from: Option<&str>, chat: i64) -> i64 {
    let number = |text: &str| text.parse::<i64>().ok();
    from.and_then(|from| {
        from.strip_prefix("user")
            .and_then(number)
            .or_else(|| from.strip_prefix("channel").and_then(number).and_then(prefixed))
    })
    .unwrap_or(chat)
}

/// A text, or pieces of one that are formatted differently.
fn plain(text: &Value) -> String {
    match text {
        Value::String(text) => text.clone(),
        Value::Array(pieces) => pieces
            .iter()
            .filter_map(|piece| piece.as_str().or_else(|| piece.get("text")?.as_str()))
            .collect(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message(id: i64, text: Value) -> Value {
        json!({ "id": id, "type": "message", "date": "2026-01-02T03:04:05", "date_unixtime": "1767323045",
            "from": "Ann", "from_id": "user7", "text": text, "reply_to_message_id": 3 })
    }

    fn ids(found: &[Incoming]) -> Vec<String> {
        let id = |incoming: &Incoming| match &incoming.event {
            IncomingEvent::Message(message) => message.id.to_string(),
            other => panic!("{other:?}"),
        };
        found.iter().map(id).collect()
    }

    #[test]
    fn a_supergroup_has_the_ids_that_a_bot_sees() {
        let export = json!({ "name": "Bees", "type": "private_supergroup", "id": 1234, "messages": [
            { "id": 1, "type": "service", "date_unixtime": "1", "action": "create_group" },
            message(4, json!(["see ", { "type": "link", "text": "example.org" }, "!"])),
            message(5, json!("")), "nonsense"] });
        let found = read_export(&export).unwrap();
        assert_eq!(ids(&found), ["-1000000001234:4"]);
        let connection = &found[0].connection;
        assert_eq!(connection.room.remote.as_str(), "-1000000001234");
        assert_eq!(connection.entity.as_ref().unwrap().remote.as_str(), "7");
        assert_eq!(found[0].at, Timestamp(1_767_323_045_000));
        let IncomingEvent::Message(message) = &found[0].event else { panic!() };
        assert_eq!(message.content.text, "see example.org!");
        assert_eq!(message.reply_to.as_ref().unwrap().as_str(), "-1000000001234:3");
    }

    #[test]
    fn where_people_and_bots_count_apart_no_id_is_a_bots() {
        let export = json!({ "chats": { "list": [
            { "name": "Ann", "type": "personal_chat", "id": 7, "messages": [message(4, json!("hi"))] },
            { "name": "old", "type": "private_group", "id": 9, "messages": [message(4, json!("ho"))] },
        ] } });
        assert_eq!(ids(&read_export(&export).unwrap()), ["export:7:4", "export:-9:4"]);
    }

    #[test]
    fn ids_out_of_range_are_passed_over() {
        let mut damaged = message(4, json!("hi"));
        damaged["from_id"] = json!(format!("channel{}", i64::MAX));
        let chat = |id: i64, kind: &str| json!({ "type": kind, "id": id, "messages": [damaged] });
        let chats = [
            chat(i64::MIN, "private_group"),
            chat(i64::MAX, "public_channel"),
            chat(i64::MIN, "public_supergroup"),
            chat(-5, "private_group"),
            chat(7, "personal_chat"),
        ];
        let found = read_export(&json!({ "chats": { "list": chats } })).unwrap();
        assert_eq!(ids(&found), ["export:7:4"]);
        let author = found[0].connection.entity.as_ref().unwrap();
        assert_eq!(author.remote.as_str(), "7", "as for a deleted account");
    }

    #[test]
    fn other_files_are_none() {
        for other in [json!([]), json!({ "messages": [] }), json!({ "guild": {}, "messages": [] })]
        {
            assert!(read_export(&other).is_none(), "{other}");
        }
    }
}
