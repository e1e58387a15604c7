//! Converts Telegram's chats and people to World, Room and Entity. The World is the chat; a topic
//! is a Room in it.

use galatea_core::{ChannelType, Connection, EntityRef, RemoteId, RoomRef, WorldRef, room::OPEN};
use serde_json::{Map, Value, json};
use teloxide::types::{Chat, ChatKind, Message, PublicChatKind, User};

use super::place::room_id;

/// Converts a chat's type to elizaOS's.
pub(super) fn kind(chat: &Chat) -> ChannelType {
    match &chat.kind {
        ChatKind::Private(_) => ChannelType::Dm,
        ChatKind::Public(public) => match public.kind {
            PublicChatKind::Channel(_) => ChannelType::Feed,
            PublicChatKind::Group | PublicChatKind::Supergroup(_) => ChannelType::Group,
        },
    }
}

/// The name of a chat: its title, or the other person's name.
pub(super) fn chat_name(chat: &Chat) -> Option<String> {
    if let Some(title) = chat.title() {
        return Some(title.to_owned());
    }
    let name =
        [chat.first_name(), chat.last_name()].into_iter().flatten().collect::<Vec<_>>().join(" ");
    if name.is_empty() { chat.username().map(str::to_owned) } else { Some(name) }
}

/// True if the chat is a supergroup with topics.
pub(super) fn is_forum(chat: &Chat) -> bool {
    matches!(&chat.kind, ChatKind::Public(public) if matches!(&public.kind, PublicChatKind::Supergroup(s) if s.is_forum))
}

/// Converts a chat to a World.
pub(super) fn world(chat: &Chat) -> WorldRef {
    let mut world = WorldRef::new(RemoteId::new(chat.id.0), chat_name(chat));
    if let Some(name) = chat.username() {
        world.metadata.insert("username".into(), json!(name));
    }
    world
}

/// Facts about a chat.
#[derive(Debug, Clone)]
pub(super) struct KnownForum<'a> {
    pub(super) id: i64,
    pub(super) kind: ChannelType,
    pub(super) name: Option<String>,
    pub(super) user_name: Option<&'a str>,
    /// True if it is a supergroup with topics.
    pub(super) is_forum: bool,
}

impl KnownForum<'_> {
    /// The Room of the chat or of a topic in it. A topic has no name here, because only service
    /// messages contain it.
    pub(super) fn room(self, thread: Option<i32>) -> RoomRef {
        let mut metadata = Map::new();
        if let Some(name) = self.user_name {
            metadata.insert("username".into(), json!(name));
        }
        if self.kind != ChannelType::Dm {
            // Every member of a group or channel reads all of its topics.
            metadata.insert(OPEN.into(), Value::Bool(true));
        }
        let own = room_id(self.id, None);
        let remote = room_id(self.id, thread);
        if let Some(thread) = thread.filter(|_| remote != own) {
            metadata.insert("threadId".into(), json!(thread.to_string()));
            metadata.insert("isForumTopic".into(), Value::Bool(true));
            metadata.insert("parentChatId".into(), json!(self.id.to_string()));
            return RoomRef {
                remote,
                name: None,
                kind: ChannelType::Thread,
                parent: Some(own),
                metadata,
            };
        }
        if self.is_forum {
            metadata.insert("isForum".into(), Value::Bool(true));
        }
        RoomRef { remote, name: self.name, kind: self.kind, parent: None, metadata }
    }
}

/// The Room of a chat or of a topic in it.
pub(super) fn room(chat: &Chat, thread: Option<i32>) -> RoomRef {
    let known = KnownForum {
        id: chat.id.0,
        kind: kind(chat),
        name: chat_name(chat),
        user_name: chat.username(),
        is_forum: is_forum(chat),
    };
    known.room(thread)
}

/// Converts a person or another bot to an Entity.
pub(super) fn person(user: &User) -> EntityRef {
    let mut entity =
        EntityRef::new(RemoteId::new(user.id.0), Some(user.full_name()), user.username.clone());
    entity.is_bot = user.is_bot;
    entity
}

/// Converts a chat that posts in its own name to an Entity: an anonymous administrator, a channel,
/// a linked channel.
pub(super) fn speaking_chat(chat: &Chat) -> EntityRef {
    EntityRef::new(RemoteId::new(chat.id.0), chat_name(chat), chat.username().map(str::to_owned))
}

/// The topic of a message. Reply threads outside forums also have a thread id, but are not topics.
pub(super) fn thread(message: &Message) -> Option<i32> {
    message.thread_id.filter(|_| message.is_topic_message).map(|t| t.0.0)
}

/// The place and the sender of a message.
pub(super) fn of(message: &Message) -> Connection {
    // If a chat posts, `from` is a placeholder account (Bot API, Message.sender_chat).
    let entity = match (&message.sender_chat, &message.from) {
        (Some(chat), _) => speaking_chat(chat),
        (None, Some(user)) => person(user),
        (None, None) => speaking_chat(&message.chat),
    };
    Connection {
        world: world(&message.chat),
        room: room(&message.chat, thread(message)),
        entity: Some(entity),
    }
}

/// Link to a message in a public chat, or in a supergroup or channel for its members; `None`
/// elsewhere. teloxide's own helper is not used, because it panics on chat ids out of range.
pub(super) fn link(message: &Message) -> Option<String> {
    let chat = &message.chat;
    let place = match (kind(chat), chat.username()) {
        (ChannelType::Dm, _) => return None,
        (_, Some(name)) => name.to_owned(),
        // Basic groups have no links.
        _ if chat.is_group() => return None,
        (_, None) => format!(
            "c/{}",
            chat.id.0.to_string().strip_prefix("-100").filter(|internal| !internal.is_empty())?
        ),
    };
    let topic = thread(message).map(|t| format!("/{t}")).unwrap_or_default();
    Some(format!("https://t.me/{place}{topic}/{}", message.id.0))
}
