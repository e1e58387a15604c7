//! Decodes a message of the server into [`Incoming`], with its bounds. Pure.

use galatea_core::{
    Addressed, ChannelType, Command, Connection, Content, EntityRef, Incoming, IncomingEvent,
    IncomingMessage, Media, MemoryId, RemoteId, Result, Role, RoomRef, Timestamp, WorldRef,
};
use serde_json::{Map, Value};

use crate::error;

/// Longest text in either direction, in code points: far more than a person types.
pub const MAX_TEXT: usize = 100_000;
/// Longest id of a channel, a person or a message, in bytes; a UUID has 36.
pub const MAX_ID: usize = 128;
/// Longest name of a channel or a person, in code points; longer ones are cut.
pub const MAX_NAME: usize = 120;
/// Most files of a message.
pub const MAX_FILES: usize = 4;
/// Most bytes of the files of a message, as they are written in `data:` addresses. They are stored with
/// the message.
pub const MAX_FILES_BYTES: usize = 4 * 1024 * 1024 / 3 * 4 + 1024;
/// Key of a Room's metadata: ids of the agents that share the channel, where they are several.
pub const AGENTS: &str = "agents";

/// World of all channels without another.
const WORLD: &str = "web";
/// World of all visitors.
const VISITORS: &str = "web-visitors";
// Prefixes of this connector's ids. Ids are hashed without the platform's name, so a bare id could collide
// with another platform's.
const SERVER: &str = "web-server/";
const ROOM: &str = "web-room/";
const PERSON: &str = "web/";

/// A person, or a program that speaks for one.
#[derive(Debug, Clone, PartialEq)]
pub struct Speaker {
    /// Stable id.
    pub id: String,
    /// The name that agents know them by.
    pub name: Option<String>,
    /// Rights over the agent; none for everybody else.
    pub role: Option<Role>,
    /// It is a program that talks by itself, such as another agent.
    pub bot: bool,
    /// Free keys, merged into those known.
    pub metadata: Map<String, Value>,
}

impl Speaker {
    /// A person without rights over the agent.
    pub fn new(id: impl Into<String>, name: Option<String>) -> Self {
        Self { id: id.into(), name, role: None, bot: false, metadata: Map::new() }
    }
}

/// A place of conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Channel {
    /// Stable id.
    pub id: String,
    /// The name that people see.
    pub name: Option<String>,
    /// One person with one agent ([`ChannelType::Dm`]), or several ([`ChannelType::Group`]).
    pub kind: ChannelType,
    /// elizaOS's message server, which is a World; none is the one World of the web.
    pub server: Option<String>,
    /// Free keys, merged into those known.
    pub metadata: Map<String, Value>,
}

impl Channel {
    /// A channel of the web's World.
    pub fn new(id: impl Into<String>, kind: ChannelType) -> Self {
        Self { id: id.into(), name: None, kind, server: None, metadata: Map::new() }
    }
}

/// A message that the server took in for one agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    /// The speaker.
    pub person: Speaker,
    /// The place.
    pub channel: Channel,
    /// Id of the message within the channel: said again with the same one, it is stored once.
    pub id: String,
    /// The words.
    pub text: String,
    /// Files, each an address of `https:` or `data:`.
    pub attachments: Vec<Media>,
    /// The message that it answers.
    pub in_reply_to: Option<MemoryId>,
    /// It is meant for this agent. In a channel of two every message is.
    pub mention: bool,
    /// An anonymous visitor of another page says it: the limits of strangers hold.
    pub visitor: bool,
    /// elizaOS's `content.source`, such as `client_chat`; `web` otherwise.
    pub source: Option<String>,
    /// Anything else that is kept with the content.
    pub extra: Map<String, Value>,
}

impl Said {
    /// Words of a person in a channel, meant for the agent.
    pub fn new(
        person: Speaker,
        channel: Channel,
        id: impl Into<String>,
        text: impl Into<String>,
    ) -> Self {
        Self {
            person,
            channel,
            id: id.into(),
            text: text.into(),
            attachments: Vec::new(),
            in_reply_to: None,
            mention: true,
            visitor: false,
            source: None,
            extra: Map::new(),
        }
    }
}

impl Said {
    /// The platform that it is said on.
    pub fn platform(&self) -> galatea_core::Source {
        if self.visitor { crate::VISITORS } else { crate::SOURCE }
    }
}

/// Platform id of a channel.
pub fn room_id(channel: &str) -> RemoteId {
    RemoteId::new(format_args!("{ROOM}{channel}"))
}

/// The channel of a platform id; none for a Room of another connector.
pub fn channel_of(room: &RemoteId) -> Option<&str> {
    room.as_str().strip_prefix(ROOM)
}

/// Platform id of a person.
pub fn person_id(person: &str) -> RemoteId {
    RemoteId::new(format_args!("{PERSON}{person}"))
}

/// Platform id of a message.
pub fn message_id(channel: &str, message: &str) -> RemoteId {
    RemoteId::new(format_args!("{ROOM}{channel}/{message}"))
}

/// Checks an id; `what` names it for people.
///
/// # Errors
/// `Invalid` for one that is empty, too long, or has other characters.
pub fn check_id(what: &'static str, id: &str) -> Result<()> {
    let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b':' | b'@');
    if id.is_empty() || id.len() > MAX_ID || !id.bytes().all(fits) {
        return Err(error::bad_id(what));
    }
    Ok(())
}

/// Decodes a message.
///
/// # Errors
/// `Invalid` for ids and texts out of bounds, `TooLong` for files.
pub fn decode(said: &Said, at: Timestamp) -> Result<Incoming> {
    let Said { person, channel, .. } = said;
    check_id("the id of a person", &person.id)?;
    check_id("the id of a channel", &channel.id)?;
    check_id("the id of a message", &said.id)?;
    if let Some(server) = &channel.server {
        check_id("the id of a server", server)?;
    }
    check_files(&said.attachments)?;
    if said.text.trim().is_empty() && said.attachments.is_empty() {
        return Err(error::bad("there is nothing in the message"));
    }
    if said.text.chars().count() > MAX_TEXT {
        return Err(error::bad("the text is longer than 100000 characters"));
    }
    let content = Content {
        source: Some(said.source.clone().unwrap_or_else(|| said.platform().as_str().to_owned())),
        attachments: said.attachments.clone(),
        in_reply_to: said.in_reply_to,
        extra: said.extra.clone(),
        ..Content::text(&said.text)
    };
    let mention = said.mention && !channel.kind.is_direct();
    Ok(Incoming {
        connection: connection(person, channel, said.visitor),
        event: IncomingEvent::Message(IncomingMessage {
            id: message_id(&channel.id, &said.id),
            legacy_id: None,
            content,
            addressed: Addressed { mention, reply: false },
            reply_to: None,
            command: if person.bot { None } else { command(&said.text) },
            from_self: false,
        }),
        at,
    })
}

fn check_files(files: &[Media]) -> Result<()> {
    let bytes: usize = files.iter().map(|file| file.url.len()).sum();
    if files.len() > MAX_FILES || bytes > MAX_FILES_BYTES {
        return Err(error::too_large());
    }
    let known = |url: &str| url.starts_with("data:") || url.starts_with("https://");
    if !files.iter().all(|file| known(&file.url)) {
        return Err(error::bad("a file needs an address of https: or data:"));
    }
    Ok(())
}

fn connection(person: &Speaker, channel: &Channel, visitor: bool) -> Connection {
    let who = person_id(&person.id);
    let (world, name) = match &channel.server {
        _ if visitor => (RemoteId::new(VISITORS), Some("Visitors".to_owned())),
        Some(server) => (RemoteId::new(format_args!("{SERVER}{server}")), None),
        None => (RemoteId::new(WORLD), Some("Web".to_owned())),
    };
    let roles = person.role.map(|role| (who.clone(), role)).into_iter().collect();
    Connection {
        world: WorldRef { roles, ..WorldRef::new(world, name) },
        room: RoomRef {
            metadata: channel.metadata.clone(),
            ..RoomRef::new(room_id(&channel.id), channel.name.as_deref().map(short), channel.kind)
        },
        entity: Some(EntityRef {
            is_bot: person.bot,
            metadata: person.metadata.clone(),
            ..EntityRef::new(who, person.name.as_deref().map(short), None)
        }),
    }
}

/// A name as it is kept: one line of bounded length.
fn short(name: &str) -> String {
    let line = name.chars().map(|c| if c.is_control() { ' ' } else { c });
    line.take(MAX_NAME).collect()
}

/// Parses `/name the rest`. A name has letters, digits and underscores, as on the other platforms; a path
/// such as `/etc/hosts` is not a command.
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
    use galatea_core::ErrorKind;

    fn said(text: &str) -> Said {
        let channel = Channel::new("room-1", ChannelType::Group);
        Said::new(Speaker::new("ada", Some("Ada\u{7}".into())), channel, "m1", text)
    }

    fn message(said: &Said) -> (Incoming, IncomingMessage) {
        let incoming = decode(said, Timestamp(7)).unwrap();
        let IncomingEvent::Message(message) = incoming.event.clone() else { panic!() };
        (incoming, message)
    }

    #[test]
    fn a_message_keeps_its_place_its_speaker_and_its_words() {
        let (incoming, message) = message(&said("Hello."));
        assert_eq!(message.id.as_str(), "web-room/room-1/m1");
        assert_eq!(message.content.text, "Hello.");
        assert!(message.addressed.mention);
        let Connection { world, room, entity } = incoming.connection;
        assert_eq!((world.remote.as_str(), room.remote.as_str()), ("web", "web-room/room-1"));
        assert_eq!(channel_of(&room.remote), Some("room-1"));
        assert_eq!(entity.unwrap().name.as_deref(), Some("Ada "), "one line");
        assert!(world.roles.is_empty(), "nobody is an owner by chance");
    }

    #[test]
    fn between_two_nothing_has_to_be_addressed_and_a_command_is_one() {
        let mut said = said("/help me");
        said.channel.kind = ChannelType::Dm;
        said.person.role = Some(Role::Owner);
        let (incoming, message) = message(&said);
        assert!(!message.addressed.mention);
        assert_eq!(message.command, Some(Command { name: "help".into(), args: "me".into() }));
        assert_eq!(incoming.connection.world.roles.len(), 1);
        said.text = "/etc/hosts is a file".into();
        assert_eq!(super::tests::message(&said).1.command, None);
    }

    #[test]
    fn what_is_out_of_bounds_is_refused() {
        let refused = |change: &dyn Fn(&mut Said)| {
            let mut said = said("x");
            change(&mut said);
            decode(&said, Timestamp(0)).unwrap_err()
        };
        let file = |url: &str| Media { url: url.into(), ..Media::default() };
        assert_eq!(refused(&|s| s.text = " ".into()).code(), Some("GAL-WEB-SAY"));
        assert_eq!(refused(&|s| s.text = "x".repeat(MAX_TEXT + 1)).code(), Some("GAL-WEB-SAY"));
        for bad in ["", "a/b", "a b", "ä", &"x".repeat(MAX_ID + 1)] {
            assert_eq!(refused(&|s| s.channel.id = bad.into()).code(), Some("GAL-WEB-ID"));
            assert_eq!(refused(&|s| s.person.id = bad.into()).code(), Some("GAL-WEB-ID"));
            assert_eq!(refused(&|s| s.id = bad.into()).code(), Some("GAL-WEB-ID"));
        }
        let large = refused(&|s| {
            s.attachments = vec![file(&format!("data:,{}", "x".repeat(MAX_FILES_BYTES)))]
        });
        assert_eq!((large.kind(), large.code()), (ErrorKind::TooLong, Some("GAL-WEB-FILES")));
        let five = refused(&|s| s.attachments = vec![file("data:,x"); MAX_FILES + 1]);
        assert_eq!(five.kind(), ErrorKind::TooLong);
        let local = refused(&|s| s.attachments = vec![file("file:///etc/passwd")]);
        assert_eq!(local.code(), Some("GAL-WEB-SAY"));
    }
}
