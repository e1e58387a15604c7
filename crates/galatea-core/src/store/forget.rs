//! Forgetting a person who wrote much, and what was deleted.

use async_trait::async_trait;

use crate::{
    error::Result,
    ids::{AgentId, EntityId, MemoryId},
};

/// Forgets most of a person before [`super::RequestedChange::ForgetPerson`] forgets the rest, and knows
/// what was deleted.
#[async_trait]
pub trait ForgetStore: Send + Sync {
    /// Deletes what a person wrote and what the agent answered them, with what was made of it, in
    /// small commits, between which the store commits other changes. What waits for an answer stays,
    /// and so does everything of a person who wrote little. Gives how many memories were deleted.
    /// Called by `/privacy forget me` before its turn commits the change that forgets the rest: a
    /// process that ends meanwhile runs the command again and goes on.
    async fn forget_ahead(&self, agent: AgentId, entity: EntityId) -> Result<u64>;
    /// Memories of `ids` that were stored, and that a person, the platform or the operator deleted,
    /// alone or with what they were made from, and that are not stored again. Called by imports.
    async fn deleted(&self, ids: &[MemoryId]) -> Result<Vec<MemoryId>>;
}
