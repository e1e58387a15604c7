//! Who came, who left, who may what, and how places are called.

use galatea_core::{
    ChannelType, EntityRef, OwnStatus, RemoteId, RoomRef, WorldRef, message::WorldSync, world::Role,
};
use teloxide::types::{Chat, ChatMember, ChatMemberKind, User};

use super::{connection, place};

/// True while the person is in the chat.
pub(super) fn present(kind: &ChatMemberKind) -> bool {
    match kind {
        ChatMemberKind::Owner(_) | ChatMemberKind::Administrator(_) | ChatMemberKind::Member(_) => {
            true
        }
        ChatMemberKind::Restricted(r) => r.is_member,
        ChatMemberKind::Left | ChatMemberKind::Banned(_) => false,
    }
}

/// elizaOS: creator OWNER, administrators ADMIN.
pub(super) fn role(kind: &ChatMemberKind) -> Role {
    match kind {
        ChatMemberKind::Owner(_) => Role::Owner,
        ChatMemberKind::Administrator(_) => Role::Admin,
        _ => Role::None,
    }
}

/// Our own standing.
pub(super) fn own_status(kind: &ChatMemberKind) -> OwnStatus {
    match kind {
        ChatMemberKind::Owner(_) | ChatMemberKind::Administrator(_) => OwnStatus::Admin,
        ChatMemberKind::Member(_) => OwnStatus::Joined,
        ChatMemberKind::Restricted(r) if r.is_member && r.can_send_messages => OwnStatus::Joined,
        ChatMemberKind::Restricted(r) if r.is_member => OwnStatus::Restricted,
        ChatMemberKind::Restricted(_) | ChatMemberKind::Left | ChatMemberKind::Banned(_) => {
            OwnStatus::Removed
        }
    }
}

/// One member's right, for a World already known.
pub(super) fn role_of(world: &mut WorldRef, member: &ChatMember) {
    let who = RemoteId::new(member.user.id.0);
    let role = role(&member.kind);
    if role == Role::Owner {
        world.owner = Some(who.clone());
    }
    world.roles.push((who, role));
}

/// Chat sync: the World with its owner and administrators, the chat's own Room, and those people.
pub(crate) fn chat_sync(chat: &Chat, administrators: &[(User, Role)]) -> WorldSync {
    let mut world = connection::world(chat);
    for (user, role) in administrators {
        let who = RemoteId::new(user.id.0);
        if *role == Role::Owner {
            world.owner = Some(who.clone());
        }
        world.roles.push((who, *role));
    }
    let room = connection::room(chat, None);
    let here = room.remote.clone();
    let entities: Vec<(EntityRef, Vec<RemoteId>)> = administrators
        .iter()
        .map(|(user, _)| (connection::person(user), vec![here.clone()]))
        .collect();
    WorldSync { world, rooms: vec![room], entities }
}

/// A new name of a topic.
pub(super) fn topic_named(chat: &Chat, thread: i32, name: &str) -> WorldSync {
    let mut room = connection::room(chat, Some(thread));
    room.name = Some(name.to_owned());
    WorldSync { world: connection::world(chat), rooms: vec![room], entities: Vec::new() }
}

/// A new name of a chat.
pub(super) fn chat_named(chat: &Chat, name: &str) -> WorldSync {
    let mut world = connection::world(chat);
    world.name = Some(name.to_owned());
    let mut room = RoomRef::new(
        place::room_id(chat.id.0, None),
        Some(name.to_owned()),
        connection::kind(chat),
    );
    room.metadata = connection::room(chat, None).metadata;
    WorldSync { world, rooms: vec![room], entities: Vec::new() }
}

/// True where administrators can be asked for: groups, supergroups, channels.
pub(super) fn has_administrators(chat: &Chat) -> bool {
    connection::kind(chat) != ChannelType::Dm
}
