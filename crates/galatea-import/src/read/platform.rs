//! The messages of a platform's export, as its connector read them.

use galatea_core::{Archive, Incoming, IncomingEvent, Timestamp};

use crate::{
    Count,
    moment::check,
    seen::{Found, Seen},
};

/// The messages with different ids and possible times. A message that comes again as it is counts as
/// read; another one with the id of an earlier one is left out.
pub(crate) fn unique(archive: Archive, now: Timestamp) -> (Vec<Incoming>, Count) {
    let Archive { mut messages, skipped, left_out } = archive;
    let mut count = Count { left_out, ..Count::default() };
    skipped.iter().for_each(|what| count.skipped.add(what));
    let mut seen = Seen::new();
    messages.retain(|incoming| {
        let IncomingEvent::Message(message) = &incoming.event else { return true };
        if let Err(cause) = check(incoming.at, now) {
            count.skipped.add(&format!("message {}: {cause}", message.id));
            return false;
        }
        let room = &incoming.connection.room.remote;
        let author = incoming.connection.entity.as_ref().map(|entity| entity.remote.clone());
        let files: Vec<_> = message.content.attachments.iter().map(|file| &file.title).collect();
        let content = (&message.content.text, files, incoming.at, author);
        match seen.add((room.clone(), message.id.clone()), (), content) {
            Found::New => count.read += 1,
            Found::Same => {
                count.read += 1;
                return false;
            }
            Found::Taken(()) => {
                let what = format!("message {}: another message has this id", message.id);
                count.skipped.add(&what);
                return false;
            }
        }
        true
    });
    (messages, count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_core::{
        Addressed, ChannelType, Connection, Content, EntityRef, IncomingMessage, RemoteId, RoomRef,
        WorldRef,
    };

    const NOW: Timestamp = Timestamp(1_800_000_000_000);

    /// Messages of one chat: ids, times in milliseconds, and texts.
    fn chat(messages: &[(i64, i64, &str)]) -> Archive {
        let place = || RemoteId::new("7");
        let message = |(id, at, text): &(i64, i64, &str)| Incoming {
            connection: Connection {
                world: WorldRef::new(place(), None),
                room: RoomRef::new(place(), None, ChannelType::Dm),
                entity: Some(EntityRef::new(place(), None, None)),
            },
            event: IncomingEvent::Message(IncomingMessage {
                id: RemoteId::new(format!("export:7:{id}")),
                legacy_id: None,
                content: Content::text(*text),
                addressed: Addressed::default(),
                reply_to: None,
                command: None,
                from_self: false,
            }),
            at: Timestamp(*at),
        };
        Archive { messages: messages.iter().map(message).collect(), ..Archive::default() }
    }

    #[test]
    fn a_message_that_comes_twice_is_counted_and_another_of_its_id_named() {
        const AT: i64 = 1_700_000_000_000;
        let export = chat(&[(1, AT, "ha"), (1, AT, "ha"), (1, AT + 1, "ho"), (2, AT + 2, "hi")]);
        let (messages, count) = unique(export, NOW);
        assert_eq!((messages.len(), count.read, count.skipped.count()), (2, 3, 1));
        assert!(count.skipped.first()[0].contains("export:7:1"), "{:?}", count.skipped);
    }

    #[test]
    fn a_message_with_an_impossible_time_is_named() {
        let times = [1_700_000_000_000, i64::MAX, 1_700_000_000_000_000, 5, 1_900_000_000_000];
        let messages: Vec<_> = (1..).zip(times).map(|(id, at)| (id, at, "ha")).collect();
        let (messages, count) = unique(chat(&messages), NOW);
        assert_eq!((messages.len(), count.read, count.skipped.count()), (1, 1, 4));
        let named = count.skipped.first().join("\n");
        for cause in ["export:7:2: its time is", "in the future", "another one", "before 1990"] {
            assert!(named.contains(cause), "{cause}: {named}");
        }
    }
}
