//! Rights: who may change what. Structural, from the World as the platform told it; never from text.

use galatea_core::{EntityId, Result, Role, Turn, Variable, World};

/// People whose agent it is: platforms know owners of their places only, and nobody who is the same person on two of them.
pub(crate) const OWNERS: Variable = Variable::new(
    "AGENT_OWNERS",
    "Whose agent it is, such as telegram:5000000001,discord:80351110224678912: they may have it speak in any room of any platform.",
);

/// Whether everybody who asks is among the agent's owners.
///
/// # Errors
/// `Invalid` for a list that cannot be read.
pub(crate) fn owns_agent(turn: &Turn<'_>) -> Result<bool> {
    let listed = turn.agent.settings.list(&OWNERS)?.unwrap_or_default();
    let here = listed.iter().filter_map(|owner| owner.split_once(':')).filter(|(source, _)| turn.room.source.as_str().eq_ignore_ascii_case(source.trim()));
    let owners: Vec<EntityId> = here.map(|(_, id)| EntityId(turn.agent.identity.swizzle(id.trim()))).collect();
    Ok(speakers(turn).all(|speaker| owners.contains(&speaker)))
}

/// Everybody who is being answered.
pub(crate) fn speakers<'a>(turn: &'a Turn<'_>) -> impl Iterator<Item = EntityId> + 'a {
    turn.merged.iter().chain(std::iter::once(turn.message)).map(|m| m.entity_id)
}

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
    speakers(turn).map(|speaker| role(turn.world, speaker)).min().unwrap_or(Role::None)
}

/// Whether the speaker may change how the agent behaves in this Room: anybody between two, admins elsewhere.
pub(crate) fn may_change_room(turn: &Turn<'_>) -> bool {
    turn.room.kind.is_direct() || of_speaker(turn) >= Role::Admin
}
