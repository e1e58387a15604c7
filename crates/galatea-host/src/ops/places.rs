//! Rooms, people, messages and memories: reads.

use galatea_core::{
    AgentId, Entity, EntityId, Error, Memory, MemoryId, MemoryKind, Participant, Result, Room,
    RoomId, Source, World,
    store::{ListedRoom, MemoriesOf, OperatorRole, Page, Place},
};

use super::{Operator, Ops};

impl Ops {
    /// Worlds of an agent, by name.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn worlds(&self, by: &Operator, agent: AgentId) -> Result<Vec<World>> {
        by.need(OperatorRole::Viewer)?;
        self.store.worlds(agent).await
    }

    /// Rooms in the order of their ids, after one.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn rooms(
        &self,
        by: &Operator,
        agent: Option<AgentId>,
        source: Option<&Source>,
        after: Option<RoomId>,
        limit: u32,
    ) -> Result<Vec<ListedRoom>> {
        by.need(OperatorRole::Viewer)?;
        self.store.list_rooms(agent, source, after, limit).await
    }

    /// A Room with who is in it.
    ///
    /// # Errors
    /// `NotFound` for an unknown Room.
    pub async fn room(&self, by: &Operator, id: RoomId) -> Result<(Room, Vec<Participant>)> {
        by.need(OperatorRole::Viewer)?;
        let room = self.store.room(id).await?;
        let room = room.ok_or_else(|| Error::not_found("there is no such room"))?;
        Ok((room, self.store.participants(id).await?))
    }

    /// People in the order of their ids, after one.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn people(
        &self,
        by: &Operator,
        agent: Option<AgentId>,
        name: Option<&str>,
        after: Option<EntityId>,
        limit: u32,
    ) -> Result<Vec<Entity>> {
        by.need(OperatorRole::Viewer)?;
        self.store.list_people(agent, name, after, limit).await
    }

    /// A person.
    ///
    /// # Errors
    /// `NotFound` for an unknown one.
    pub async fn person(&self, by: &Operator, id: EntityId) -> Result<Entity> {
        by.need(OperatorRole::Viewer)?;
        let found = self.store.entities(&[id]).await?.into_iter().next();
        found.ok_or_else(|| Error::not_found("there is no such person"))
    }

    /// Memories of one kind, newest first. Messages are memories.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn memories(
        &self,
        by: &Operator,
        of: MemoriesOf,
        kind: MemoryKind,
        before: Place,
        limit: u32,
    ) -> Result<Page<Memory>> {
        by.need(OperatorRole::Viewer)?;
        self.store.list_memories(of, &kind, before, limit).await
    }

    /// A memory.
    ///
    /// # Errors
    /// `NotFound` for an unknown one.
    pub async fn memory(&self, by: &Operator, id: MemoryId) -> Result<Memory> {
        by.need(OperatorRole::Viewer)?;
        let memory = self.store.memory(id).await?;
        memory.ok_or_else(|| Error::not_found("there is no such memory"))
    }

    /// Deletes a memory with what was made from it.
    ///
    /// # Errors
    /// `NotFound` for an unknown one.
    pub async fn delete_memory(&self, by: &Operator, id: MemoryId) -> Result<()> {
        let memory = self.memory(by, id).await?;
        by.need_on(OperatorRole::Operator, memory.agent_id)?;
        self.store.delete_memories(memory.agent_id, &[id]).await?;
        let before = serde_json::json!({ "type": memory.kind, "room": memory.room_id });
        self.record(by, "memory.delete", id, Some(before), None).await
    }
}
