//! Keeps the number of facts of a room bounded. The least used ones about one person are merged into
//! fewer. If that is not enough, the least used expire. They stay in the store with their time, and
//! the log says how many they are.

use galatea_core::{
    Derived, MemoryId, MemoryKind, Result, Timestamp, Turn,
    model::Tier,
    store::{DerivedChange, MemoryQuery, Superseded},
};
use serde_json::json;
use std::{
    cmp::Reverse,
    collections::{HashMap, HashSet},
};

use crate::{
    fact::merge::{self, MergeAnswers, Merged},
    learning_cache::LearningCache,
};

/// Facts per room that hold at once. A prompt shows a dozen of them.
pub(crate) const PER_ROOM: usize = 500;
/// Number of facts left after a consolidation: room for the next reflections.
const LEFT: usize = PER_ROOM - PER_ROOM / 10;
/// Number of facts that may hold while the model that merges them cannot be asked.
const MOST: usize = PER_ROOM + PER_ROOM / 5;
/// The least used that are offered to the model: so many times what has to go, since several become
/// one and some fit no other.
const OFFERED: usize = 3;
/// Facts read by one consolidation, expired ones among them.
const READ: u32 = 4 * 500;

/// Merges the least used facts of the turn's room, if there are too many, until `until`; expires the
/// rest of what has to go.
pub(crate) async fn consolidate(
    cache: &LearningCache,
    turn: &Turn<'_>,
    until: Timestamp,
) -> Result<()> {
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
    let order = least_used(&valid, &uses);
    let mut too_many = valid.len() - LEFT;
    let offered: Vec<&Derived> = order.iter().take(OFFERED * too_many).copied().collect();
    let MergeAnswers { merged, failed, .. } = ask(turn, &offered, until).await;
    if failed && valid.len() <= MOST {
        // The next reflection asks again.
        too_many = 0;
    }
    let merged = still_valid(turn, merged).await?;
    let change = change(&order, merged, too_many, turn.now());
    let expired = change.superseded.iter().filter(|gone| gone.by.is_none()).count();
    let (made, parts) = (change.new.len(), change.superseded.len() - expired);
    turn.store.change_derived(agent, &change).await?;
    tracing::info!(room = %room, merged = parts, into = made, expired, "the facts of a room reached their limit; the least used about one person were merged, and those that expired are no longer shown");
    Ok(())
}

/// Asks the model, and says what that used.
async fn ask(turn: &Turn<'_>, offered: &[&Derived], until: Timestamp) -> MergeAnswers {
    let started = turn.now();
    let answers = merge::merge(turn, offered, until).await;
    if let Some(usage) = answers.usage {
        let info = turn.models.text(Tier::TextSmall).info();
        let took = turn.now().since(started);
        turn.events.model_used(turn.id, &info.provider, &info.model, usage, took);
    }
    answers
}

/// Keep the merged facts whose parts all still hold. The model was asked for seconds, in which a
/// person may have corrected one of them.
async fn still_valid(turn: &Turn<'_>, merged: Vec<Merged>) -> Result<Vec<Merged>> {
    let ids: Vec<MemoryId> = merged.iter().flat_map(|one| one.parts.iter().copied()).collect();
    if ids.is_empty() {
        return Ok(merged);
    }
    let facts = turn.store.derived(turn.agent.identity.id(), &ids).await?;
    let valid: HashSet<MemoryId> =
        facts.iter().filter(|fact| fact.valid_until.is_none()).map(|fact| fact.memory.id).collect();
    Ok(merged.into_iter().filter(|one| one.parts.iter().all(|id| valid.contains(id))).collect())
}

/// Changes that are stored: merged facts in place of their parts, and the end of the least used
/// others until `too_many` have gone.
fn change(
    order: &[&Derived],
    merged: Vec<Merged>,
    too_many: usize,
    now: Timestamp,
) -> DerivedChange {
    let mut change = DerivedChange::default();
    let mut gone = HashSet::new();
    let mut left = too_many;
    for Merged { new, parts } in merged {
        left = left.saturating_sub(parts.len().saturating_sub(1));
        let by = Some(new.memory.id);
        change.superseded.extend(parts.iter().map(|id| Superseded { id: *id, at: now, by }));
        gone.extend(parts);
        change.new.push(new);
    }
    let expired = order.iter().map(|fact| fact.memory.id).filter(|id| !gone.contains(id));
    change.superseded.extend(expired.take(left).map(|id| Superseded { id, at: now, by: None }));
    change
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

/// The facts that were shown least first, then those with the fewest sources, then the oldest. What a
/// person asked to remember is not among them.
fn least_used<'a>(valid: &[&'a Derived], uses: &HashMap<MemoryId, u64>) -> Vec<&'a Derived> {
    let mut order: Vec<&Derived> =
        valid.iter().copied().filter(|fact| !fact.memory.metadata.contains_key("key")).collect();
    order.sort_by_key(|fact| {
        let shown = uses.get(&fact.memory.id).copied().unwrap_or(0);
        (shown, fact.sources.len(), fact.memory.created_at, Reverse(fact.memory.id.0))
    });
    order
}
