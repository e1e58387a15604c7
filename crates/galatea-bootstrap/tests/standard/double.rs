//! An in-memory store with the methods that plugins use. Counts its calls.

use async_trait::async_trait;
use galatea_core::{
    AgentId, Derived, Embedding, Entity, EntityId, Error, ErrorKind, Memory, MemoryId, MemoryScope,
    Participant, ParticipantState, Relationship, Result, Room, RoomId, Task, TaskId, Timestamp,
    World, WorldId,
    content::Content,
    store::{
        CacheStore, DerivedChange, DerivedStore, EmbeddingClaim, EmbeddingStore, EntityStore,
        MemoryQuery, MemoryStore, RecallQuery, RecallStore, Recalled, RelationshipStore, RoomStore,
        SimilarityQuery, TaskStore, Unembedded, WorldStore,
    },
};
use serde_json::Value;
use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, MutexGuard},
};

#[derive(Default)]
pub(crate) struct Tables {
    pub(crate) worlds: Vec<World>,
    pub(crate) rooms: Vec<Room>,
    pub(crate) participants: Vec<Participant>,
    pub(crate) entities: Vec<Entity>,
    pub(crate) memories: Vec<Memory>,
    pub(crate) derived: HashMap<MemoryId, Derived>,
    pub(crate) embeddings: HashMap<MemoryId, (String, Embedding)>,
    pub(crate) relationships: Vec<Relationship>,
    pub(crate) tasks: Vec<Task>,
    pub(crate) cache: BTreeMap<String, Value>,
    pub(crate) asked: usize,
}

#[derive(Default)]
pub(crate) struct Double(Mutex<Tables>);

impl Double {
    pub(crate) fn tables(&self) -> MutexGuard<'_, Tables> {
        self.0.lock().unwrap()
    }

    fn asked(&self) -> MutexGuard<'_, Tables> {
        let mut tables = self.tables();
        tables.asked += 1;
        tables
    }
}

fn unused<T>() -> Result<T> {
    Err(Error::new(ErrorKind::Unsupported, "the standard plugin does not use this"))
}

#[async_trait]
impl WorldStore for Double {
    async fn world(&self, id: WorldId) -> Result<Option<World>> {
        Ok(self.asked().worlds.iter().find(|w| w.id == id).cloned())
    }
    async fn worlds(&self, agent: AgentId) -> Result<Vec<World>> {
        Ok(self.asked().worlds.iter().filter(|w| w.agent_id == agent).cloned().collect())
    }
    async fn save_world(&self, world: &World) -> Result<()> {
        self.asked().worlds.push(world.clone());
        Ok(())
    }
}

#[async_trait]
impl RoomStore for Double {
    async fn room(&self, id: RoomId) -> Result<Option<Room>> {
        Ok(self.asked().rooms.iter().find(|r| r.id == id).cloned())
    }
    async fn rooms(&self, world: WorldId) -> Result<Vec<Room>> {
        Ok(self.asked().rooms.iter().filter(|r| r.world_id == world).cloned().collect())
    }
    async fn private_rooms(&self, _: AgentId, _: EntityId) -> Result<Vec<Room>> {
        unused()
    }
    async fn save_room(&self, room: &Room) -> Result<()> {
        self.asked().rooms.push(room.clone());
        Ok(())
    }
    async fn participants(&self, room: RoomId) -> Result<Vec<Participant>> {
        Ok(self.asked().participants.iter().filter(|p| p.room_id == room).cloned().collect())
    }
    async fn participant_state(
        &self,
        room: RoomId,
        entity: EntityId,
    ) -> Result<Option<ParticipantState>> {
        Ok(self
            .asked()
            .participants
            .iter()
            .find(|p| p.room_id == room && p.entity_id == entity)
            .and_then(|p| p.state))
    }
    async fn set_participant_state(
        &self,
        _: RoomId,
        _: EntityId,
        _: Option<ParticipantState>,
    ) -> Result<()> {
        unused()
    }
    async fn remove_participants(&self, _: RoomId, _: &[EntityId]) -> Result<()> {
        unused()
    }
}

#[async_trait]
impl EntityStore for Double {
    async fn entities(&self, ids: &[EntityId]) -> Result<Vec<Entity>> {
        Ok(self.asked().entities.iter().filter(|e| ids.contains(&e.id)).cloned().collect())
    }
    async fn entities_in_room(&self, room: RoomId) -> Result<Vec<Entity>> {
        let tables = self.asked();
        let there = |e: &&Entity| {
            tables.participants.iter().any(|p| p.room_id == room && p.entity_id == e.id)
        };
        Ok(tables.entities.iter().filter(there).cloned().collect())
    }
    async fn save_entity(&self, entity: &Entity) -> Result<()> {
        self.asked().entities.push(entity.clone());
        Ok(())
    }
}

fn matches(query: &MemoryQuery, memory: &Memory) -> bool {
    memory.agent_id == query.agent
        && (query.kinds.is_empty() || query.kinds.contains(&memory.kind))
        && query.room.is_none_or(|room| memory.room_id == room)
        && query.world.is_none_or(|world| memory.world_id == Some(world))
        && query.entity.is_none_or(|entity| memory.entity_id == entity)
        && query.since.is_none_or(|since| memory.created_at >= since)
        && query.before.is_none_or(|before| memory.created_at < before)
}

#[async_trait]
impl MemoryStore for Double {
    async fn memory(&self, id: MemoryId) -> Result<Option<Memory>> {
        Ok(self.asked().memories.iter().find(|m| m.id == id).cloned())
    }
    async fn memory_ids(&self, _: MemoryId, _: MemoryId, _: u32) -> Result<Vec<MemoryId>> {
        Ok(Vec::new())
    }
    async fn memories(&self, query: &MemoryQuery) -> Result<Vec<Memory>> {
        let mut found: Vec<Memory> =
            self.asked().memories.iter().filter(|m| matches(query, m)).cloned().collect();
        found.sort_by_key(|m| std::cmp::Reverse(m.created_at));
        found.truncate(query.limit as usize);
        Ok(found)
    }
    async fn count_memories(&self, query: &MemoryQuery) -> Result<u64> {
        Ok(self.asked().memories.iter().filter(|m| matches(query, m)).count() as u64)
    }
    async fn save_memories(&self, memories: &[Memory]) -> Result<()> {
        let mut tables = self.asked();
        for memory in memories {
            if !tables.memories.iter().any(|m| m.id == memory.id) {
                tables.memories.push(memory.clone());
            }
        }
        Ok(())
    }
    async fn update_content(
        &self,
        agent: AgentId,
        id: MemoryId,
        content: &Content,
    ) -> Result<bool> {
        let mut tables = self.asked();
        tables.embeddings.remove(&id);
        let found = tables.memories.iter_mut().find(|m| m.id == id && m.agent_id == agent);
        Ok(found.map(|m| m.content = content.clone()).is_some())
    }
    async fn delete_memories(&self, agent: AgentId, ids: &[MemoryId]) -> Result<u64> {
        let mut tables = self.asked();
        let before = tables.memories.len();
        tables.memories.retain(|m| m.agent_id != agent || !ids.contains(&m.id));
        tables.embeddings.retain(|id, _| !ids.contains(id));
        Ok((before - tables.memories.len()) as u64)
    }
}

#[async_trait]
impl EmbeddingStore for Double {
    async fn save_embeddings(
        &self,
        _: AgentId,
        model: &str,
        embeddings: &[(&Memory, Embedding)],
    ) -> Result<u64> {
        let mut tables = self.asked();
        let mut kept = 0;
        for (memory, embedding) in embeddings {
            if tables
                .memories
                .iter()
                .any(|m| m.id == memory.id && m.content.text == memory.content.text)
            {
                tables.embeddings.insert(memory.id, (model.to_owned(), embedding.clone()));
                kept += 1;
            }
        }
        Ok(kept)
    }
    async fn search_similar(&self, query: &SimilarityQuery) -> Result<Vec<(Memory, f32)>> {
        let tables = self.asked();
        let similarity = |m: &Memory| {
            let (model, embedding) = tables.embeddings.get(&m.id)?;
            if *model == query.model {
                query.embedding.similarity(embedding.numbers())
            } else {
                None
            }
        };
        let candidates = tables.memories.iter().filter(|m| matches(&query.of, m));
        let mut found: Vec<(Memory, f32)> = candidates
            .filter_map(|m| Some((m.clone(), similarity(m)?)))
            .filter(|(_, l)| *l >= query.at_least)
            .collect();
        found.sort_by(|a, b| b.1.total_cmp(&a.1));
        found.truncate(query.of.limit as usize);
        Ok(found)
    }
    async fn without_embedding(
        &self,
        query: &MemoryQuery,
        model: &str,
        width: Option<usize>,
    ) -> Result<Vec<Memory>> {
        let tables = self.asked();
        let has = |m: &Memory| {
            tables
                .embeddings
                .get(&m.id)
                .is_some_and(|(of, e)| of == model && width.is_none_or(|width| width == e.width()))
        };
        Ok(tables
            .memories
            .iter()
            .filter(|m| matches(query, m) && !has(m))
            .take(query.limit as usize)
            .cloned()
            .collect())
    }
    async fn claim_unembedded(&self, claim: &EmbeddingClaim) -> Result<Vec<Unembedded>> {
        let tables = self.asked();
        let waits = |m: &&Memory| {
            m.agent_id == claim.agent
                && (claim.kinds.is_empty() || claim.kinds.contains(&m.kind))
                && tables.embeddings.get(&m.id).is_none_or(|(of, _)| *of != claim.model)
        };
        let waiting = tables.memories.iter().rev().filter(waits).take(claim.limit as usize);
        Ok(waiting.map(|m| Unembedded { memory: m.clone(), before: None }).collect())
    }
    async fn give_up_embedding(&self, _: AgentId, _: &[MemoryId]) -> Result<()> {
        unused()
    }
}

#[async_trait]
impl DerivedStore for Double {
    async fn change_derived(&self, agent: AgentId, change: &DerivedChange) -> Result<u64> {
        let mut tables = self.asked();
        let before = tables.memories.len();
        for derived in change.new.iter().filter(|d| d.memory.agent_id == agent) {
            tables.memories.push(derived.memory.clone());
            tables.derived.insert(derived.memory.id, derived.clone());
        }
        let new = tables.memories.len() - before;
        for superseded in &change.superseded {
            if let Some(derived) = tables.derived.get_mut(&superseded.id) {
                derived.valid_until = Some(superseded.at);
                derived.superseded_by = superseded.by;
            }
        }
        for id in &change.restored {
            if let Some(derived) = tables.derived.get_mut(id) {
                derived.valid_until = None;
            }
        }
        for (id, source) in &change.confirmed {
            if let Some(derived) = tables.derived.get_mut(id) {
                derived.sources.push(*source);
            }
        }
        tables.memories.retain(|m| !change.removed.contains(&m.id));
        Ok(new as u64)
    }
    async fn derived(&self, agent: AgentId, ids: &[MemoryId]) -> Result<Vec<Derived>> {
        let tables = self.asked();
        let of = |m: &&Memory| m.agent_id == agent && ids.contains(&m.id);
        let plain = |m: &Memory| Derived::new(m.clone(), MemoryScope::Room, Vec::new());
        let found = tables.memories.iter().filter(of);
        Ok(found.map(|m| tables.derived.get(&m.id).cloned().unwrap_or_else(|| plain(m))).collect())
    }
    async fn derived_from(&self, agent: AgentId, sources: &[MemoryId]) -> Result<Vec<Derived>> {
        let tables = self.asked();
        let of = |d: &&Derived| {
            d.memory.agent_id == agent && d.sources.iter().any(|id| sources.contains(id))
        };
        Ok(tables.derived.values().filter(of).cloned().collect())
    }
}

#[async_trait]
impl RecallStore for Double {
    /// By shared words, and by meaning; the newest first of equals.
    async fn recall(&self, query: &RecallQuery) -> Result<Vec<Recalled>> {
        let tables = self.asked();
        let words = |text: &str| -> Vec<String> {
            text.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase).collect()
        };
        let asked = words(&query.text);
        let mut found = Vec::new();
        for memory in &tables.memories {
            let derived = tables.derived.get(&memory.id);
            let scope = derived.map_or(MemoryScope::Room, |d| d.scope);
            let valid_until = derived.and_then(|d| d.valid_until);
            let said = words(&memory.content.text);
            let shared = asked.iter().filter(|w| !w.is_empty() && said.contains(w)).count();
            let meaning = query.meanings.iter().find_map(|meaning| {
                let (model, embedding) = tables.embeddings.get(&memory.id)?;
                (*model == meaning.model)
                    .then(|| meaning.embedding.similarity(embedding.numbers()))?
            });
            #[allow(clippy::cast_precision_loss, reason = "a few words")]
            let score = shared as f32 + meaning.unwrap_or(0.0);
            let listed = query.text.is_empty() && query.meanings.is_empty();
            if query.visible.shows(memory, scope)
                && query.sorts().contains(&memory.kind)
                && (query.superseded || valid_until.is_none())
                && query.room.is_none_or(|room| memory.room_id == room)
                && (query.people.is_empty() || query.people.contains(&memory.entity_id))
                && query.since.is_none_or(|since| memory.created_at >= since)
                && query.before.is_none_or(|before| memory.created_at < before)
                && (listed || score > 0.0)
            {
                found.push(Recalled {
                    memory: memory.clone(),
                    scope,
                    valid_until,
                    score,
                    words: None,
                    meaning: None,
                    before: None,
                    after: None,
                });
            }
        }
        found.sort_by(|a, b| {
            b.score.total_cmp(&a.score).then(b.memory.created_at.cmp(&a.memory.created_at))
        });
        found.truncate(query.limit as usize);
        Ok(found)
    }
}

#[async_trait]
impl RelationshipStore for Double {
    async fn save_relationship(&self, relationship: &Relationship) -> Result<()> {
        let mut tables = self.asked();
        tables.relationships.retain(|r| {
            (r.source_entity_id, r.target_entity_id)
                != (relationship.source_entity_id, relationship.target_entity_id)
        });
        tables.relationships.push(relationship.clone());
        Ok(())
    }
    async fn relationships(&self, agent: AgentId, entity: EntityId) -> Result<Vec<Relationship>> {
        let of = |r: &&Relationship| {
            r.agent_id == agent && (r.source_entity_id == entity || r.target_entity_id == entity)
        };
        Ok(self.asked().relationships.iter().filter(of).cloned().collect())
    }
}

#[async_trait]
impl TaskStore for Double {
    async fn save_task(&self, task: &Task) -> Result<()> {
        self.asked().tasks.push(task.clone());
        Ok(())
    }
    async fn due_tasks(&self, _: AgentId, _: Timestamp) -> Result<Vec<Task>> {
        unused()
    }
    async fn tasks(&self, agent: AgentId, tags: &[String]) -> Result<Vec<Task>> {
        Ok(self
            .asked()
            .tasks
            .iter()
            .filter(|t| t.agent_id == agent && tags.iter().all(|tag| t.tags.contains(tag)))
            .cloned()
            .collect())
    }
    async fn delete_task(&self, _: AgentId, id: TaskId) -> Result<bool> {
        let mut tables = self.asked();
        let before = tables.tasks.len();
        tables.tasks.retain(|t| t.id != id);
        Ok(tables.tasks.len() < before)
    }
}

#[async_trait]
impl CacheStore for Double {
    async fn cached(&self, _: AgentId, key: &str, _: Timestamp) -> Result<Option<Value>> {
        Ok(self.asked().cache.get(key).cloned())
    }
    async fn cache(
        &self,
        _: AgentId,
        key: &str,
        value: &Value,
        _: Option<Timestamp>,
    ) -> Result<()> {
        self.asked().cache.insert(key.to_owned(), value.clone());
        Ok(())
    }
    async fn forget(&self, _: AgentId, key: &str) -> Result<()> {
        self.asked().cache.remove(key);
        Ok(())
    }
}
