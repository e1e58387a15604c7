//! Memories, and their selection.

use async_trait::async_trait;
use std::sync::Arc;

use crate::{
    clock::Timestamp,
    content::Content,
    error::Result,
    ids::{AgentId, EntityId, MemoryId, RoomId, WorldId},
    memory::{Memory, MemoryKind},
};

/// Reads and writes memories.
#[async_trait]
pub trait MemoryStore: Send + Sync {
    /// Returns a memory, of any agent; none for an id that is not there. Called for quoted
    /// messages, and by commands.
    async fn memory(&self, id: MemoryId) -> Result<Option<Memory>>;
    /// Ids from `first` to `last`, both included, in order, at most `limit`: those that begin
    /// alike, for a person who gives only the beginning. Called by `galatea explain`.
    async fn memory_ids(
        &self,
        first: MemoryId,
        last: MemoryId,
        limit: u32,
    ) -> Result<Vec<MemoryId>>;
    /// Memories that match, newest first. Called by providers and commands.
    async fn memories(&self, query: &MemoryQuery) -> Result<Vec<Memory>>;
    /// Returns memories to callers that only read them: a store may hand out what it keeps in
    /// memory. Called for the conversation and its summaries in each turn.
    async fn shared_memories(&self, query: &MemoryQuery) -> Result<Vec<Arc<Memory>>> {
        Ok(self.memories(query).await?.into_iter().map(Arc::new).collect())
    }
    /// Returns the number of matches (limit ignored). Called by commands and evaluators.
    async fn count_memories(&self, query: &MemoryQuery) -> Result<u64>;
    /// Inserts; an id that exists is left as it is. Called for the pieces of documents, and by
    /// plugins; a turn stores its own in [`super::InboxStore::finish_turn`].
    async fn save_memories(&self, memories: &[Memory]) -> Result<()>;
    /// Replaces the content of a memory of this agent; false when there is none. Called when an
    /// attachment was described, and by actions.
    async fn update_content(&self, agent: AgentId, id: MemoryId, content: &Content)
    -> Result<bool>;
    /// Removes memories of this agent; how many were there. Called by commands and plugins.
    async fn delete_memories(&self, agent: AgentId, ids: &[MemoryId]) -> Result<u64>;
    /// Deletes memories that are too old for their World: a summary that newer messages back
    /// too stays, where [`MemoryStore::delete_memories`] removes every summary made of one of them.
    /// Called by retention, every hour.
    async fn expire_memories(&self, agent: AgentId, ids: &[MemoryId]) -> Result<u64> {
        self.delete_memories(agent, ids).await
    }
}

/// Selects memories. Every query is scoped by agent.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryQuery {
    /// The agent whose memories are searched.
    pub agent: AgentId,
    /// Only memories of these kinds; of all kinds if empty.
    pub kinds: Vec<MemoryKind>,
    /// Only memories of this Room.
    pub room: Option<RoomId>,
    /// Only memories of this World.
    pub world: Option<WorldId>,
    /// Only memories of this author.
    pub entity: Option<EntityId>,
    /// Only memories made at or after this time.
    pub since: Option<Timestamp>,
    /// Only memories made before this time.
    pub before: Option<Timestamp>,
    /// At most this many.
    pub limit: u32,
}

impl MemoryQuery {
    /// Everything of an agent, at most `limit`.
    pub fn new(agent: AgentId, limit: u32) -> Self {
        Self {
            agent,
            kinds: Vec::new(),
            room: None,
            world: None,
            entity: None,
            since: None,
            before: None,
            limit,
        }
    }
    /// Only memories of this kind.
    #[must_use]
    pub fn kind(mut self, kind: MemoryKind) -> Self {
        self.kinds.push(kind);
        self
    }
    /// Only memories of this Room.
    #[must_use]
    pub fn room(mut self, room: RoomId) -> Self {
        self.room = Some(room);
        self
    }
}
