//! Decodes Discord's events into [`Incoming`] events. Pure, apart from the directory; tested with
//! recordings and with mutated events.

mod connection;
mod content;
mod decoded;
pub(crate) mod directory;
pub(crate) mod export;
mod interaction;
mod media;
pub(crate) mod permissions;
pub(crate) mod places;
mod proxied;
pub(crate) mod raw;
#[cfg(test)]
mod tests;
mod text;
mod words;

use galatea_core::{
    Addressed, Connection, Incoming, IncomingEvent, IncomingMessage, RemoteId, Timestamp,
    content::{NOTICE, REPLACES},
};
use serde_json::{Value, json};
use serenity::all::{Message, MessageType};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::time_of;
use connection::user;
use content::{content, join};
use decoded::single;
use directory::Directory;
use raw::{id, replied};
use words::Kind;

pub(crate) use self::decoded::{Decoded, Me};
pub(crate) use interaction::{is_interaction, is_private, remote_id};

/// Decodes one event that arrived at `now`. Never fails: an event that does not concern us gives an
/// empty result.
pub(crate) fn decode(
    name: &str,
    data: &Value,
    directory: &Directory,
    me: &Me,
    now: Timestamp,
) -> Decoded {
    match name {
        "MESSAGE_CREATE" => message(data, directory, me),
        "MESSAGE_UPDATE" => edited(data, directory, me),
        "MESSAGE_DELETE" => deleted(data, id(&data["id"]).into_iter().collect(), directory, now),
        "MESSAGE_DELETE_BULK" => deleted(
            data,
            data["ids"].as_array().into_iter().flatten().filter_map(id).collect(),
            directory,
            now,
        ),
        "MESSAGE_REACTION_ADD" => reacted(data, true, directory, me, now),
        "MESSAGE_REACTION_REMOVE" => reacted(data, false, directory, me, now),
        "INTERACTION_CREATE" => Decoded {
            events: interaction::decode(data, directory).into_iter().collect(),
            ..Decoded::default()
        },
        _ => places::decode(name, data, directory, me, now),
    }
}

/// [`decode`], but a panic counts as a malformed event. Otherwise Discord would send the event
/// again after every restart, and no later one would be read.
pub(crate) fn decode_surely(
    name: &str,
    data: &Value,
    directory: &Directory,
    me: &Me,
    now: Timestamp,
) -> Decoded {
    catch_unwind(AssertUnwindSafe(|| decode(name, data, directory, me, now))).unwrap_or_else(|_| {
        tracing::error!(event = %galatea_http::shorten(name, 40), id = id(&data["id"]), "panic while decoding an event from Discord; skipping it");
        Decoded { newest: id(&data["id"]).filter(|_| name == "MESSAGE_CREATE"), unreadable: true, ..Decoded::default() }
    })
}

/// The channel and the guild of an event. The directory has to know them before the event is
/// decoded.
pub(crate) fn place_of(data: &Value) -> Option<(u64, Option<u64>)> {
    Some((id(&data["channel_id"])?, id(&data["guild_id"])))
}

fn said_by(m: &Message, data: &Value, directory: &Directory) -> Connection {
    let guild = m.guild_id.map(|g| g.get());
    let mut entity = connection::person(&m.author, data["member"]["nick"].as_str());
    // A person wrote it, in another's name.
    entity.is_bot &= !directory.proxies(data);
    let mut place = connection::place(m.channel_id.get(), guild, directory, Some(entity));
    let administrators =
        guild.and_then(|g| directory.guild(g)).map(|g| g.administrators).unwrap_or_default();
    let roles = data["member"]["roles"].as_array().into_iter().flatten().filter_map(id);
    if roles.into_iter().any(|role| administrators.contains(&role)) {
        connection::administrator(&mut place, m.author.id.get());
    }
    place
}

/// An echo of our own message. It is not an event: the message was stored when it was sent, and a
/// second copy would show the model its own words twice.
fn own(data: &Value) -> Decoded {
    let nonce = data["nonce"]
        .as_str()
        .map(str::to_owned)
        .or_else(|| data["nonce"].as_u64().map(|n| n.to_string()));
    let newest = id(&data["id"]);
    let direct = id(&data["channel_id"]).filter(|_| id(&data["guild_id"]).is_none());
    Decoded { echo: nonce.zip(newest.map(RemoteId::new)), newest, direct, ..Decoded::default() }
}

fn message(data: &Value, directory: &Directory, me: &Me) -> Decoded {
    if id(&data["author"]["id"]) == Some(me.id) {
        return own(data);
    }
    let Some(m) = raw::message(data) else {
        return Decoded { newest: id(&data["id"]), unreadable: true, ..Decoded::default() };
    };
    let guild = m.guild_id.map(|g| g.get());
    let newest = Some(m.id.get());
    let direct = guild.is_none().then_some(m.channel_id.get());
    let remote = RemoteId::new(m.id.get());
    let mut out = Decoded { newest, direct, ..Decoded::default() };
    if m.kind == MessageType::ThreadStarterMessage {
        out.events = started_from(data, directory, me);
        if out.events.is_empty() {
            out.left_out = Some("the message that a thread was started from is ours or unreadable");
        }
        return out;
    }
    let who = data["member"]["nick"]
        .as_str()
        .or(m.author.global_name.as_deref())
        .unwrap_or(&m.author.name)
        .to_owned();
    let kind = words::kind(data, &who);
    if let Kind::LeftOut(why) = kind {
        out.left_out = Some(why);
        return out;
    }
    let mut content = content(&m, data, guild, directory, me);
    let addressed = addressed(&m, directory, me);
    if let Kind::Notice(notice) = &kind {
        let readable = |text: &str| text::readable_text(text, &m, guild, me, directory);
        if !m.content.trim().is_empty() && notice.contains(m.content.trim()) {
            content.text = readable(&words::beside(data));
        }
        content.text = join([readable(notice), content.text]);
        content.extra.insert(NOTICE.into(), json!(true));
    }
    if content.is_empty() {
        // Without the Message Content intent a message that does not address the bot has no content, so
        // there is nothing to store.
        if guild.is_some() && !addressed.mention && !directory.reads_content() {
            out.left_out = Some("it has no content without the Message Content intent");
            return out;
        }
        content.text = content::UNKNOWN.to_owned();
    }
    if guild.is_some() && directory.proxies(data) {
        let original = directory.original(m.channel_id.get(), m.id.get(), &m.content);
        if let Some(original) = original {
            content.extra.insert(REPLACES.into(), json!(original.to_string()));
        }
    } else if guild.is_some() && !m.author.bot {
        directory.remember(m.channel_id.get(), m.id.get(), &m.content);
    }
    let reply_to = replied(&m);
    let event = IncomingEvent::Message(IncomingMessage {
        id: remote,
        legacy_id: None,
        content,
        addressed,
        reply_to: reply_to.map(RemoteId::new),
        command: None,
        from_self: false,
    });
    out.events = single(said_by(&m, data, directory), event, time_of(m.id.get()));
    out
}

/// The message that a thread was started from, in its own channel. It is stored once, like any message
/// that is read twice, and what addresses the bot in it is answered where it was written.
fn started_from(data: &Value, directory: &Directory, me: &Me) -> Vec<Incoming> {
    let mut original = data["referenced_message"].clone();
    let Some(fields) = original.as_object_mut() else { return Vec::new() };
    fields.entry("guild_id").or_insert_with(|| data["guild_id"].clone());
    // A thread that began with a starter message of another thread does not exist.
    if fields.get("type").and_then(Value::as_u64) == data["type"].as_u64() {
        return Vec::new();
    }
    let mut events = message(&original, directory, me).events;
    for incoming in &mut events {
        if let IncomingEvent::Message(message) = &mut incoming.event {
            message.addressed = Addressed::default();
        }
    }
    events
}

fn addressed(m: &Message, directory: &Directory, me: &Me) -> Addressed {
    let mine =
        m.guild_id.and_then(|g| directory.guild(g.get())).map(|g| g.mine).unwrap_or_default();
    let replies = replied(m).is_some();
    let to_us = m.referenced_message.as_ref().is_some_and(|r| r.author.id.get() == me.id);
    Addressed { mention: text::mentions(m, replies, &mine, me), reply: replies && to_us }
}

fn edited(data: &Value, directory: &Directory, me: &Me) -> Decoded {
    // Discord also sends an update when it adds a link preview; only edits by people have a
    // timestamp.
    let Some(m) = raw::message(data).filter(|m| {
        m.edited_timestamp.is_some()
            && m.author.id.get() != me.id
            && words::kind(data, "") == Kind::Speech
    }) else {
        return Decoded::default();
    };
    let content = content(&m, data, m.guild_id.map(|g| g.get()), directory, me);
    if content.is_empty() {
        return Decoded::default();
    }
    let at = m
        .edited_timestamp
        .map_or(time_of(m.id.get()), |t| Timestamp(t.unix_timestamp().saturating_mul(1000)));
    let event = IncomingEvent::Edited {
        id: RemoteId::new(m.id.get()),
        content,
        addressed: addressed(&m, directory, me),
    };
    Decoded { events: single(said_by(&m, data, directory), event, at), ..Decoded::default() }
}

fn deleted(data: &Value, ids: Vec<u64>, directory: &Directory, now: Timestamp) -> Decoded {
    let Some((channel, guild)) = place_of(data).filter(|_| !ids.is_empty()) else {
        return Decoded::default();
    };
    let event = IncomingEvent::Deleted { ids: ids.into_iter().map(RemoteId::new).collect() };
    Decoded {
        events: single(connection::place(channel, guild, directory, None), event, now),
        ..Decoded::default()
    }
}

fn reacted(data: &Value, added: bool, directory: &Directory, me: &Me, now: Timestamp) -> Decoded {
    let (Some((channel, guild)), Some(who), Some(message)) =
        (place_of(data), id(&data["user_id"]), id(&data["message_id"]))
    else {
        return Decoded::default();
    };
    let name = data["emoji"]["name"].as_str().unwrap_or_default();
    let emoji =
        id(&data["emoji"]["id"]).map_or_else(|| name.to_owned(), |id| format!("{name}:{id}"));
    if who == me.id || emoji.is_empty() {
        return Decoded::default();
    }
    let member = &data["member"];
    let entity = user(&member["user"]).map_or_else(
        || connection::known_by_id(who),
        |u| connection::person(&u, member["nick"].as_str()),
    );
    let (added, removed) =
        if added { (vec![emoji], Vec::new()) } else { (Vec::new(), vec![emoji]) };
    let event = IncomingEvent::Reacted { id: RemoteId::new(message), added, removed };
    // Reactions have no timestamp.
    Decoded {
        events: single(connection::place(channel, guild, directory, Some(entity)), event, now),
        ..Decoded::default()
    }
}

/// Parses a reference to a message as people paste it: Discord's "Copy Message Link"
/// (`https://discord.com/channels/<server or @me>/<channel>/<message>`), or `channel:message`.
/// Returns the room and the message, or `None` for any other text.
pub fn parse_link(text: &str) -> Option<(Option<RemoteId>, RemoteId)> {
    let text = text.trim();
    let number = |part: &str| part.parse::<u64>().ok().filter(|n| *n > 0).map(RemoteId::new);
    let hosts = [
        "https://discord.com/channels/",
        "https://ptb.discord.com/channels/",
        "https://canary.discord.com/channels/",
        "https://discordapp.com/channels/",
    ];
    let Some(path) = hosts.iter().find_map(|host| text.strip_prefix(host)) else {
        let (channel, message) = text.split_once(':')?;
        return Some((Some(number(channel)?), number(message)?));
    };
    let mut parts = path.split(['?', '#']).next()?.trim_end_matches('/').split('/');
    let (_, channel, message) = (parts.next()?, parts.next()?, parts.next()?);
    parts.next().is_none().then_some((Some(number(channel)?), number(message)?))
}
