//! Rights of a person to change a Room by a command.

use galatea_core::{AgentIdentity, EntityId, Result, Role, Room, Turn, World, standing};

/// In direct messages everyone; elsewhere owners of the agent, and owners and admins as the platform
/// names them, never as text claims.
pub(super) fn may_rule(turn: &Turn<'_>) -> Result<bool> {
    let (person, identity) = (turn.message.entity_id, &turn.agent.identity);
    Ok(standing::owns_agent(turn)? || may_change(turn.room, turn.world, person, identity))
}

/// Rights to change the Room of the author of a message that has no turn yet, without owners of the
/// agent.
pub(crate) fn may_change(
    room: &Room,
    world: Option<&World>,
    entity: EntityId,
    identity: &AgentIdentity,
) -> bool {
    room.kind.is_direct()
        || world.is_some_and(|world| {
            world.metadata.ownership.is_some_and(|o| o.owner_id == entity) || world.metadata.roles.get(&entity).is_some_and(|role| *role >= Role::Admin)
                // A group's anonymous admin speaks as the group itself.
                || identity.swizzle(world.remote.as_str()) == entity.0
        })
}
