//! Telegram's chats and people as World, Room and Entity. World = chat; a topic is a Room in it.

use galatea_core::{ChannelType, Connection, EntityRef, RemoteId, RoomRef, WorldRef};
use serde_json::{Map, Value, json};
use teloxide::types::{Chat, ChatKind, Message, PublicChatKind, User};

use super::place::room_id;

/// Kind of a chat as elizaOS names it.
pub(super) fn kind(chat: &Chat) -> ChannelType {
    match &chat.kind {
        ChatKind::Private(_) => ChannelType::Dm,
        ChatKind::Public(public) => match public.kind {
            PublicChatKind::Channel(_) => ChannelType::Feed,
            PublicChatKind::Group | PublicChatKind::Supergroup(_) => ChannelType::Group,
        },
    }
}

/// What a chat is called: its title, or the other person's name.
pub(super) fn chat_name(chat: &Chat) -> Option<String> {
    if let Some(title) = chat.title() {
        return Some(title.to_owned());
    }
    let name =
        [chat.first_name(), chat.last_name()].into_iter().flatten().collect::<Vec<_>>().join(" ");
    if name.is_empty() { chat.username().map(str::to_owned) } else { Some(name) }
}

/// True for a supergroup with topics.
pub(super) fn is_forum(chat: &Chat) -> bool {
    matches!(&chat.kind, ChatKind::Public(public) if matches!(&public.kind, PublicChatKind::Supergroup(s) if s.is_forum))
}

/// The World of a chat.
pub(super) fn world(chat: &Chat) -> WorldRef {
    let mut world = WorldRef::new(RemoteId::new(chat.id.0), chat_name(chat));
    if let Some(name) = chat.username() {
        world.metadata.insert("username".into(), json!(name));
    }
    world
}

/// The Room of a chat or of a topic in it. A topic's name is told only by service messages.
pub(super) fn room(chat: &Chat, thread: Option<i32>) -> RoomRef {
    let mut metadata = Map::new();
    if let Some(name) = chat.username() {
        metadata.insert("username".into(), json!(name));
    }
    let own = room_id(chat.id.0, None);
    let remote = room_id(chat.id.0, thread);
    if let Some(thread) = thread.filter(|_| remote != own) {
        metadata.insert("threadId".into(), json!(thread.to_string()));
        metadata.insert("isForumTopic".into(), Value::Bool(true));
        metadata.insert("parentChatId".into(), json!(chat.id.0.to_string()));
        return RoomRef {
            remote,
            name: None,
            kind: ChannelType::Thread,
            parent: Some(own),
            metadata,
        };
    }
    if is_forum(chat) {
        metadata.insert("isForum".into(), Value::Bool(true));
    }
    RoomRef { remote, name: chat_name(chat), kind: kind(chat), parent: None, metadata }
}

/// A person or another bot.
pub(super) fn person(user: &User) -> EntityRef {
    let mut entity =
        EntityRef::new(RemoteId::new(user.id.0), Some(user.full_name()), user.username.clone());
    entity.is_bot = user.is_bot;
    entity
}

/// A chat that speaks: an anonymous administrator, a channel, a linked channel.
pub(super) fn speaking_chat(chat: &Chat) -> EntityRef {
    EntityRef::new(RemoteId::new(chat.id.0), chat_name(chat), chat.username().map(str::to_owned))
}

/// The topic a message is in; reply threads outside forums carry a thread id too but are no topics.
pub(super) fn thread(message: &Message) -> Option<i32> {
    message.thread_id.filter(|_| message.is_topic_message).map(|t| t.0.0)
}

/// Where and by whom a message was said.
pub(super) fn of(message: &Message) -> Connection {
    // `from` is a stand-in account when a chat speaks (Bot API, Message.sender_chat).
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

/// Address of a message in a public chat, or in a supergroup or channel for its members; none
/// elsewhere. (teloxide's own helper panics on chat ids out of range.)
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
