//! Links of accounts, for exports and imports.

use async_trait::async_trait;

use crate::{
    error::Result,
    ids::{AgentId, EntityId},
    relationship::IdentityLink,
};

/// Links of accounts whole. Plugin code asks [`crate::store::RelationshipStore::linked`] and changes
/// nothing.
#[async_trait]
pub trait LinkStore: Send + Sync {
    /// Every link of an agent, each once, the oldest first. Called by `galatea memory export`.
    async fn links(&self, agent: AgentId) -> Result<Vec<IdentityLink>>;
    /// The links of one entity, which each of them names first; the oldest first. Called by
    /// `/privacy export`.
    async fn links_of(&self, agent: AgentId, entity: EntityId) -> Result<Vec<IdentityLink>>;
    /// Stores the links of an export: how many are new. A person's links are stored together, or
    /// not at all: if each account is not linked with each, if they are more than
    /// [`crate::store::MOST_LINKED`], or if one of them is linked with yet another account by now.
    /// Called by `galatea memory import`.
    async fn restore_links(&self, agent: AgentId, links: &[IdentityLink]) -> Result<u64>;
}
