//! A store with the methods that plugins use, whose rows a test sets and reads. It counts its calls.
//! Searches are those of the real store (`search.rs`).

use async_trait::async_trait;
use galatea_core::{
    AgentId, Derived, Embedding, Entity, EntityId, Error, ErrorKind, Memory, MemoryId, MemoryKind,
    Participant, ParticipantState, Relationship, Result, Room, RoomId, Sent, Task, TaskId,
    Timestamp, World, WorldId,
    content::Content,
    store::{
        CacheStore, EmbeddingClaim, EmbeddingStore, EntityStore, MemoryQuery, MemoryStore,
        NewEmbedding, OlderEmbeddings, RecallQuery, RelationshipStore, RoomStore, TaskStore,
        Unembedded, UsageRow, WorldStore,
    },
};
use serde_json::Value;
use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard},
};
use tokio::sync::Semaphore;

use crate::search::Filled;

#[derive(Default)]
pub(crate) struct Tables {
    pub(crate) worlds: Vec<World>,
    pub(crate) rooms: Vec<Room>,
    pub(crate) participants: Vec<Participant>,
    pub(crate) entities: Vec<Entity>,
    pub(crate) memories: Vec<Memory>,
    pub(crate) embeddings: HashMap<MemoryId, (String, Embedding)>,
    /// Scope, validity and sources of derived memories.
    pub(crate) derived: HashMap<MemoryId, Derived>,
    /// Messages that were deleted.
    pub(crate) gone: Vec<MemoryId>,
    /// Messages before messages, as they are claimed.
    pub(crate) before: HashMap<MemoryId, Memory>,
    /// The messages that embeddings were made with.
    pub(crate) made_with: HashMap<MemoryId, MemoryId>,
    /// Memories that the embedding model refuses.
    pub(crate) given_up: Vec<MemoryId>,
    pub(crate) relationships: Vec<Relationship>,
    /// Entities that are one person.
    pub(crate) linked: Vec<Vec<EntityId>>,
    pub(crate) tasks: Vec<Task>,
    pub(crate) cache: BTreeMap<String, Value>,
    /// What each value replaced.
    pub(crate) cached_before: BTreeMap<String, Value>,
    pub(crate) asked: usize,
    /// How often the models before the present one were asked for.
    pub(crate) older_asked: usize,
    /// What was searched for.
    pub(crate) queries: Vec<RecallQuery>,
    /// Usage that was stored with embeddings.
    pub(crate) usage: Vec<UsageRow>,
    /// How storing embeddings ends.
    pub(crate) stores_embeddings: Ending,
    /// Whether storing relationships fails.
    pub(crate) refuses_relationships: bool,
    /// Storing embeddings waits for a permit.
    pub(crate) held: Option<Arc<Semaphore>>,
}

/// How a change ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Ending {
    #[default]
    Stored,
    Refused,
    /// Stored, and reported with an unknown outcome.
    Unknown,
}

#[derive(Default)]
pub(crate) struct Double {
    tables: Mutex<Tables>,
    /// The database of the last search.
    pub(crate) filled: tokio::sync::Mutex<Option<Arc<Filled>>>,
}

impl Double {
    pub(crate) fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap()
    }

    pub(crate) fn asked(&self) -> MutexGuard<'_, Tables> {
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
}

#[async_trait]
impl RoomStore for Double {
    async fn room(&self, id: RoomId) -> Result<Option<Room>> {
        Ok(self.asked().rooms.iter().find(|r| r.id == id).cloned())
    }
    async fn rooms(&self, world: WorldId) -> Result<Vec<Room>> {
        Ok(self.asked().rooms.iter().filter(|r| r.world_id == world).cloned().collect())
    }
    async fn rooms_of(&self, _: AgentId, _: EntityId) -> Result<Vec<Room>> {
        unused()
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
    async fn entities_in_world(&self, world: WorldId, limit: u32) -> Result<Vec<Entity>> {
        let tables = self.asked();
        let is_of_world =
            |id: RoomId| tables.rooms.iter().any(|room| room.id == id && room.world_id == world);
        let there = |e: &&Entity| {
            tables.participants.iter().any(|p| is_of_world(p.room_id) && p.entity_id == e.id)
        };
        Ok(tables.entities.iter().filter(there).take(limit as usize).cloned().collect())
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
            self.asked().memories.iter().rev().filter(|m| matches(query, m)).cloned().collect();
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
    async fn save_new_embeddings(
        &self,
        _: AgentId,
        model: &str,
        embeddings: &[NewEmbedding<'_>],
        usage: &[UsageRow],
    ) -> Result<u64> {
        let held = self.tables().held.clone();
        if let Some(held) = held {
            held.acquire().await.unwrap().forget();
        }
        let mut tables = self.asked();
        if tables.stores_embeddings == Ending::Refused {
            return Err(Error::new(ErrorKind::Unavailable, "the database is away"));
        }
        tables.usage.extend(usage.iter().cloned());
        let mut kept = 0;
        for NewEmbedding { memory, before, embedding } in embeddings {
            if tables
                .memories
                .iter()
                .any(|m| m.id == memory.id && m.content.text == memory.content.text)
            {
                tables.embeddings.insert(memory.id, (model.to_owned(), embedding.clone()));
                tables.made_with.extend(before.map(|before| (memory.id, before.id)));
                kept += 1;
            }
        }
        if tables.stores_embeddings == Ending::Unknown {
            let lost = Error::new(ErrorKind::Unavailable, "the connection broke");
            return Err(lost.with_sent(Sent::Maybe));
        }
        Ok(kept)
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
            .filter(|m| matches(query, m) && !has(m) && !tables.given_up.contains(&m.id))
            .take(query.limit as usize)
            .cloned()
            .collect())
    }
    async fn claim_unembedded(&self, claim: &EmbeddingClaim) -> Result<Vec<Unembedded>> {
        let tables = self.asked();
        let waits = |m: &&Memory| {
            m.agent_id == claim.agent
                && (claim.kinds.is_empty() || claim.kinds.contains(&m.kind))
                && !m.content.text.is_empty()
                && !tables.given_up.contains(&m.id)
                && tables.embeddings.get(&m.id).is_none_or(|(of, _)| *of != claim.model)
        };
        let waiting = tables.memories.iter().rev().filter(waits).take(claim.limit as usize);
        Ok(waiting
            .map(|m| Unembedded { memory: m.clone(), before: tables.before.get(&m.id).cloned() })
            .collect())
    }
    async fn older_embeddings(
        &self,
        agent: AgentId,
        kinds: &[MemoryKind],
        model: &str,
    ) -> Result<Vec<OlderEmbeddings>> {
        let mut tables = self.asked();
        tables.older_asked += 1;
        let mut found: Vec<OlderEmbeddings> = Vec::new();
        let searched = |m: &&Memory| m.agent_id == agent && kinds.contains(&m.kind);
        for memory in tables.memories.iter().filter(searched) {
            let Some((of, embedding)) = tables.embeddings.get(&memory.id) else { continue };
            let older = OlderEmbeddings { model: of.clone(), width: embedding.width() };
            if of != model && !found.contains(&older) {
                found.push(older);
            }
        }
        Ok(found)
    }
    async fn give_up_embedding(&self, _: AgentId, ids: &[MemoryId]) -> Result<()> {
        self.asked().given_up.extend(ids);
        Ok(())
    }
}

#[async_trait]
impl RelationshipStore for Double {
    async fn save_relationship(&self, relationship: &Relationship) -> Result<()> {
        let mut tables = self.asked();
        if tables.refuses_relationships {
            return Err(Error::unexpected("a relationship cannot be stored"));
        }
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
    async fn linked(&self, _: AgentId, entity: EntityId) -> Result<Vec<EntityId>> {
        let tables = self.asked();
        let of = |group: &&Vec<EntityId>| group.contains(&entity);
        let others = tables.linked.iter().find(of).cloned().unwrap_or_default();
        Ok(others.into_iter().filter(|other| *other != entity).collect())
    }
}

#[async_trait]
impl TaskStore for Double {
    async fn save_task(&self, task: &Task) -> Result<()> {
        self.asked().tasks.push(task.clone());
        Ok(())
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
        let mut tables = self.asked();
        if let Some(before) = tables.cache.insert(key.to_owned(), value.clone()) {
            tables.cached_before.insert(key.to_owned(), before);
        }
        Ok(())
    }
    async fn swap(
        &self,
        _: AgentId,
        key: &str,
        seen: Option<&Value>,
        value: &Value,
    ) -> Result<bool> {
        let mut tables = self.asked();
        let unchanged = tables.cache.get(key) == seen;
        if unchanged {
            tables.cache.insert(key.to_owned(), value.clone());
        }
        Ok(unchanged)
    }
    async fn forget(&self, _: AgentId, key: &str) -> Result<()> {
        self.asked().cache.remove(key);
        Ok(())
    }
}
