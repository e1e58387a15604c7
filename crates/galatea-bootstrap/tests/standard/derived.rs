//! Derived memories of the double: the rules of the contract.

use async_trait::async_trait;
use galatea_core::{
    AgentId, Derived, Memory, MemoryId, MemoryScope, Result,
    store::{DerivedChange, DerivedStore},
};

use crate::double::{Double, Tables};

impl Tables {
    /// A memory with its scope, validity and sources. One that was stored as a plain memory has its
    /// room's scope.
    pub(crate) fn whole(&self, memory: &Memory) -> Derived {
        Self::whole_of(memory, self.derived.get(&memory.id))
    }

    pub(crate) fn whole_of(memory: &Memory, known: Option<&Derived>) -> Derived {
        known
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
