//! Decodes events about guilds, channels, threads and members. [`learn`] has to run before
//! [`decode`], and [`forget`] after it.

use galatea_core::{Incoming, IncomingEvent, OwnStatus, RemoteId, Timestamp, message::WorldSync};
use serde_json::Value;
use std::time::Duration;

use super::{Decoded, Me, connection, directory::Directory, single, user};
use crate::decode::raw::id;

/// A guild that the bot joined longer ago than this is not reported as newly joined.
const NEWLY: Duration = Duration::from_secs(300);

pub(super) fn decode(
    name: &str,
    data: &Value,
    directory: &Directory,
    me: &Me,
    now: Timestamp,
) -> Decoded {
    match name {
        "GUILD_CREATE" => joined_guild(data, directory, me, now),
        "GUILD_UPDATE" => sync_of(data, directory, Vec::new()),
        // `unavailable` means an outage of Discord; the bot is still in the guild.
        "GUILD_DELETE" if data["unavailable"] != true => left_guild(data, directory, now),
        "CHANNEL_CREATE" | "CHANNEL_UPDATE" | "THREAD_CREATE" | "THREAD_UPDATE" => {
            channel_sync(data, directory)
        }
        "THREAD_LIST_SYNC" => thread_sync(data, directory),
        "CHANNEL_DELETE" | "THREAD_DELETE" => gone(data, directory, now),
        "GUILD_MEMBER_ADD" => decode_member(data, true, directory, me, now),
        "GUILD_MEMBER_REMOVE" => decode_member(data, false, directory, me, now),
        _ => Decoded::default(),
    }
}

/// Updates the directory from an event. Called before the event is decoded.
pub(crate) fn learn(name: &str, data: &Value, directory: &Directory, me: &Me) {
    match name {
        "GUILD_CREATE" | "GUILD_UPDATE" if data["unavailable"] != true => {
            directory.put_guild(data, me.id)
        }
        "CHANNEL_CREATE" | "CHANNEL_UPDATE" | "THREAD_CREATE" | "THREAD_UPDATE" => {
            directory.put_channel(data, None)
        }
        "THREAD_LIST_SYNC" => {
            let guild = id(&data["guild_id"]);
            data["threads"]
                .as_array()
                .into_iter()
                .flatten()
                .for_each(|t| directory.put_channel(t, guild));
        }
        "GUILD_ROLE_CREATE" | "GUILD_ROLE_UPDATE" => {
            if let Some(guild) = id(&data["guild_id"]) {
                directory.put_role(guild, &data["role"], me.id);
            }
        }
        "GUILD_ROLE_DELETE" => {
            if let (Some(guild), Some(role)) = (id(&data["guild_id"]), id(&data["role_id"])) {
                directory.remove_role(guild, role);
            }
        }
        "GUILD_MEMBER_UPDATE" if id(&data["user"]["id"]) == Some(me.id) => {
            if let Some(guild) = id(&data["guild_id"]) {
                directory.put_own_member(guild, data, me.id);
            }
        }
        _ => {}
    }
}

/// True if an event may change the bot's permissions in some channel.
pub(crate) fn changes_permissions(name: &str) -> bool {
    name.starts_with("GUILD_ROLE_")
        || matches!(
            name,
            "GUILD_CREATE"
                | "GUILD_UPDATE"
                | "GUILD_DELETE"
                | "GUILD_MEMBER_UPDATE"
                | "CHANNEL_UPDATE"
                | "CHANNEL_DELETE"
                | "THREAD_UPDATE"
                | "THREAD_DELETE"
        )
}

/// Removes a deleted guild or channel from the directory. Called after the event is decoded,
/// because decoding still needs it.
pub(crate) fn forget(name: &str, data: &Value, directory: &Directory) {
    match (name, id(&data["id"])) {
        ("GUILD_DELETE", Some(guild)) if data["unavailable"] != true => {
            directory.remove_guild(guild)
        }
        ("CHANNEL_DELETE" | "THREAD_DELETE", Some(channel)) => directory.remove_channel(channel),
        _ => {}
    }
}

fn joined_guild(data: &Value, directory: &Directory, me: &Me, now: Timestamp) -> Decoded {
    if data["unavailable"] == true {
        return Decoded::default();
    }
    let hall = id(&data["id"]).and_then(|g| directory.guild(g)).and_then(|g| g.hall);
    let members = data["members"].as_array().into_iter().flatten();
    let people =
        members.filter_map(|m| Some(connection::person(&user(&m["user"])?, m["nick"].as_str())));
    // A member is recorded in one Room, and in others when they write there.
    let entities = people
        .filter(|p| p.remote != RemoteId::new(me.id))
        .filter_map(|p| Some((p, vec![RemoteId::new(hall?)])))
        .collect();
    let mut out = sync_of(data, directory, entities);
    let joined = data["joined_at"]
        .as_str()
        .and_then(|t| serenity::all::Timestamp::parse(t).ok())
        .map(|t| Timestamp(t.unix_timestamp().saturating_mul(1000)));
    if let (Some(guild), Some(hall)) = (id(&data["id"]), hall)
        && joined.is_some_and(|at| now.since(at) < NEWLY)
    {
        out.events = single(
            connection::place(hall, Some(guild), directory, None),
            IncomingEvent::OwnStatus(OwnStatus::Joined),
            now,
        );
    }
    out
}

fn sync_of(
    data: &Value,
    directory: &Directory,
    entities: Vec<(galatea_core::EntityRef, Vec<RemoteId>)>,
) -> Decoded {
    let Some(guild) = id(&data["id"]) else { return Decoded::default() };
    let world = connection::world(guild, directory.guild(guild).as_ref());
    let channels = directory.channels_of(guild).into_iter();
    // Categories (4) and directories (14) contain neither messages nor threads.
    let rooms = channels
        .filter(|(_, c)| !matches!(c.kind, 4 | 14))
        .map(|(id, c)| connection::room(id, &c, directory))
        .collect();
    Decoded { syncs: vec![WorldSync { world, rooms, entities }], ..Decoded::default() }
}

/// A guild's World and all its Rooms, from the directory.
pub(crate) fn guild_sync(guild: u64, directory: &Directory) -> Option<WorldSync> {
    sync_of(&serde_json::json!({ "id": guild.to_string() }), directory, Vec::new()).syncs.pop()
}

fn channel_sync(data: &Value, directory: &Directory) -> Decoded {
    let (Some(channel), Some(guild)) = (id(&data["id"]), id(&data["guild_id"])) else {
        return Decoded::default();
    };
    let Some(known) = directory.channel(channel).filter(|c| !matches!(c.kind, 4 | 14)) else {
        return Decoded::default();
    };
    let world = connection::world(guild, directory.guild(guild).as_ref());
    let sync = WorldSync {
        world,
        rooms: vec![connection::room(channel, &known, directory)],
        entities: Vec::new(),
    };
    Decoded { syncs: vec![sync], ..Decoded::default() }
}

fn thread_sync(data: &Value, directory: &Directory) -> Decoded {
    let Some(guild) = id(&data["guild_id"]) else { return Decoded::default() };
    let threads = data["threads"].as_array().into_iter().flatten().filter_map(|t| id(&t["id"]));
    let rooms: Vec<_> = threads
        .filter_map(|t| Some(connection::room(t, &directory.channel(t)?, directory)))
        .collect();
    if rooms.is_empty() {
        return Decoded::default();
    }
    let world = connection::world(guild, directory.guild(guild).as_ref());
    Decoded { syncs: vec![WorldSync { world, rooms, entities: Vec::new() }], ..Decoded::default() }
}

fn left_guild(data: &Value, directory: &Directory, now: Timestamp) -> Decoded {
    let Some(guild) = id(&data["id"]) else { return Decoded::default() };
    let removed = |(channel, _)| Incoming {
        connection: connection::place(channel, Some(guild), directory, None),
        event: IncomingEvent::OwnStatus(OwnStatus::Removed),
        at: now,
    };
    // A single event is enough, because it is about the World.
    Decoded {
        events: directory.channels_of(guild).into_iter().take(1).map(removed).collect(),
        ..Decoded::default()
    }
}

fn gone(data: &Value, directory: &Directory, now: Timestamp) -> Decoded {
    let (Some(channel), Some(guild)) = (id(&data["id"]), id(&data["guild_id"])) else {
        return Decoded::default();
    };
    if directory.channel(channel).is_none_or(|c| matches!(c.kind, 4 | 14)) {
        return Decoded::default();
    }
    let event = IncomingEvent::OwnStatus(OwnStatus::Closed);
    Decoded {
        events: single(connection::place(channel, Some(guild), directory, None), event, now),
        ..Decoded::default()
    }
}

fn decode_member(
    data: &Value,
    came: bool,
    directory: &Directory,
    me: &Me,
    now: Timestamp,
) -> Decoded {
    let (Some(guild), Some(who)) = (id(&data["guild_id"]), user(&data["user"])) else {
        return Decoded::default();
    };
    let Some(hall) = directory.guild(guild).and_then(|g| g.hall).filter(|_| who.id.get() != me.id)
    else {
        return Decoded::default();
    };
    let entity = connection::person(&who, data["nick"].as_str());
    let entities = vec![entity.clone()];
    let event =
        if came { IncomingEvent::Joined { entities } } else { IncomingEvent::Left { entities } };
    Decoded {
        events: single(connection::place(hall, Some(guild), directory, Some(entity)), event, now),
        ..Decoded::default()
    }
}
