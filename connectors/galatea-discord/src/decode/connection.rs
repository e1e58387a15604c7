//! Converts Discord's places and people to World, Room and Entity. The World is the guild; a direct
//! message channel is its own World.

use galatea_core::{
    ChannelType, Connection, EntityRef, RemoteId, RoomRef, WorldRef,
    room::{OPEN, OWN_NAME, STARTED_BY, TOPIC},
    world::Role,
};
use serde_json::{Map, Value, json};
use serenity::all::User;

use super::directory::{Channel, Directory, Guild, is_thread};

/// Converts Discord's channel type to elizaOS's. Threads and forums keep a type of their own, while
/// elizaOS flattens them to GROUP.
pub(super) fn kind(channel: u8) -> ChannelType {
    match channel {
        1 | 3 => ChannelType::Dm,
        2 | 13 => ChannelType::VoiceGroup,
        15 | 16 => ChannelType::Forum,
        thread if is_thread(thread) => ChannelType::Thread,
        _ => ChannelType::Group,
    }
}

/// Converts a guild to a World.
pub(super) fn world(id: u64, guild: Option<&Guild>) -> WorldRef {
    let mut world = WorldRef::new(RemoteId::new(id), guild.and_then(|g| g.name.clone()));
    if let Some(owner) = guild.and_then(|g| g.owner) {
        world.owner = Some(RemoteId::new(owner));
        world.roles.push((RemoteId::new(owner), Role::Owner));
    }
    world
}

/// Converts a channel to a Room.
pub(super) fn room(id: u64, channel: &Channel, directory: &Directory) -> RoomRef {
    let mut metadata = Map::new();
    metadata.insert(OPEN.into(), Value::Bool(directory.is_open(channel)));
    let nick = channel.guild.and_then(|guild| directory.guild(guild)).and_then(|guild| guild.nick);
    if let Some(nick) = nick {
        metadata.insert(OWN_NAME.into(), json!(nick));
    }
    // Without one, what was stored is removed.
    if channel.topic.is_some() || matches!(channel.kind, 0 | 5 | 15 | 16) {
        metadata.insert(TOPIC.into(), json!(channel.topic));
    }
    if let Some(parent) = channel.parent {
        // The first message of a post, and the message that a thread was started from, have the id
        // of the thread (Discord, "Threads").
        metadata.insert(STARTED_BY.into(), json!(id.to_string()));
        metadata.insert("threadId".into(), json!(id.to_string()));
        metadata.insert("parentChannelId".into(), json!(parent.to_string()));
        if directory.channel(parent).is_some_and(|p| matches!(p.kind, 15 | 16)) {
            metadata.insert("isForumPost".into(), Value::Bool(true));
        }
    }
    RoomRef {
        remote: RemoteId::new(id),
        name: channel.name.clone(),
        kind: kind(channel.kind),
        parent: channel.parent.map(RemoteId::new),
        metadata,
    }
}

/// Converts a person or another application to an Entity. `nick` is the name in the guild.
pub(super) fn person(user: &User, nick: Option<&str>) -> EntityRef {
    let name = nick.or(user.global_name.as_deref()).unwrap_or(&user.name);
    let mut entity = EntityRef::new(
        RemoteId::new(user.id.get()),
        Some(name.to_owned()),
        Some(user.name.clone()),
    );
    entity.is_bot = user.bot;
    entity
}

/// An Entity of which only the id is known.
pub(super) fn known_by_id(id: u64) -> EntityRef {
    EntityRef::new(RemoteId::new(id), None, None)
}

/// The place of an event as a Connection. An unknown channel of a guild counts as an ordinary text
/// channel.
pub(super) fn place(
    channel: u64,
    guild: Option<u64>,
    directory: &Directory,
    entity: Option<EntityRef>,
) -> Connection {
    let known = directory.channel(channel);
    let guild = guild.or_else(|| known.as_ref().and_then(|c| c.guild));
    match guild {
        Some(guild) => {
            let known = known.unwrap_or_else(|| Channel::unknown(guild));
            Connection {
                world: world(guild, directory.guild(guild).as_ref()),
                room: room(channel, &known, directory),
                entity,
            }
        }
        None => {
            // A direct message channel is named after the other person.
            let name = entity.as_ref().filter(|e| !e.is_bot).and_then(|e| e.name.clone());
            let world = WorldRef::new(RemoteId::new(channel), name.clone());
            Connection {
                world,
                room: RoomRef::new(RemoteId::new(channel), name, ChannelType::Dm),
                entity,
            }
        }
    }
}

/// Gives `who` the administrator's role in the World, unless they own it.
pub(super) fn administrator(connection: &mut Connection, who: u64) {
    let who = RemoteId::new(who);
    if connection.world.owner.as_ref() != Some(&who) {
        connection.world.roles.push((who, Role::Admin));
    }
}

/// Reads a user object.
pub(super) fn user(value: &Value) -> Option<User> {
    serde::Deserialize::deserialize(value).ok().or_else(|| {
        // An unknown form of avatar or decoration must not lose the user.
        let mut reduced = json!({ "id": value["id"], "username": value["username"] });
        for name in ["global_name", "bot"] {
            if let Some(field) = value.get(name) {
                reduced[name] = field.clone();
            }
        }
        serde::Deserialize::deserialize(reduced).ok()
    })
}
