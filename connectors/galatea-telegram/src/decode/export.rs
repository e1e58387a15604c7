//! Reads the JSON export of Telegram Desktop (`result.json`): one chat, or all chats.
//!
//! Its ids of chats are without the Bot API's prefix. Only in supergroups and channels do bots and
//! people count messages alike, so only there a message gets the id under which a bot receives it.

mod content;
mod time;
mod topics;

use galatea_core::{
    Addressed, Archive, ChannelType, Connection, EntityRef, Incoming, IncomingEvent,
    IncomingMessage, RemoteId, Timestamp, WorldRef,
};
use serde::Deserialize;
use serde_json::Value;

use super::{connection::KnownForum, place::message_id};
use number::integer;
use topics::Topics;

/// Prefix that the Bot API puts in front of the ids of supergroups and channels
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

/// The messages of an export, and what is not stored of it; `None` for any other JSON.
pub fn read_export(export: &Value) -> Option<Archive> {
    let mut archive = Archive::default();
    // A full export has the chats that its owner left in a list of their own.
    let lists = ["chats", "left_chats"].map(|key| export.get(key).and_then(|all| all.get("list")));
    if lists.iter().all(Option::is_none) {
        let (chat, values) = Chat::of(export).ok()?;
        read_chat(&chat, values, &mut archive);
        return Some(archive);
    }
    for list in lists.into_iter().flatten() {
        for (n, value) in list.as_array()?.iter().enumerate() {
            match Chat::of(value) {
                // The agent's own one of them is unknown, and all of them would be one Room.
                Ok((chat, _)) if chat.kind == BOT_CHAT => archive.skipped.push(format!(
                    "chat {} is with a bot: if it is this agent, export that chat by itself",
                    chat.id
                )),
                Ok((chat, values)) => read_chat(&chat, values, &mut archive),
                Err(error) => archive.skipped.push(format!("chat {} of the list: {error}", n + 1)),
            }
        }
    }
    Some(archive)
}

/// Adds the messages of a chat.
fn read_chat(chat: &Chat, values: &[Value], archive: &mut Archive) {
    let Some((remote, kind)) = place(chat, values) else {
        let cause = match chat.kind.as_str() {
            BOT_CHAT => "only the bot wrote in it",
            _ => "a bot cannot have this id",
        };
        archive.skipped.push(format!("chat {}: {cause}", chat.id));
        return;
    };
    // Only supergroups have topics, and only there are an export's numbers those of bots.
    let topics = if remote < CHANNEL { Topics::of(values) } else { Topics::default() };
    let room = KnownForum {
        id: remote,
        kind,
        name: chat.name.clone(),
        user_name: None,
        is_forum: topics.are_used(),
    };
    for (n, value) in values.iter().enumerate() {
        match read_message(&room, &topics, value) {
            Ok(ExportEntry::Message(message)) => archive.messages.push(*message),
            Ok(ExportEntry::LeftOut(what)) => archive.leave_out(what),
            Err(cause) => {
                let id =
                    value.get("id").map_or_else(|| format!("number {}", n + 1), Value::to_string);
                archive.skipped.push(format!("message {id} of chat {}: {cause}", chat.id));
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

/// Kind of a chat's entry.
enum ExportEntry {
    Message(Box<Incoming>),
    /// The connector does not store such an entry either.
    LeftOut(&'static str),
}

/// Reads an entry of a chat.
///
/// # Errors
/// What cannot be read.
fn read_message(
    chat: &KnownForum<'_>,
    topics: &Topics,
    value: &Value,
) -> Result<ExportEntry, String> {
    let field = |name: &str| value.get(name).unwrap_or(&Value::Null);
    match field("type").as_str() {
        Some("message") => {}
        Some("service") => return Ok(ExportEntry::LeftOut("service messages")),
        Some(_) => return Ok(ExportEntry::LeftOut("messages that Telegram Desktop cannot export")),
        None => return Err("it has no `type`".to_owned()),
    }
    if matches!(field("text"), Value::Object(_) | Value::Number(_) | Value::Bool(_)) {
        return Err("its `text` is neither a text nor a list of pieces".to_owned());
    }
    let content = content::read(value);
    if content.is_empty() {
        return Ok(ExportEntry::LeftOut("messages without content"));
    }
    let number = integer(field("id")).ok_or("its `id` is not a number")?;
    let seconds = integer(field("date_unixtime"))
        .or_else(|| time::seconds(field("date").as_str()?))
        .ok_or("it has no readable time in `date_unixtime` or `date`")?;
    let remote = chat.id;
    let id = |number: i64| match i32::try_from(number) {
        Ok(number) if remote < CHANNEL => message_id(remote, number),
        _ => RemoteId::new(format!("export:{remote}:{number}")),
    };
    // Deleted accounts have none, and count as the chat.
    let author = sender(field("from_id")).unwrap_or(remote);
    let name = field("from").as_str().map(str::to_owned);
    let thread = topics.thread(number);
    let mut room = chat.clone().room(thread);
    if let Some(topic) = thread.and_then(|thread| topics.name(thread)) {
        room.name = Some(topic.to_owned());
    }
    // A message that begins a line of thought in a topic replies to the topic's first message.
    let root = thread.map(i64::from);
    let reply_to = topics::replied(value).filter(|to| Some(*to) != root).map(id);
    Ok(ExportEntry::Message(Box::new(Incoming {
        connection: Connection {
            world: WorldRef::new(RemoteId::new(remote), chat.name.clone()),
            room,
            entity: Some(EntityRef::new(RemoteId::new(author), name, None)),
        },
        event: IncomingEvent::Message(IncomingMessage {
            id: id(number),
            // elizaOS's id, as of a message that is received.
            legacy_id: (remote < CHANNEL).then(|| RemoteId::new(number)),
            content,
            addressed: Addressed::default(),
            reply_to,
            command: None,
            from_self: false,
        }),
        at: Timestamp(seconds.saturating_mul(1000)),
    })))
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

mod number;
#[cfg(test)]
mod tests;
