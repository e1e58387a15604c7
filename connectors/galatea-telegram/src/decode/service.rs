//! Decodes membership, roles and names of chats.

use galatea_core::{
    ChannelType, EntityRef, OwnStatus, RemoteId, RoomRef, WorldRef, message::WorldSync, world::Role,
};
use teloxide::types::{Chat, ChatMember, ChatMemberKind, User};

use super::{connection, place};

/// True if the person is in the chat.
pub(super) fn present(kind: &ChatMemberKind) -> bool {
    match kind {
        ChatMemberKind::Owner(_) | ChatMemberKind::Administrator(_) | ChatMemberKind::Member(_) => {
            true
        }
        ChatMemberKind::Restricted(r) => r.is_member,
        ChatMemberKind::Left | ChatMemberKind::Banned(_) => false,
    }
}

/// The role of a member. As in elizaOS, the creator is OWNER and administrators are ADMIN.
pub(super) fn role(kind: &ChatMemberKind) -> Role {
    match kind {
        ChatMemberKind::Owner(_) => Role::Owner,
        ChatMemberKind::Administrator(_) => Role::Admin,
        _ => Role::None,
    }
}

/// The bot's own status in a chat.
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

/// Adds a member's role to a World.
pub(super) fn role_of(world: &mut WorldRef, member: &ChatMember) {
    let who = RemoteId::new(member.user.id.0);
    let role = role(&member.kind);
    if role == Role::Owner {
        world.owner = Some(who.clone());
    }
    world.roles.push((who, role));
}

/// A sync of a chat: the World with its owner and administrators, the chat's own Room, and those
/// people.
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

/// A sync for a topic's new name.
pub(super) fn topic_named(chat: &Chat, thread: i32, name: &str) -> WorldSync {
    let mut room = connection::room(chat, Some(thread));
    room.name = Some(name.to_owned());
    WorldSync { world: connection::world(chat), rooms: vec![room], entities: Vec::new() }
}

/// A sync for a chat's new name.
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

/// True if a chat's administrators can be fetched: in groups, supergroups and channels.
pub(super) fn has_administrators(chat: &Chat) -> bool {
    connection::kind(chat) != ChannelType::Dm
}
