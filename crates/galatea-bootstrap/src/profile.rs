//! Profile of a person in one place. A profile is made of their facts of one scope
//! and place, has that scope and place itself, and keeps the ids of the facts.

use galatea_core::{
    Derived, EntityId, Memory, MemoryId, MemoryKind, MemoryScope, Result, Turn, fact,
    store::RecallQuery,
};
use std::collections::{HashMap, HashSet};

use crate::fact::view;

/// Facts that a person has before a profile is worth its call.
pub(crate) const LEAST_FACTS: usize = 5;
/// Facts that a profile is made of, the newest.
pub(crate) const MOST_FACTS: u32 = 40;
/// Facts that are newer than a profile before it is made again. Until then they are shown beside it.
const NEW_FACTS: usize = 3;
/// Profiles read at least: some of them may no longer hold.
const READ: u32 = 8;
/// Longest profile, in graphemes: about 150 tokens.
pub(crate) const LONGEST: usize = 600;

/// The scope of a profile that is made in this room: that of what people say here of themselves. No
/// fact of a narrower scope becomes part of it.
pub(crate) fn scope(turn: &Turn<'_>, person: EntityId) -> MemoryScope {
    fact::scope(turn.room, person, person)
}

/// The newest facts about a person of this scope and place, that hold.
pub(crate) async fn facts(
    turn: &Turn<'_>,
    person: EntityId,
    scope: MemoryScope,
) -> Result<Vec<Memory>> {
    let visible = view::of_person(turn, &[person]);
    let query = RecallQuery {
        people: vec![person],
        ..RecallQuery::new(visible, "", 2 * MOST_FACTS, turn.now()).kind(MemoryKind::Facts)
    };
    let found = turn.store.recall(&query).await?;
    let facts = found.into_iter().filter(|hit| hit.scope == scope).map(|hit| hit.memory);
    Ok(facts.take(MOST_FACTS as usize).collect())
}

/// The profiles of these people that may be seen here, with their sources.
pub(crate) async fn of(
    turn: &Turn<'_>,
    people: &[EntityId],
    visible: &[EntityId],
) -> Result<Vec<Derived>> {
    let most = u32::try_from(people.len().saturating_mul(2)).unwrap_or(u32::MAX).max(READ);
    let query = RecallQuery {
        people: people.to_vec(),
        ..RecallQuery::new(view::of_person(turn, visible), "", most, turn.now())
            .kind(MemoryKind::Profiles)
    };
    let found: Vec<MemoryId> =
        turn.store.recall(&query).await?.into_iter().map(|hit| hit.memory.id).collect();
    if found.is_empty() {
        return Ok(Vec::new());
    }
    turn.store.derived(turn.agent.identity.id(), &found).await
}

/// Profiles of these whose facts all hold: a profile with a fact that was replaced says what is
/// no longer true.
pub(crate) async fn current(turn: &Turn<'_>, profiles: Vec<Derived>) -> Result<Vec<Derived>> {
    let sources: Vec<MemoryId> =
        profiles.iter().flat_map(|profile| profile.sources.iter().copied()).collect();
    if sources.is_empty() {
        return Ok(Vec::new());
    }
    let known = turn.store.derived(turn.agent.identity.id(), &sources).await?;
    let holds: HashMap<MemoryId, bool> =
        known.iter().map(|fact| (fact.memory.id, fact.valid_until.is_none())).collect();
    let is_current = |profile: &Derived| {
        profile.sources.iter().all(|source| holds.get(source).copied().unwrap_or(false))
    };
    Ok(profiles.into_iter().filter(is_current).collect())
}

/// True if a profile has to be made of these facts, in place of the one that there is.
pub(crate) fn is_due(facts: &[Memory], profile: Option<&Derived>) -> bool {
    if facts.len() < LEAST_FACTS {
        return false;
    }
    let Some(profile) = profile else { return true };
    let holds: HashSet<MemoryId> = facts.iter().map(|fact| fact.id).collect();
    let new = facts.iter().filter(|fact| !profile.sources.contains(&fact.id)).count();
    // Of many facts the oldest leave the profile without having been replaced.
    let full = facts.len() >= MOST_FACTS as usize;
    new >= NEW_FACTS || (!full && profile.sources.iter().any(|source| !holds.contains(source)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_core::{AgentId, Content, RoomId, Timestamp};

    fn facts(many: usize) -> Vec<Memory> {
        let fact = |n: usize| Memory {
            id: MemoryId::fresh(),
            kind: MemoryKind::Facts,
            agent_id: AgentId::fresh(),
            entity_id: EntityId::fresh(),
            room_id: RoomId::fresh(),
            world_id: None,
            content: Content::text(format!("fact {n}")),
            metadata: serde_json::Map::new(),
            created_at: Timestamp(1),
        };
        (0..many).map(fact).collect()
    }

    fn profile(of: &[Memory]) -> Derived {
        let memory = Memory { kind: MemoryKind::Profiles, ..of[0].clone() };
        Derived::new(memory, MemoryScope::World, of.iter().map(|fact| fact.id).collect())
    }

    #[test]
    fn a_profile_is_made_of_five_facts_and_again_when_they_changed() {
        let all = facts(9);
        assert!(!is_due(&all[..4], None) && is_due(&all[..5], None));
        let made = profile(&all[..5]);
        assert!(!is_due(&all[..5], Some(&made)) && !is_due(&all[..7], Some(&made)));
        assert!(is_due(&all[..8], Some(&made)), "three are new");
        assert!(is_due(&all[1..7], Some(&made)), "one was replaced");
        let many = facts(MOST_FACTS as usize + 1);
        let made = profile(&many[1..]);
        assert!(!is_due(&many[..many.len() - 1], Some(&made)), "one has only left the newest");
    }
}
