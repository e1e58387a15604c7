//! Derived memories and search in the in-memory store: the rules of the contract, without an index.

use async_trait::async_trait;
use galatea_core::{
    AgentId, Derived, Memory, MemoryId, MemoryKind, MemoryScope, Result,
    store::{DerivedChange, DerivedStore, RecallQuery, RecallStore, Recalled},
};
use std::collections::HashSet;

use crate::double::{Double, Tables};

impl Tables {
    /// A memory with its scope, validity and sources. One that was stored as a plain memory has its
    /// room's scope.
    pub(crate) fn whole(&self, memory: &Memory) -> Derived {
        self.derived
            .get(&memory.id)
            .map(|known| Derived { memory: memory.clone(), ..known.clone() })
            .unwrap_or_else(|| Derived::new(memory.clone(), MemoryScope::Room, Vec::new()))
    }
}

#[async_trait]
impl DerivedStore for Double {
    async fn change_derived(&self, agent: AgentId, change: &DerivedChange) -> Result<u64> {
        let mut tables = self.asked();
        let mut stored = 0;
        for new in change.new.iter().filter(|new| new.memory.agent_id == agent) {
            let gone = |id: &MemoryId| tables.gone.contains(id);
            if new.sources.iter().any(gone) || tables.memories.iter().any(|m| m.id == new.memory.id)
            {
                continue;
            }
            tables.memories.push(new.memory.clone());
            tables.derived.insert(new.memory.id, new.clone());
            stored += 1;
        }
        let known: Vec<Memory> = tables.memories.clone();
        for memory in known.iter().filter(|memory| memory.agent_id == agent) {
            let whole = tables.whole(memory);
            tables.derived.entry(memory.id).or_insert(whole);
        }
        for (id, source) in &change.confirmed {
            if let Some(row) = tables.derived.get_mut(id)
                && !row.sources.contains(source)
            {
                row.sources.push(*source);
            }
        }
        for ended in &change.superseded {
            if let Some(row) = tables.derived.get_mut(&ended.id)
                && row.valid_until.is_none()
            {
                (row.valid_until, row.superseded_by) = (Some(ended.at), ended.by);
            }
        }
        for id in &change.restored {
            if let Some(row) = tables.derived.get_mut(id) {
                (row.valid_until, row.superseded_by) = (None, None);
            }
        }
        tables.memories.retain(|memory| !change.removed.contains(&memory.id));
        Ok(stored)
    }
    async fn derived(&self, agent: AgentId, ids: &[MemoryId]) -> Result<Vec<Derived>> {
        let tables = self.asked();
        let wanted = |m: &&Memory| m.agent_id == agent && ids.contains(&m.id);
        Ok(tables.memories.iter().filter(wanted).map(|memory| tables.whole(memory)).collect())
    }
    async fn derived_from(&self, agent: AgentId, sources: &[MemoryId]) -> Result<Vec<Derived>> {
        let tables = self.asked();
        let mine = tables.memories.iter().filter(|memory| memory.agent_id == agent);
        Ok(mine
            .map(|memory| tables.whole(memory))
            .filter(|row| row.sources.iter().any(|source| sources.contains(source)))
            .collect())
    }
}

/// The messages before and after a message.
fn beside(tables: &Tables, message: &Memory) -> [Option<Memory>; 2] {
    let is_said =
        |other: &&Memory| (other.kind, other.room_id) == (MemoryKind::Messages, message.room_id);
    let said: Vec<&Memory> = tables.memories.iter().filter(is_said).collect();
    let at = said.iter().position(|other| other.id == message.id);
    let of = |at: Option<usize>| at.and_then(|at| said.get(at)).map(|memory| (*memory).clone());
    [of(at.and_then(|at| at.checked_sub(1))), of(at.map(|at| at + 1))]
}

fn word_set(text: &str) -> HashSet<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.chars().count() > 2)
        .map(str::to_lowercase)
        .collect()
}

#[async_trait]
impl RecallStore for Double {
    async fn recall(&self, query: &RecallQuery) -> Result<Vec<Recalled>> {
        let mut tables = self.asked();
        tables.queries.push(query.clone());
        let wanted = word_set(&query.text);
        let newest = query.text.trim().is_empty() && query.meanings.is_empty();
        let mut found: Vec<Recalled> = Vec::new();
        for memory in &tables.memories {
            let row = tables.whole(memory);
            let eligible = query.visible.shows(memory, row.scope)
                && query.sorts().contains(&memory.kind)
                && query.room.is_none_or(|room| memory.room_id == room)
                && (query.people.is_empty() || query.people.contains(&memory.entity_id))
                && query.since.is_none_or(|since| memory.created_at >= since)
                && query.before.is_none_or(|before| memory.created_at < before)
                && (query.superseded || row.valid_until.is_none());
            let shared = word_set(&memory.content.text).intersection(&wanted).count();
            let similar = query.meanings.iter().find_map(|meaning| {
                let (model, embedding) = tables.embeddings.get(&memory.id)?;
                (*model == meaning.model)
                    .then(|| meaning.embedding.similarity(embedding.numbers()))
                    .flatten()
            });
            if !eligible || !(newest || shared > 0 || similar.is_some()) {
                continue;
            }
            let [before, after] =
                if query.neighbours { beside(&tables, memory) } else { [None, None] };
            let score = f32::from(u16::try_from(shared).unwrap()) + similar.unwrap_or_default();
            found.push(Recalled {
                memory: memory.clone(),
                scope: row.scope,
                valid_until: row.valid_until,
                score,
                words: None,
                coverage: share(shared, wanted.len()),
                meaning: None,
                before,
                after,
            });
        }
        found.sort_by_key(|hit| std::cmp::Reverse(hit.memory.created_at));
        found.sort_by(|a, b| b.score.total_cmp(&a.score));
        found.truncate(query.limit as usize);
        Ok(found)
    }
}

fn share(of: usize, all: usize) -> f32 {
    f32::from(u16::try_from(of).unwrap()) / f32::from(u16::try_from(all.max(1)).unwrap())
}
