//! The store as plugin code sees it: bound to one agent. Ids of other agents give nothing, and rows of
//! other agents are refused.

use async_trait::async_trait;
use galatea_core::{
    AgentId, Content, Derived, Entity, EntityId, Error, ErrorKind, Memory, MemoryId, MemoryKind,
    Relationship, Result, Room, RoomId, Store, Task, TaskId, World, WorldId,
    entity::{Participant, ParticipantState},
    store::{
        DerivedChange, DerivedStore, EmbeddingClaim, EmbeddingStore, EntityStore, MemoryQuery,
        MemoryStore, NewEmbedding, OlderEmbeddings, RecallQuery, RecallStore, Recalled,
        RelationshipStore, RoomStore, TaskQuery, TaskStore, Unembedded, UsageRow, WorldStore,
    },
};
use parking_lot::Mutex;
use std::{collections::HashSet, sync::Arc};

/// Most Rooms that are remembered as the agent's own, of 16 bytes each.
const KNOWN: usize = 10_000;

/// The store of one agent.
pub(crate) struct OwnStore {
    store: Arc<dyn Store>,
    agent: AgentId,
    /// Rooms of the agent that were asked for before: a Room never changes its agent.
    rooms: Mutex<HashSet<RoomId>>,
}

impl OwnStore {
    pub(crate) fn new(store: Arc<dyn Store>, agent: AgentId) -> Self {
        Self { store, agent, rooms: Mutex::default() }
    }

    fn is_own(&self, agent: AgentId) -> bool {
        agent == self.agent
    }

    async fn is_own_room(&self, room: RoomId) -> Result<bool> {
        if self.rooms.lock().contains(&room) {
            return Ok(true);
        }
        let own = self.store.room(room).await?.is_some_and(|room| self.is_own(room.agent_id));
        if own {
            let mut rooms = self.rooms.lock();
            if rooms.len() >= KNOWN {
                rooms.clear();
            }
            rooms.insert(room);
        }
        Ok(own)
    }

    fn refuse_others(&self, mut agents: impl Iterator<Item = AgentId>) -> Result<()> {
        if agents.all(|agent| self.is_own(agent)) {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Forbidden, "a plugin wrote a row of another agent")
            .with_code("GAL-PLUGIN-FOREIGN")
            .with("agent", self.agent)
            .with_fix("take the agent's id from the turn or from the plugin's context"))
    }
}

#[async_trait]
impl WorldStore for OwnStore {
    async fn world(&self, id: WorldId) -> Result<Option<World>> {
        Ok(self.store.world(id).await?.filter(|world| self.is_own(world.agent_id)))
    }
    async fn worlds(&self, agent: AgentId) -> Result<Vec<World>> {
        if self.is_own(agent) { self.store.worlds(agent).await } else { Ok(Vec::new()) }
    }
}

#[async_trait]
impl RoomStore for OwnStore {
    async fn room(&self, id: RoomId) -> Result<Option<Room>> {
        Ok(self.store.room(id).await?.filter(|room| self.is_own(room.agent_id)))
    }
    async fn rooms(&self, world: WorldId) -> Result<Vec<Room>> {
        let mut rooms = self.store.rooms(world).await?;
        rooms.retain(|room| self.is_own(room.agent_id));
        Ok(rooms)
    }
    async fn rooms_of(&self, agent: AgentId, person: EntityId) -> Result<Vec<Room>> {
        if self.is_own(agent) { self.store.rooms_of(agent, person).await } else { Ok(Vec::new()) }
    }
    async fn participants(&self, room: RoomId) -> Result<Vec<Participant>> {
        if self.is_own_room(room).await? {
            self.store.participants(room).await
        } else {
            Ok(Vec::new())
        }
    }
    async fn participant_state(
        &self,
        room: RoomId,
        entity: EntityId,
    ) -> Result<Option<ParticipantState>> {
        if self.is_own_room(room).await? {
            self.store.participant_state(room, entity).await
        } else {
            Ok(None)
        }
    }
}

#[async_trait]
impl EntityStore for OwnStore {
    async fn entities(&self, ids: &[EntityId]) -> Result<Vec<Entity>> {
        let mut entities = self.store.entities(ids).await?;
        entities.retain(|entity| self.is_own(entity.agent_id));
        Ok(entities)
    }
    async fn entities_in_room(&self, room: RoomId) -> Result<Vec<Entity>> {
        let mut entities = self.store.entities_in_room(room).await?;
        entities.retain(|entity| self.is_own(entity.agent_id));
        Ok(entities)
    }
    async fn entities_in_world(&self, world: WorldId, limit: u32) -> Result<Vec<Entity>> {
        let mut entities = self.store.entities_in_world(world, limit).await?;
        entities.retain(|entity| self.is_own(entity.agent_id));
        Ok(entities)
    }
}

#[async_trait]
impl MemoryStore for OwnStore {
    async fn memory(&self, id: MemoryId) -> Result<Option<Memory>> {
        Ok(self.store.memory(id).await?.filter(|memory| self.is_own(memory.agent_id)))
    }
    async fn memory_ids(
        &self,
        first: MemoryId,
        last: MemoryId,
        limit: u32,
    ) -> Result<Vec<MemoryId>> {
        let mut own = Vec::new();
        for id in self.store.memory_ids(first, last, limit).await? {
            if self.memory(id).await?.is_some() {
                own.push(id);
            }
        }
        Ok(own)
    }
    async fn memories(&self, query: &MemoryQuery) -> Result<Vec<Memory>> {
        if self.is_own(query.agent) { self.store.memories(query).await } else { Ok(Vec::new()) }
    }
    async fn shared_memories(&self, query: &MemoryQuery) -> Result<Vec<Arc<Memory>>> {
        if self.is_own(query.agent) {
            self.store.shared_memories(query).await
        } else {
            Ok(Vec::new())
        }
    }
    async fn count_memories(&self, query: &MemoryQuery) -> Result<u64> {
        if self.is_own(query.agent) { self.store.count_memories(query).await } else { Ok(0) }
    }
    async fn save_memories(&self, memories: &[Memory]) -> Result<()> {
        self.refuse_others(memories.iter().map(|memory| memory.agent_id))?;
        self.store.save_memories(memories).await
    }
    async fn update_content(
        &self,
        agent: AgentId,
        id: MemoryId,
        content: &Content,
    ) -> Result<bool> {
        if self.is_own(agent) {
            self.store.update_content(agent, id, content).await
        } else {
            Ok(false)
        }
    }
    async fn delete_memories(&self, agent: AgentId, ids: &[MemoryId]) -> Result<u64> {
        if self.is_own(agent) { self.store.delete_memories(agent, ids).await } else { Ok(0) }
    }
    async fn expire_memories(&self, agent: AgentId, ids: &[MemoryId]) -> Result<u64> {
        if self.is_own(agent) { self.store.expire_memories(agent, ids).await } else { Ok(0) }
    }
}

#[async_trait]
impl EmbeddingStore for OwnStore {
    async fn save_new_embeddings(
        &self,
        agent: AgentId,
        model: &str,
        embeddings: &[NewEmbedding<'_>],
        usage: &[UsageRow],
    ) -> Result<u64> {
        self.refuse_others(usage.iter().map(|row| row.agent))?;
        if !self.is_own(agent) {
            return Ok(0);
        }
        self.store.save_new_embeddings(agent, model, embeddings, usage).await
    }
    async fn without_embedding(
        &self,
        query: &MemoryQuery,
        model: &str,
        width: Option<usize>,
    ) -> Result<Vec<Memory>> {
        if self.is_own(query.agent) {
            self.store.without_embedding(query, model, width).await
        } else {
            Ok(Vec::new())
        }
    }
    async fn claim_unembedded(&self, claim: &EmbeddingClaim) -> Result<Vec<Unembedded>> {
        if self.is_own(claim.agent) {
            self.store.claim_unembedded(claim).await
        } else {
            Ok(Vec::new())
        }
    }
    async fn older_embeddings(
        &self,
        agent: AgentId,
        kinds: &[MemoryKind],
        model: &str,
    ) -> Result<Vec<OlderEmbeddings>> {
        if self.is_own(agent) {
            self.store.older_embeddings(agent, kinds, model).await
        } else {
            Ok(Vec::new())
        }
    }
    async fn give_up_embedding(&self, agent: AgentId, ids: &[MemoryId]) -> Result<()> {
        if self.is_own(agent) { self.store.give_up_embedding(agent, ids).await } else { Ok(()) }
    }
}

#[async_trait]
impl DerivedStore for OwnStore {
    async fn change_derived(&self, agent: AgentId, change: &DerivedChange) -> Result<u64> {
        if self.is_own(agent) { self.store.change_derived(agent, change).await } else { Ok(0) }
    }
    async fn derived(&self, agent: AgentId, ids: &[MemoryId]) -> Result<Vec<Derived>> {
        if self.is_own(agent) { self.store.derived(agent, ids).await } else { Ok(Vec::new()) }
    }
    async fn derived_from(&self, agent: AgentId, sources: &[MemoryId]) -> Result<Vec<Derived>> {
        if self.is_own(agent) {
            self.store.derived_from(agent, sources).await
        } else {
            Ok(Vec::new())
        }
    }
}

#[async_trait]
impl RecallStore for OwnStore {
    async fn recall(&self, query: &RecallQuery) -> Result<Vec<Recalled>> {
        if self.is_own(query.visible.agent()) {
            self.store.recall(query).await
        } else {
            Ok(Vec::new())
        }
    }
    async fn index_words(&self) -> Result<bool> {
        self.store.index_words().await
    }
}

#[async_trait]
impl RelationshipStore for OwnStore {
    async fn save_relationship(&self, relationship: &Relationship) -> Result<()> {
        self.refuse_others(std::iter::once(relationship.agent_id))?;
        self.store.save_relationship(relationship).await
    }
    async fn relationships(&self, agent: AgentId, entity: EntityId) -> Result<Vec<Relationship>> {
        if self.is_own(agent) {
            self.store.relationships(agent, entity).await
        } else {
            Ok(Vec::new())
        }
    }
    async fn linked(&self, agent: AgentId, entity: EntityId) -> Result<Vec<EntityId>> {
        if self.is_own(agent) { self.store.linked(agent, entity).await } else { Ok(Vec::new()) }
    }
}

#[async_trait]
impl TaskStore for OwnStore {
    async fn save_task(&self, task: &Task) -> Result<()> {
        self.refuse_others(std::iter::once(task.agent_id))?;
        self.store.save_task(task).await
    }
    async fn tasks(&self, agent: AgentId, tags: &[String]) -> Result<Vec<Task>> {
        if self.is_own(agent) { self.store.tasks(agent, tags).await } else { Ok(Vec::new()) }
    }
    async fn task(&self, agent: AgentId, id: TaskId) -> Result<Option<Task>> {
        if self.is_own(agent) { self.store.task(agent, id).await } else { Ok(None) }
    }
    async fn scheduled(&self, agent: AgentId, query: TaskQuery, limit: u32) -> Result<Vec<Task>> {
        if self.is_own(agent) {
            self.store.scheduled(agent, query, limit).await
        } else {
            Ok(Vec::new())
        }
    }
    async fn delete_task(&self, agent: AgentId, id: TaskId) -> Result<bool> {
        if self.is_own(agent) { self.store.delete_task(agent, id).await } else { Ok(false) }
    }
}
