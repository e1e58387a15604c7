//! Decodes Telegram's updates into [`Incoming`] events. Pure; tested with recordings and with
//! mutated updates.

mod connection;
pub(crate) mod export;
mod me;
mod media;
pub(crate) mod place;
mod quote;
pub(crate) mod raw;
mod service;
#[cfg(test)]
mod tests;
mod text;

use galatea_core::{
    Addressed, Connection, Content, Incoming, IncomingEvent, IncomingMessage, RemoteId, Timestamp,
    content::AUTOMATIC_FORWARD, message::WorldSync,
};
use serde_json::json;
use teloxide::types::{
    AllowedUpdate, CallbackQuery, Chat, ChatMemberUpdated, ChatMigration, MediaKind, Message,
    MessageKind, MessageReactionUpdated, ReactionType, Update, UpdateKind,
};

use me::is_me;
use place::{ChatTarget, GENERAL_TOPIC, message_id, room_id};
use quote::{origin_name, real_reply};
use text::text_and_entities;

pub(crate) use self::me::Me;
pub(crate) use service::chat_sync;

/// The result of decoding one update.
#[derive(Debug, Default)]
pub(crate) struct Decoded {
    /// Events in order; usually none or one.
    pub(crate) events: Vec<Incoming>,
    /// The album the message belongs to.
    pub(crate) album: Option<(i64, String)>,
    /// Id of a button press to acknowledge.
    pub(crate) press: Option<String>,
    /// Names and roles that changed.
    pub(crate) syncs: Vec<WorldSync>,
    /// The group or channel, if its administrators can be fetched.
    pub(crate) place: Option<Chat>,
    /// The bot was added or its rights changed, so fetch the administrators again.
    pub(crate) refresh: bool,
    /// Chat and number of the message. A read-back later needs the newest number.
    pub(crate) seen: Option<(i64, i32)>,
    /// The chat's id, if it has topics.
    pub(crate) forum: Option<i64>,
    /// The topic that was opened again.
    pub(crate) reopened: Option<ChatTarget>,
    /// The chat in which the bot's own rights changed.
    pub(crate) own_rights: Option<i64>,
}

/// Decodes one update that arrived at `now`. Never fails: an update that does not concern us gives
/// an empty result.
pub(crate) fn decode(update: &Update, me: &Me, now: Timestamp) -> Decoded {
    match &update.kind {
        UpdateKind::Message(m) | UpdateKind::ChannelPost(m) => message(m, me),
        UpdateKind::EditedMessage(m) | UpdateKind::EditedChannelPost(m) => edited(m, me),
        UpdateKind::CallbackQuery(q) => decode_press(q, now),
        UpdateKind::MessageReaction(r) => reacted(r),
        UpdateKind::MyChatMember(c) => own_status(c),
        UpdateKind::ChatMember(c) => decode_member(c, me),
        _ => Decoded::default(),
    }
}

fn millis(seconds: i64) -> Timestamp {
    Timestamp(seconds.saturating_mul(1000))
}

fn single(connection: Connection, event: IncomingEvent, at: Timestamp) -> Vec<Incoming> {
    vec![Incoming { connection, event, at }]
}

fn message(m: &Message, me: &Me) -> Decoded {
    let at = millis(m.date.timestamp());
    let mut out = Decoded {
        seen: Some((m.chat.id.0, m.id.0)),
        place: service::has_administrators(&m.chat).then(|| m.chat.clone()),
        forum: connection::is_forum(&m.chat).then_some(m.chat.id.0),
        ..Decoded::default()
    };
    match &m.kind {
        MessageKind::Common(common) => {
            if let MediaKind::Migration(migration) = &common.media_kind {
                if let ChatMigration::To { chat_id } = migration {
                    out.events = single(
                        connection::of(m),
                        IncomingEvent::RoomMoved { to: room_id(chat_id.0, None) },
                        at,
                    );
                }
                return out;
            }
            out.album = m.media_group_id().map(|g| (m.chat.id.0, g.0.clone()));
            out.events = read_text(m, me, at);
        }
        MessageKind::Dice(_) => out.events = read_text(m, me, at),
        MessageKind::NewChatMembers(joined) => {
            let entities: Vec<_> = joined
                .new_chat_members
                .iter()
                .filter(|u| !is_me(u.id.0, me))
                .map(connection::person)
                .collect();
            if !entities.is_empty() {
                out.events = single(connection::of(m), IncomingEvent::Joined { entities }, at);
            }
        }
        MessageKind::LeftChatMember(left) if !is_me(left.left_chat_member.id.0, me) => {
            out.events = single(
                connection::of(m),
                IncomingEvent::Left { entities: vec![connection::person(&left.left_chat_member)] },
                at,
            );
        }
        MessageKind::ForumTopicCreated(topic) => {
            out.syncs = topic_name(m, Some(&topic.forum_topic_created.name));
        }
        MessageKind::ForumTopicReopened(_) | MessageKind::GeneralForumTopicUnhidden(_) => {
            let thread = connection::thread(m).filter(|thread| *thread != GENERAL_TOPIC);
            out.reopened = Some(ChatTarget { chat: m.chat.id.0, thread });
        }
        MessageKind::ForumTopicEdited(topic) => {
            out.syncs = topic_name(m, topic.forum_topic_edited.name.as_deref())
        }
        MessageKind::NewChatTitle(title) => {
            out.syncs.push(service::chat_named(&m.chat, &title.new_chat_title))
        }
        _ => {}
    }
    out
}

fn topic_name(m: &Message, name: Option<&str>) -> Vec<WorldSync> {
    // The message that creates a topic is its first; its own number is the thread id.
    let thread = m.thread_id.map_or(m.id.0, |t| t.0.0);
    name.map(|name| service::topic_named(&m.chat, thread, name)).into_iter().collect()
}

fn read_text(m: &Message, me: &Me, at: Timestamp) -> Vec<Incoming> {
    let content = content(m, me);
    if content.is_empty() {
        return Vec::new();
    }
    let (words, entities) = text_and_entities(m);
    let reply = real_reply(m);
    let event = IncomingEvent::Message(IncomingMessage {
        id: message_id(m.chat.id.0, m.id.0),
        legacy_id: Some(RemoteId::new(m.id.0)),
        content,
        addressed: addressed(m, me),
        reply_to: reply.map(|r| message_id(m.chat.id.0, r.id.0)),
        // Another's command, passed on, is none of the person who forwards it.
        command: text::command(words, entities, me).filter(|_| m.forward_origin().is_none()),
        from_self: m.sender_chat.is_none() && m.from.as_ref().is_some_and(|u| is_me(u.id.0, me)),
    });
    single(connection::of(m), event, at)
}

fn addressed(m: &Message, me: &Me) -> Addressed {
    let (words, entities) = text_and_entities(m);
    let reply = real_reply(m).and_then(|r| r.from.as_ref()).is_some_and(|u| is_me(u.id.0, me));
    Addressed { mention: text::mentions(words, entities, me), reply }
}

fn content(m: &Message, me: &Me) -> Content {
    let (words, entities) = text_and_entities(m);
    let mut text = text::to_markdown(words, entities);
    if let Some(line) = media::in_words(m) {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&line);
    }
    let mut content = Content {
        text,
        attachments: media::attachments(m),
        source: Some(super::SOURCE_NAME.to_owned()),
        ..Content::default()
    };
    content.url = connection::link(m);
    content.quotes = quote::of(m, me);
    if let MessageKind::Common(common) = &m.kind {
        if let Some(origin) = &common.forward_origin {
            content.extra.insert("forwardedFrom".into(), json!(origin_name(origin)));
        }
        if common.is_automatic_forward {
            content.extra.insert(AUTOMATIC_FORWARD.into(), json!(true));
        }
        if let Some(quote) = &common.quote {
            content.extra.insert("quote".into(), json!(quote.text));
        }
    }
    content
}

fn edited(m: &Message, me: &Me) -> Decoded {
    let content = content(m, me);
    let mut out = Decoded {
        seen: Some((m.chat.id.0, m.id.0)),
        forum: connection::is_forum(&m.chat).then_some(m.chat.id.0),
        ..Decoded::default()
    };
    if !content.is_empty() {
        let at = m.edit_date().map_or(m.date, |d| *d).timestamp();
        let event = IncomingEvent::Edited {
            id: message_id(m.chat.id.0, m.id.0),
            content,
            addressed: addressed(m, me),
        };
        out.events = single(connection::of(m), event, millis(at));
    }
    out
}

fn decode_press(q: &CallbackQuery, now: Timestamp) -> Decoded {
    let mut out = Decoded { press: Some(q.id.0.clone()), ..Decoded::default() };
    // A press on an inline-mode message contains no chat, so it belongs to no Room.
    if let (Some(message), Some(data)) = (&q.message, &q.data) {
        let chat = message.chat();
        let thread = message.regular_message().and_then(connection::thread);
        let connection = Connection {
            world: connection::world(chat),
            room: connection::room(chat, thread),
            entity: Some(connection::person(&q.from)),
        };
        let event = IncomingEvent::Pressed {
            id: RemoteId(format!("press:{}", q.id.0)),
            message: Some(message_id(chat.id.0, message.id().0)),
            data: data.clone(),
        };
        // Presses have no timestamp.
        out.events = single(connection, event, now);
    }
    out
}

fn reacted(r: &MessageReactionUpdated) -> Decoded {
    let name = |reaction: &ReactionType| match reaction {
        ReactionType::Emoji { emoji } => emoji.clone(),
        ReactionType::CustomEmoji { custom_emoji_id } => format!("custom:{}", custom_emoji_id.0),
        ReactionType::Paid => "⭐".to_owned(),
    };
    let old: Vec<String> = r.old_reaction.iter().map(name).collect();
    let new: Vec<String> = r.new_reaction.iter().map(name).collect();
    let added: Vec<String> = new.iter().filter(|e| !old.contains(e)).cloned().collect();
    let removed: Vec<String> = old.iter().filter(|e| !new.contains(e)).cloned().collect();
    if added.is_empty() && removed.is_empty() {
        return Decoded::default();
    }
    let who = match (r.user(), r.actor.chat()) {
        (Some(user), _) => connection::person(user),
        (None, Some(chat)) => connection::speaking_chat(chat),
        (None, None) => return Decoded::default(),
    };
    // A reaction does not name the message's topic, so its Room is the chat's main one.
    let connection = Connection {
        world: connection::world(&r.chat),
        room: connection::room(&r.chat, None),
        entity: Some(who),
    };
    let event =
        IncomingEvent::Reacted { id: message_id(r.chat.id.0, r.message_id.0), added, removed };
    Decoded { events: single(connection, event, millis(r.date.timestamp())), ..Decoded::default() }
}

fn own_status(c: &ChatMemberUpdated) -> Decoded {
    let connection = Connection {
        world: connection::world(&c.chat),
        room: connection::room(&c.chat, None),
        entity: Some(connection::person(&c.from)),
    };
    let event = IncomingEvent::OwnStatus(service::own_status(&c.new_chat_member.kind));
    Decoded {
        events: single(connection, event, millis(c.date.timestamp())),
        place: service::has_administrators(&c.chat).then(|| c.chat.clone()),
        refresh: service::present(&c.new_chat_member.kind),
        own_rights: Some(c.chat.id.0),
        ..Decoded::default()
    }
}

fn decode_member(c: &ChatMemberUpdated, me: &Me) -> Decoded {
    let member = &c.new_chat_member;
    if is_me(member.user.id.0, me) {
        return Decoded::default();
    }
    let mut world = connection::world(&c.chat);
    let (before, after) = (service::role(&c.old_chat_member.kind), service::role(&member.kind));
    if before != after {
        service::role_of(&mut world, member);
    }
    let who = connection::person(&member.user);
    let room = connection::room(&c.chat, None);
    let event = match (service::present(&c.old_chat_member.kind), service::present(&member.kind)) {
        (false, true) => Some(IncomingEvent::Joined { entities: vec![who.clone()] }),
        (true, false) => Some(IncomingEvent::Left { entities: vec![who.clone()] }),
        _ => None,
    };
    match event {
        Some(event) => {
            let connection = Connection { world, room, entity: Some(who) };
            Decoded {
                events: single(connection, event, millis(c.date.timestamp())),
                ..Decoded::default()
            }
        }
        None if before != after => {
            let here = room.remote.clone();
            Decoded {
                syncs: vec![WorldSync {
                    world,
                    rooms: vec![room],
                    entities: vec![(who, vec![here])],
                }],
                ..Decoded::default()
            }
        }
        None => Decoded::default(),
    }
}

/// Kinds of updates to receive. Telegram sends reactions and member changes only if they are named
/// (Bot API, getUpdates.allowed_updates).
pub(crate) const ALLOWED: [AllowedUpdate; 8] = [
    AllowedUpdate::Message,
    AllowedUpdate::EditedMessage,
    AllowedUpdate::ChannelPost,
    AllowedUpdate::EditedChannelPost,
    AllowedUpdate::CallbackQuery,
    AllowedUpdate::MessageReaction,
    AllowedUpdate::MyChatMember,
    AllowedUpdate::ChatMember,
];
