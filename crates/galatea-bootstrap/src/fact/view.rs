//! From where a turn looks at what is remembered.

use galatea_core::{EntityId, Memory, Turn, Visibility};

/// What may be shown in the room of a turn. In a direct room that includes what is private to its
/// person, unless another person speaks there as well.
pub(crate) fn visibility(turn: &Turn<'_>) -> Visibility {
    Visibility::in_room(turn.room, &only_person(turn))
}

/// The person who speaks with the agent, if only one does.
fn only_person(turn: &Turn<'_>) -> Vec<EntityId> {
    let own = turn.agent.identity.entity();
    let person = turn.message.entity_id;
    let is_other = |memory: &Memory| memory.entity_id != own && memory.entity_id != person;
    let crowd =
        turn.merged.iter().any(&is_other) || turn.recent.iter().any(|memory| is_other(memory));
    if crowd || person == own { Vec::new() } else { vec![person] }
}
