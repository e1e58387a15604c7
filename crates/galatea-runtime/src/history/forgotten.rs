//! Messages of people who were forgotten, which an import must not bring back. Their ids do not tell:
//! exports count messages in another way than bots, and have messages that the bot never received.

use galatea_core::{Entity, EntityId, Memory, MemoryId, Result, RoomId, Store};
use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::read::Read;

/// True if a person was forgotten and has not been seen since. Forgetting leaves neither names nor
/// metadata; what a platform reports of a person without a name has their id in the metadata.
pub fn is_forgotten(person: &Entity) -> bool {
    person.names.is_empty() && person.metadata.is_empty()
}

/// Adds to `found`, the messages of forgotten people so far, those among `read`, the agent's answers to
/// them, and what the agent said in direct Rooms in which only such people are.
///
/// # Errors
/// Those of the store.
pub(super) async fn find(
    store: &dyn Store,
    agent: EntityId,
    read: &[Read],
    found: &mut HashSet<MemoryId>,
) -> Result<()> {
    let memories = || read.iter().filter_map(|one| one.memory.as_ref());
    let mut direct: BTreeMap<RoomId, BTreeSet<EntityId>> = BTreeMap::new();
    for memory in read.iter().filter(|one| one.is_direct).filter_map(|one| one.memory.as_ref()) {
        direct.entry(memory.room_id).or_default().insert(memory.entity_id);
    }
    for (room, people) in &mut direct {
        let known = store.participants(*room).await?;
        people.extend(known.into_iter().map(|participant| participant.entity_id));
        people.remove(&agent);
    }
    let mut people: BTreeSet<EntityId> = direct.values().flatten().copied().collect();
    people.extend(memories().map(|memory| memory.entity_id));
    people.remove(&agent);
    let people: Vec<EntityId> = people.into_iter().collect();
    let stored = store.entities(&people).await?;
    let forgotten: HashSet<EntityId> =
        stored.iter().filter(|person| is_forgotten(person)).map(|person| person.id).collect();
    let is_theirs = |room: RoomId| {
        let people = direct.get(&room);
        people.is_some_and(|all| !all.is_empty() && all.iter().all(|one| forgotten.contains(one)))
    };
    found.extend(memories().filter(|one| forgotten.contains(&one.entity_id)).map(|one| one.id));
    let is_answer = |memory: &&Memory| {
        memory.entity_id == agent
            && (is_theirs(memory.room_id)
                || memory.content.in_reply_to.is_some_and(|to| found.contains(&to)))
    };
    let answers: Vec<MemoryId> = memories().filter(is_answer).map(|memory| memory.id).collect();
    found.extend(answers);
    Ok(())
}
