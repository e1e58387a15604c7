//! Keeps the number of facts of a room bounded. The least used ones expire; they stay in the store
//! with their time, and the log says how many they are.

use galatea_core::{
    Derived, MemoryId, MemoryKind, Result, Turn,
    store::{DerivedChange, MemoryQuery, Superseded},
};
use serde_json::json;
use std::{cmp::Reverse, collections::HashMap};

use crate::learning_cache::LearningCache;

/// Facts per room that hold at once. A prompt shows a dozen of them.
pub(crate) const PER_ROOM: usize = 500;
/// What is left after a consolidation: room for the next reflections.
const LEFT: usize = PER_ROOM - PER_ROOM / 10;
/// Facts read by one consolidation, expired ones among them.
const READ: u32 = 4 * 500;

/// Expires the least used facts of the turn's room, if there are too many.
pub(crate) async fn consolidate(cache: &LearningCache, turn: &Turn<'_>) -> Result<()> {
    let (agent, room) = (turn.agent.identity.id(), turn.room.id);
    let query = MemoryQuery::new(agent, READ).room(room).kind(MemoryKind::Facts);
    let many = turn.store.count_memories(&query).await?;
    if many <= PER_ROOM as u64 {
        return Ok(());
    }
    let ids: Vec<MemoryId> =
        turn.store.memories(&query).await?.into_iter().map(|fact| fact.id).collect();
    let facts = turn.store.derived(agent, &ids).await?;
    let valid: Vec<&Derived> = facts.iter().filter(|fact| fact.valid_until.is_none()).collect();
    if valid.len() <= PER_ROOM {
        return Ok(());
    }
    let uses = count(cache, turn, &valid).await?;
    let expired = least_used(&valid, &uses, valid.len() - LEFT);
    let now = turn.now();
    let superseded = expired.into_iter().map(|id| Superseded { id, at: now, by: None }).collect();
    let change = DerivedChange { superseded, ..DerivedChange::default() };
    turn.store.change_derived(agent, &change).await?;
    tracing::info!(room = %room, expired = change.superseded.len(), left = LEFT, "the facts of a room reached their limit; the least used are no longer shown");
    Ok(())
}

/// Adds what was shown since the last consolidation to the counts in the store.
async fn count(
    cache: &LearningCache,
    turn: &Turn<'_>,
    valid: &[&Derived],
) -> Result<HashMap<MemoryId, u64>> {
    let key = format!("fact-uses:{}", turn.room.id);
    let stored = turn.cache.get(&key, turn.now()).await?;
    let mut uses: HashMap<MemoryId, u64> =
        stored.and_then(|value| serde_json::from_value(value).ok()).unwrap_or_default();
    uses.retain(|id, _| valid.iter().any(|fact| fact.memory.id == *id));
    for (id, times) in cache.take_shown(valid.iter().map(|fact| fact.memory.id)) {
        *uses.entry(id).or_default() += times;
    }
    turn.cache.set(&key, &json!(uses), None).await?;
    Ok(uses)
}

/// The facts that were shown least, then those with the fewest sources, then the oldest. What a
/// person asked to remember stays.
fn least_used(valid: &[&Derived], uses: &HashMap<MemoryId, u64>, count: usize) -> Vec<MemoryId> {
    let mut order: Vec<&&Derived> =
        valid.iter().filter(|fact| !fact.memory.metadata.contains_key("key")).collect();
    order.sort_by_key(|fact| {
        let shown = uses.get(&fact.memory.id).copied().unwrap_or(0);
        (shown, fact.sources.len(), fact.memory.created_at, Reverse(fact.memory.id.0))
    });
    order.into_iter().take(count).map(|fact| fact.memory.id).collect()
}
