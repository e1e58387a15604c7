//! Turns a line of the event stream into an `Incoming`. Pure. Every line is hostile.

use galatea_core::{
    Addressed, ChannelType, Command, Connection, Content, EntityRef, Incoming, IncomingEvent,
    IncomingMessage, RemoteId, Result, RoomRef, Timestamp, WorldRef,
};
use serde::Deserialize;
use serde_json::Value;

use crate::{PREFIX, SOURCE, error};

/// An event as the server writes it. Fields that the connector does not need are skipped.
#[derive(Debug, Deserialize)]
struct Event {
    /// Milliseconds since the Unix epoch.
    time: i64,
    room: Room,
    from: Person,
    message: Message,
}

#[derive(Debug, Deserialize)]
struct Room {
    id: u64,
    kind: Kind,
    name: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Direct,
    Group,
}

#[derive(Debug, Deserialize)]
struct Person {
    id: u64,
    name: String,
    #[serde(default)]
    bot: bool,
}

#[derive(Debug, Deserialize)]
struct Message {
    id: u64,
    text: String,
    /// Accounts that are mentioned.
    #[serde(default)]
    mentions: Vec<u64>,
    reply_to: Option<Target>,
}

#[derive(Debug, Deserialize)]
struct Target {
    id: u64,
    /// Who wrote the message that is replied to.
    from: u64,
}

/// The id of a room, person or message in the form the runtime gets it.
pub(crate) fn remote(id: u64) -> RemoteId {
    RemoteId::new(format_args!("{PREFIX}{id}"))
}

/// The platform's number of an id that [`remote`] made.
pub(crate) fn number(id: &RemoteId) -> Result<u64> {
    id.as_str()
        .strip_prefix(PREFIX)
        .and_then(|digits| digits.parse().ok())
        .ok_or_else(error::foreign_id)
}

/// The message of a link as people copy it: `parrot:ROOM/MESSAGE`.
pub fn parse_link(link: &str) -> Option<(Option<RemoteId>, RemoteId)> {
    let (room, message) = link.trim().strip_prefix("parrot:")?.split_once('/')?;
    Some((Some(remote(room.parse().ok()?)), remote(message.parse().ok()?)))
}

/// The number of a line in the stream, and its event; none for an event of a kind we do not know,
/// which must not stop those behind it.
///
/// # Errors
/// `Unavailable` when the line has no number: then the position in the stream is unknown.
pub(crate) fn decode(line: &str, me: u64) -> Result<(u64, Option<Incoming>)> {
    let value: Value = serde_json::from_str(line).map_err(|_| error::unreadable())?;
    let seq = value["seq"].as_u64().ok_or_else(error::unreadable)?;
    let event: Option<Event> = serde_json::from_value(value).ok();
    Ok((seq, event.map(|event| incoming(event, me))))
}

fn incoming(event: Event, me: u64) -> Incoming {
    let Event { time, room, from, message } = event;
    let addressed = Addressed {
        mention: message.mentions.contains(&me),
        reply: message.reply_to.as_ref().is_some_and(|target| target.from == me),
    };
    let direct = matches!(room.kind, Kind::Direct);
    let event = IncomingEvent::Message(IncomingMessage {
        id: remote(message.id),
        legacy_id: None,
        command: command(&message.text).filter(|_| direct || addressed.mention),
        content: Content { source: Some(SOURCE.to_string()), ..Content::text(message.text) },
        addressed,
        reply_to: message.reply_to.map(|target| remote(target.id)),
        from_self: from.id == me,
    });
    let connection = Connection {
        // The platform has no servers or workspaces, so a room is its own World.
        world: WorldRef::new(remote(room.id), room.name.clone()),
        room: RoomRef::new(
            remote(room.id),
            room.name,
            if direct { ChannelType::Dm } else { ChannelType::Group },
        ),
        entity: Some(EntityRef {
            is_bot: from.bot,
            ..EntityRef::new(remote(from.id), Some(from.name), None)
        }),
    };
    Incoming { connection, event, at: Timestamp(time) }
}

/// `/name the rest`.
fn command(text: &str) -> Option<Command> {
    let line = text.trim().strip_prefix('/')?;
    let (name, args) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let plain = !name.is_empty()
        && name.len() <= 32
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    plain.then(|| Command { name: name.to_ascii_lowercase(), args: args.trim().to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"seq":4,"time":1760000000000,"room":{"id":3,"kind":"group","name":"Band"},"from":{"id":9,"name":"Ann"},
        "message":{"id":12,"text":"/help me","mentions":[7],"reply_to":{"id":11,"from":7}},"new":true}"#;

    #[test]
    fn a_message_is_read() {
        let (seq, incoming) = decode(LINE, 7).unwrap();
        let incoming = incoming.unwrap();
        let IncomingEvent::Message(message) = incoming.event else { panic!("a message") };
        assert_eq!((seq, number(&message.id).unwrap()), (4, 12));
        assert_eq!(message.addressed, Addressed { mention: true, reply: true });
        assert_eq!(message.command.unwrap().args, "me");
        assert_eq!(incoming.connection.room.kind, ChannelType::Group);
    }

    #[test]
    fn an_unknown_event_keeps_its_number_and_garbage_is_refused() {
        assert!(matches!(decode(r#"{"seq":5,"dance":true}"#, 7), Ok((5, None))));
        for line in ["", "7", "<html>", r#"{"seq":-1}"#, r#"{"message":{}}"#] {
            assert!(decode(line, 7).is_err(), "{line}");
        }
    }

    #[test]
    fn links_name_room_and_message() {
        assert_eq!(parse_link(" parrot:3/12 "), Some((Some(remote(3)), remote(12))));
        assert_eq!(parse_link("https://example.org/3/12"), None);
    }
}
