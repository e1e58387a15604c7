//! Rights: who may change what. Structural, from the World as the platform told it; never from text.

use galatea_core::{EntityId, Role, Turn, World};

/// An entity's role in a World.
pub(crate) fn role(world: Option<&World>, entity: EntityId) -> Role {
    let Some(world) = world else { return Role::None };
    if world.metadata.ownership.is_some_and(|o| o.owner_id == entity) {
        return Role::Owner;
    }
    world.metadata.roles.get(&entity).copied().unwrap_or(Role::None)
}

/// The role of whoever is being answered. When several are answered together, the least of theirs.
pub(crate) fn of_speaker(turn: &Turn<'_>) -> Role {
    turn.merged.iter().chain(std::iter::once(turn.message)).map(|m| role(turn.world, m.entity_id)).min().unwrap_or(Role::None)
}

/// Whether the speaker may change how the agent behaves in this Room: anybody between two, admins elsewhere.
pub(crate) fn may_change_room(turn: &Turn<'_>) -> bool {
    turn.room.kind.is_direct() || of_speaker(turn) >= Role::Admin
}
