//! Grants in the store: who may use which tool where.

use async_trait::async_trait;

use crate::{error::Result, ids::AgentId, rights::Grant};

/// Grants of tools. One of the same kind, tools, place and person is replaced by a later one.
#[async_trait]
pub trait GrantStore: Send + Sync {
    /// Adds or replaces a grant. Called by `galatea grant`, by owners in chats, and when a person
    /// answers a question with "this room" or "always".
    async fn save_grant(&self, grant: &Grant) -> Result<()>;
    /// Removes the grant of the same kind, tools, place and person; false when there was none.
    /// Called by `galatea grant rm` and by owners in chats.
    async fn remove_grant(&self, grant: &Grant) -> Result<bool>;
    /// All grants of an agent, by kind, tools and place. Called before tools are offered; the answer
    /// is kept for some seconds.
    async fn grants(&self, agent: AgentId) -> Result<Vec<Grant>>;
}
