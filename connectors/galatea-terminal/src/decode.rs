//! Decodes a client's `say` into [`Incoming`]. Pure.

use galatea_core::{
    Addressed, ChannelType, Command, Connection, Content, EntityRef, Incoming, IncomingEvent,
    IncomingMessage, RemoteId, Result, Role, RoomRef, Timestamp, WorldRef,
};
use serde_json::Map;

use crate::error;

/// Longest client name, in code points.
pub const MAX_NAME: usize = 64;
/// Longest text in either direction, in code points: far more than a person types, and small enough
/// to hold many of in memory.
pub const MAX_TEXT: usize = 100_000;
/// Longest id of a `say`, in bytes; a UUID has 36.
const MAX_ID: usize = 64;

/// World of all terminals on this machine.
const WORLD: &str = "terminal";
/// Prefix of this connector's ids. Ids are hashed without the platform's name, so a bare client
/// name such as `1234` could collide with another platform's id.
const PREFIX: &str = "terminal-";

/// Checks a client name.
///
/// # Errors
/// `Invalid` when it is empty, longer than [`MAX_NAME`], or holds a control character or a slash.
pub fn check_name(name: &str) -> Result<()> {
    let usable = !name.trim().is_empty()
        && name.chars().count() <= MAX_NAME
        && !name.chars().any(|c| c.is_control() || c == '/');
    if usable { Ok(()) } else { Err(error::bad_name()) }
}

/// Room id of a client name.
pub(crate) fn room_of(name: &str) -> RemoteId {
    RemoteId::new(format_args!("{PREFIX}{name}"))
}

/// Client name of a room id.
pub(crate) fn name_of(room: &RemoteId) -> Result<&str> {
    room.as_str()
        .strip_prefix(PREFIX)
        .filter(|name| check_name(name).is_ok())
        .ok_or_else(error::foreign_room)
}

/// Id of a message in a client's room, sent or received.
pub(crate) fn message_of(name: &str, id: &str) -> RemoteId {
    RemoteId::new(format_args!("{PREFIX}{name}/{id}"))
}

/// Decodes a `say`. The name was checked when the client connected.
pub(crate) fn decode(name: &str, id: &str, text: &str, at: Timestamp) -> Result<Incoming> {
    if id.is_empty()
        || id.len() > MAX_ID
        || !id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
    {
        return Err(error::bad_say(
            "an id must have 1 to 64 letters, digits, dots, dashes or underscores",
        ));
    }
    if text.trim().is_empty() {
        return Err(error::bad_say("there is nothing in the text"));
    }
    if text.chars().count() > MAX_TEXT {
        return Err(error::bad_say("the text is longer than 100000 characters"));
    }
    Ok(Incoming {
        connection: connection(name),
        event: IncomingEvent::Message(IncomingMessage {
            id: message_of(name, id),
            legacy_id: None,
            content: Content {
                source: Some(crate::SOURCE.as_str().to_owned()),
                ..Content::text(text)
            },
            addressed: Addressed::default(),
            reply_to: None,
            command: command(text),
            from_self: false,
        }),
        at,
    })
}

/// A process that can open the socket runs as Galatea's user, so its person is an owner.
fn connection(name: &str) -> Connection {
    let who = room_of(name);
    Connection {
        world: WorldRef {
            roles: vec![(who.clone(), Role::Owner)],
            ..WorldRef::new(RemoteId::new(WORLD), Some("Terminal".to_owned()))
        },
        room: RoomRef::new(who.clone(), Some(format!("Terminal of {name}")), ChannelType::Dm),
        entity: Some(EntityRef {
            metadata: Map::new(),
            ..EntityRef::new(who, Some(name.to_owned()), Some(name.to_owned()))
        }),
    }
}

/// Parses `/name the rest`. A name has letters, digits and underscores, as on the other platforms;
/// a path such as `/etc/hosts` is not a command.
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

    fn message(text: &str) -> IncomingMessage {
        match decode("maria", "a-1", text, Timestamp(7)).unwrap().event {
            IncomingEvent::Message(message) => message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_say_becomes_a_direct_message_in_the_clients_own_room() {
        let incoming = decode("maria", "a-1", "hello", Timestamp(7)).unwrap();
        assert_eq!(incoming.at, Timestamp(7));
        assert_eq!(incoming.connection.room.remote.as_str(), "terminal-maria");
        assert_eq!(incoming.connection.room.kind, ChannelType::Dm);
        assert_eq!(
            incoming.connection.world.roles,
            [(RemoteId::new("terminal-maria"), Role::Owner)]
        );
        let message = message("hello");
        assert_eq!(message.id.as_str(), "terminal-maria/a-1");
        assert_eq!(message.content.text, "hello");
        assert_eq!(message.command, None);
    }

    #[test]
    fn rooms_lead_back_to_their_client() {
        assert_eq!(name_of(&room_of("maria")).unwrap(), "maria");
        assert_eq!(name_of(&RemoteId::new("-100123")).unwrap_err().code(), Some("GAL-TERM-ROOM"));
    }

    #[test]
    fn commands_are_distinguished_from_paths() {
        assert_eq!(
            message("/Mute 2 hours ").command,
            Some(Command { name: "mute".into(), args: "2 hours".into() })
        );
        assert_eq!(message("/etc/hosts is broken").command, None);
        assert_eq!(message("/ hm").command, None);
    }

    #[test]
    fn hostile_names_ids_and_texts_are_refused() {
        for name in ["", "  ", "a/b", "a\u{1b}[2J", "a\nb", &"x".repeat(65)] {
            assert_eq!(check_name(name).unwrap_err().code(), Some("GAL-TERM-NAME"), "{name:?}");
        }
        check_name("María 1").unwrap();
        for (id, text) in [
            ("", "x"),
            ("a/b", "x"),
            ("ä", "x"),
            (&*"1".repeat(65), "x"),
            ("1", " \n"),
            ("1", &*"é".repeat(MAX_TEXT + 1)),
        ] {
            assert_eq!(
                decode("maria", id, text, Timestamp(0)).unwrap_err().code(),
                Some("GAL-TERM-SAY"),
                "{id:?}"
            );
        }
        decode("maria", "1", &"é".repeat(MAX_TEXT), Timestamp(0)).unwrap();
    }
}
