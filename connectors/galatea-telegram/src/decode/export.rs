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

use super::{
    export_time,
    place::{message_id, room_id},
};

/// What the Bot API puts in front of the ids of supergroups and channels
/// (<https://core.telegram.org/api/bots/ids>).
const CHANNEL: i64 = -1_000_000_000_000;
/// The type of a person's chat with a bot.
const BOT_CHAT: &str = "bot_chat";

/// A chat without its messages, which are read where they stand: an export may be large.
#[derive(Debug, Deserialize)]
struct Chat {
    id: i64,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    name: Option<String>,
}

impl Chat {
    /// # Errors
    /// What is missing.
    fn of(value: &Value) -> Result<(Self, &[Value]), String> {
        let chat = Self::deserialize(value).map_err(|error| error.to_string())?;
        let messages = value.get("messages").and_then(Value::as_array);
        Ok((chat, messages.ok_or("missing field `messages`")?))
    }
}

/// The messages of an export, and what cannot be read, each with the reason; `None` for any other
/// JSON. Service messages and messages without text are passed over.
pub fn read_export(export: &Value) -> Option<(Vec<Incoming>, Vec<String>)> {
    let (mut messages, mut skipped) = (Vec::new(), Vec::new());
    // A full export has the chats that its owner left in a list of their own.
    let lists = ["chats", "left_chats"].map(|key| export.get(key).and_then(|all| all.get("list")));
    if lists.iter().all(Option::is_none) {
        let (chat, values) = Chat::of(export).ok()?;
        read_chat(&chat, values, &mut messages, &mut skipped);
        return Some((messages, skipped));
    }
    for list in lists.into_iter().flatten() {
        for (n, value) in list.as_array()?.iter().enumerate() {
            match Chat::of(value) {
                // Which of them is the agent's is unknown, and all of them would be one Room.
                Ok((chat, _)) if chat.kind == BOT_CHAT => skipped.push(format!(
                    "chat {} is with a bot: if it is this agent, export that chat by itself",
                    chat.id
                )),
                Ok((chat, values)) => read_chat(&chat, values, &mut messages, &mut skipped),
                Err(error) => skipped.push(format!("chat {} of the list: {error}", n + 1)),
            }
        }
    }
    Some((messages, skipped))
}

/// Adds the messages of a chat.
fn read_chat(
    chat: &Chat,
    values: &[Value],
    messages: &mut Vec<Incoming>,
    skipped: &mut Vec<String>,
) {
    let Some((remote, kind)) = place(chat, values) else {
        let cause = match chat.kind.as_str() {
            BOT_CHAT => "only the bot wrote in it",
            _ => "a bot cannot have this id",
        };
        skipped.push(format!("chat {}: {cause}", chat.id));
        return;
    };
    for (n, value) in values.iter().enumerate() {
        match read_message(chat, remote, kind, value) {
            Ok(message) => messages.extend(message),
            Err(cause) => {
                let id =
                    value.get("id").map_or_else(|| format!("number {}", n + 1), Value::to_string);
                skipped.push(format!("message {id} of chat {}: {cause}", chat.id));
            }
        }
    }
}

/// The chat's id in the Bot API; `None` for one that it cannot have. A person's export of a chat with a
/// bot has the bot's id; the bot knows the chat by the person's.
fn place(chat: &Chat, messages: &[Value]) -> Option<(i64, ChannelType)> {
    Some(match chat.kind.as_str() {
        BOT_CHAT => {
            let mut authors = messages.iter().filter_map(|message| sender(message.get("from_id")?));
            (authors.find(|id| *id != chat.id)?, ChannelType::Dm)
        }
        "personal_chat" | "saved_messages" => (chat.id, ChannelType::Dm),
        "private_group" => (positive(chat.id)?.checked_neg()?, ChannelType::Group),
        "private_channel" | "public_channel" => (prefixed(chat.id)?, ChannelType::Feed),
        _ => (prefixed(chat.id)?, ChannelType::Group),
    })
}

/// The Bot API's id of a supergroup or channel.
fn prefixed(id: i64) -> Option<i64> {
    CHANNEL.checked_sub(positive(id)?)
}

/// An export's ids of groups and channels are positive; the Bot API negates them.
fn positive(id: i64) -> Option<i64> {
    (id > 0).then_some(id)
}

/// A message; `None` for a service message and one without text.
///
/// # Errors
/// What cannot be read.
fn read_message(
    chat: &Chat,
    remote: i64,
    kind: ChannelType,
    value: &Value,
) -> Result<Option<Incoming>, String> {
    let field = |name: &str| value.get(name).unwrap_or(&Value::Null);
    match field("type").as_str() {
        Some("message") => {}
        Some(_) => return Ok(None),
        None => return Err("it has no `type`".to_owned()),
    }
    if matches!(field("text"), Value::Object(_) | Value::Number(_) | Value::Bool(_)) {
        return Err("its `text` is neither a text nor a list of pieces".to_owned());
    }
    let text = plain(field("text"));
    if text.trim().is_empty() {
        return Ok(None);
    }
    let number = integer(field("id")).ok_or("its `id` is not a number")?;
    let seconds = integer(field("date_unixtime"))
        .or_else(|| export_time::seconds(field("date").as_str()?))
        .ok_or("it has no readable time in `date_unixtime` or `date`")?;
    let id = |number: i64| match i32::try_from(number) {
        Ok(number) if remote < CHANNEL => message_id(remote, number),
        _ => RemoteId::new(format!("export:{remote}:{number}")),
    };
    // Deleted accounts have none, and count as the chat.
    let author = sender(field("from_id")).unwrap_or(remote);
    let name = field("from").as_str().map(str::to_owned);
    Ok(Some(Incoming {
        connection: Connection {
            world: WorldRef::new(RemoteId::new(remote), chat.name.clone()),
            room: RoomRef::new(room_id(remote, None), chat.name.clone(), kind),
            entity: Some(EntityRef::new(RemoteId::new(author), name, None)),
        },
        event: IncomingEvent::Message(IncomingMessage {
            id: id(number),
            legacy_id: None,
            content: Content::text(text),
            addressed: Addressed::default(),
            reply_to: integer(field("reply_to_message_id")).map(id),
            command: None,
            from_self: false,
        }),
        at: Timestamp(seconds.saturating_mul(1000)),
    }))
}

/// A number, or a text that is one.
fn integer(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}

/// The Bot API's id of a sender: `user123` or `channel123`. Exports of before 2021 have a number, in
/// which the bits above the 32nd say what it is, and 0 or 1 is a person.
fn sender(from: &Value) -> Option<i64> {
    let known = match from {
        Value::Number(number) => {
            number.as_i64().filter(|n| matches!(n >> 32, 0 | 1)).map(|n| n & 0xffff_ffff)
        }
        from => from.as_str().and_then(|from| {
            let number = |text: &str| text.parse::<i64>().ok();
            from.strip_prefix("user")
                .and_then(number)
                .or_else(|| from.strip_prefix("channel").and_then(number).and_then(prefixed))
        }),
    };
    known.filter(|id| *id != 0)
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
        let (found, skipped) = read_export(&export).unwrap();
        assert_eq!(skipped, ["message number 4 of chat 1234: it has no `type`"]);
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
        assert_eq!(ids(&read_export(&export).unwrap().0), ["export:7:4", "export:-9:4"]);
    }

    #[test]
    fn ids_out_of_range_are_named() {
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
        let (found, skipped) = read_export(&json!({ "chats": { "list": chats } })).unwrap();
        assert_eq!(skipped.len(), 4, "{skipped:?}");
        assert_eq!(ids(&found), ["export:7:4"]);
        let author = found[0].connection.entity.as_ref().unwrap();
        assert_eq!(author.remote.as_str(), "7", "as for a deleted account");
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let without = |name: &str| {
            let mut message = message(4, json!("hi"));
            message["date"] = json!("soon");
            message[name] = json!("x");
            message
        };
        let export = json!({ "type": "personal_chat", "id": 7, "messages": [
            without("date_unixtime"), without("id"), without("from_id"), message(9, json!({ "x": 1 })) ] });
        let (found, skipped) = read_export(&export).unwrap();
        assert_eq!(found.len(), 1);
        assert!(
            skipped[0].starts_with("message 4 of chat 7: it has no readable time"),
            "{skipped:?}"
        );
        assert!(skipped[1].contains("`id` is not a number"), "{skipped:?}");
        assert!(skipped[2].contains("`text` is neither"), "{skipped:?}");
        let (_, skipped) = read_export(&json!({ "chats": { "list": [{ "id": 7 }] } })).unwrap();
        assert!(skipped[0].starts_with("chat 1 of the list: missing field"), "{skipped:?}");
    }

    #[test]
    fn a_chat_with_the_agent_has_the_persons_id() {
        let by = |id: i64, from: i64| {
            let mut message = message(id, json!("hi"));
            message["from_id"] = json!(format!("user{from}"));
            message
        };
        let chat = |messages: Value| json!({ "name": "Eliza", "type": "bot_chat", "id": 555, "messages": messages });
        let both = chat(json!([by(4, 555), by(5, 7)]));
        let (found, skipped) = read_export(&both).unwrap();
        assert!(skipped.is_empty(), "{skipped:?}");
        let rooms: Vec<_> =
            found.iter().map(|one| one.connection.room.remote.to_string()).collect();
        assert_eq!(rooms, ["7", "7"], "as the bot knows it");
        let author = found[0].connection.entity.as_ref().unwrap();
        assert_eq!(author.remote.as_str(), "555");
        let (found, skipped) = read_export(&chat(json!([by(4, 555)]))).unwrap();
        assert!(found.is_empty() && skipped[0].contains("only the bot wrote"), "{skipped:?}");
        let (found, skipped) = read_export(&json!({ "chats": { "list": [both] } })).unwrap();
        assert!(found.is_empty() && skipped[0].contains("by itself"), "{skipped:?}");
    }

    #[test]
    fn chats_that_were_left_are_read() {
        let chat = |id: i64| json!({ "type": "private_group", "id": id, "messages": [message(4, json!("hi"))] });
        let list = |id: i64| json!({ "list": [chat(id)] });
        for (export, expected) in [
            (
                json!({ "chats": list(8), "left_chats": list(9) }),
                vec!["export:-8:4", "export:-9:4"],
            ),
            (json!({ "left_chats": list(9) }), vec!["export:-9:4"]),
        ] {
            assert_eq!(ids(&read_export(&export).unwrap().0), expected);
        }
    }

    #[test]
    fn exports_of_before_2021_are_read() {
        let old = |id: Value, from: Value| json!({ "id": id, "type": "message", "date": "2020-01-02T03:04:05", "from": "Ann", "from_id": from, "text": "hi" });
        let export = json!({ "type": "private_supergroup", "id": 1234, "messages": [
            old(json!(1), json!(7)), old(json!("2"), json!(4_294_967_303_i64)), old(json!(3), json!(8_589_934_599_i64)) ] });
        let (found, skipped) = read_export(&export).unwrap();
        assert!(skipped.is_empty(), "{skipped:?}");
        assert_eq!(ids(&found), ["-1000000001234:1", "-1000000001234:2", "-1000000001234:3"]);
        assert_eq!(found[0].at, Timestamp(1_577_934_245_000));
        let authors: Vec<_> = found
            .iter()
            .map(|one| one.connection.entity.as_ref().unwrap().remote.to_string())
            .collect();
        assert_eq!(authors, ["7", "7", "-1000000001234"], "the last is no person");
    }

    #[test]
    fn other_files_are_none() {
        for other in [json!([]), json!({ "messages": [] }), json!({ "guild": {}, "messages": [] })]
        {
            assert!(read_export(&other).is_none(), "{other}");
        }
    }
}
