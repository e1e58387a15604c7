//! From where a turn looks at what is remembered.

use galatea_core::{EntityId, Memory, Result, Turn, Visibility};

/// Memories that may be shown in the room of a turn, of those that belong to the room itself, its
/// World and the agent: messages have no wider scope.
pub(crate) fn of_room(turn: &Turn<'_>) -> Visibility {
    Visibility::in_room(turn.room, &[])
}

/// Memories that may be shown in the room of a turn. In a direct room that includes what is private
/// to its person ([`person`]).
pub(crate) fn of_person(turn: &Turn<'_>, person: &[EntityId]) -> Visibility {
    Visibility::in_room(turn.room, person)
}

/// The one person of a direct room: the entity that speaks, then those that are linked with it.
/// Empty elsewhere, and if another person speaks there as well.
pub(crate) async fn person(turn: &Turn<'_>) -> Result<Vec<EntityId>> {
    let Some(speaker) = only_speaker(turn) else { return Ok(Vec::new()) };
    let mut person = vec![speaker];
    person.extend(turn.store.linked(turn.agent.identity.id(), speaker).await?);
    Ok(person)
}

fn only_speaker(turn: &Turn<'_>) -> Option<EntityId> {
    if !turn.room.kind.is_direct() {
        return None;
    }
    let own = turn.agent.identity.entity();
    let person = turn.message.entity_id;
    let is_other = |memory: &Memory| memory.entity_id != own && memory.entity_id != person;
    let crowd =
        turn.merged.iter().any(&is_other) || turn.recent.iter().any(|memory| is_other(memory));
    (!crowd && person != own).then_some(person)
}
