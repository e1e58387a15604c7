//! Reasons not to run a due task now, as pure functions of what is stored.

use galatea_core::{
    Entity, EntityId, Participant, ParticipantState, QuietHours, Room, Timestamp, World, Zone,
    quiet_hours::WORLD_QUIET_HOURS,
    store::{Block, BlockKind},
};

use crate::config::Policy;

/// The end of the quiet hours of a World, or else of the agent's; none outside of them.
pub(super) fn quiet_until(
    world: Option<&World>,
    of_agent: Option<&QuietHours>,
    zone: &Zone,
    now: Timestamp,
) -> Option<Timestamp> {
    match world.and_then(|world| world.setting(WORLD_QUIET_HOURS)) {
        // What no one can read, such as `off`, is no quiet hours.
        Some(own) => QuietHours::read(own)?.end(now, zone),
        None => of_agent?.end(now, zone),
    }
}

/// True if the agent is silent in a Room.
pub(super) fn is_muted(own_state: Option<ParticipantState>) -> bool {
    own_state == Some(ParticipantState::Muted)
}

/// True if the person has left a Room of several.
pub(super) fn has_left(room: &Room, person: EntityId, there: &[Participant]) -> bool {
    !room.kind.is_direct() && !there.iter().any(|one| one.entity_id == person)
}

/// True if the person, the Room or its World is blocked.
pub(super) fn is_blocked(
    policy: &Policy,
    blocks: &[Block],
    room: &Room,
    world: Option<&World>,
    person: Option<&Entity>,
) -> bool {
    let of_platform = person.and_then(|p| p.metadata.get(room.source.as_str()));
    let known = |key: &str| of_platform?.get(key)?.as_str().map(str::to_lowercase);
    let (id, handle) = (known("id"), known("userName"));
    let meets = |kind: BlockKind, blocked: &str| match kind {
        BlockKind::Person => match blocked.strip_prefix('@') {
            Some(name) => handle.as_deref() == Some(&name.to_lowercase()),
            None => id.as_deref() == Some(&blocked.to_lowercase()),
        },
        BlockKind::Room => room.remote.as_str() == blocked,
        BlockKind::World => world.is_some_and(|world| world.remote.as_str() == blocked),
    };
    let spending = &policy.spending;
    let listed = |kind: BlockKind, list: &[String]| list.iter().any(|one| meets(kind, one));
    listed(BlockKind::Person, &spending.blocked_people)
        || listed(BlockKind::Room, &spending.blocked_rooms)
        || listed(BlockKind::World, &spending.blocked_worlds)
        || blocks
            .iter()
            .filter(|block| block.source == room.source)
            .any(|block| meets(block.kind, block.remote.as_str()))
}
