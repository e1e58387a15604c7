//! Turns a line of the server into what it says. Pure. Every line is hostile.

use galatea_core::{
    Addressed, ChannelType, Connection, Content, EntityRef, Incoming, IncomingEvent,
    IncomingMessage, RemoteId, RoomRef, Timestamp, WorldRef,
};

use super::SOURCE;

/// What a line says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Said<'a> {
    /// `hello NAME`: the login was accepted.
    Hello,
    /// `no REASON`: it was not.
    No(&'a str),
    /// `ping WORD`: to be answered with the same word.
    Ping(&'a str),
    /// `said ROOM PERSON TEXT`; a direct message has the person as its room.
    Message { room: &'a str, person: &'a str, text: &'a str },
    /// A line of an unknown kind: skipped.
    Other,
}

/// Reads a line without its end.
pub(crate) fn line(line: &str) -> Said<'_> {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    match word {
        "hello" => Said::Hello,
        "no" => Said::No(rest),
        "ping" => Said::Ping(rest),
        "said" => {
            let mut parts = rest.splitn(3, ' ');
            match (parts.next(), parts.next(), parts.next()) {
                (Some(room), Some(person), Some(text))
                    if !room.is_empty() && !person.is_empty() =>
                {
                    Said::Message { room, person, text }
                }
                _ => Said::Other,
            }
        }
        _ => Said::Other,
    }
}

/// The id of the `n`th message of the connection that was made at this moment. The platform gives
/// none, so one is made that can never meet another: no two connections of an account are made in
/// the same millisecond, since the first has to fail before the second is tried.
pub(crate) fn made(connected: Timestamp, n: u64) -> RemoteId {
    RemoteId::new(format_args!("wren-{}-{n}", connected.0))
}

/// The event of a message. The platform marks no mentions, so only the usual form counts: the name,
/// then a colon or a comma.
pub(crate) fn incoming(
    id: RemoteId,
    at: Timestamp,
    me: &str,
    (room, person, text): (&str, &str, &str),
) -> Incoming {
    let direct = room == person;
    let place = RemoteId::new(format_args!("wren-{room}"));
    let mention = text.strip_prefix(me).is_some_and(|rest| rest.starts_with([':', ',']));
    let event = IncomingEvent::Message(IncomingMessage {
        id,
        legacy_id: None,
        content: Content { source: Some(SOURCE.to_string()), ..Content::text(text) },
        addressed: Addressed { mention, reply: false },
        reply_to: None,
        command: None,
        from_self: person == me,
    });
    let connection = Connection {
        world: WorldRef::new(place.clone(), Some(room.to_owned())),
        room: RoomRef::new(
            place,
            Some(room.to_owned()),
            if direct { ChannelType::Dm } else { ChannelType::Group },
        ),
        entity: Some(EntityRef::new(
            RemoteId::new(format_args!("wren-{person}")),
            Some(person.to_owned()),
            Some(person.to_owned()),
        )),
    };
    Incoming { connection, event, at }
}
