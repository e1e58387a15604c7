//! Derived memories: stored with their sources, superseded and restored in one commit, removed with
//! what they were made from.

use async_trait::async_trait;

use crate::{
    clock::Timestamp,
    derived::Derived,
    error::Result,
    ids::{AgentId, MemoryId},
};

/// Derived memories.
///
/// A derived memory goes with its sources. When a source is deleted, forgotten or its text
/// replaced, the store removes in the same commit what was made from it: a fact if no other source
/// backs it, or if facts are among its sources; anything else (a summary, a profile, a fragment)
/// always, and so on for what was made from those. What a removed row had superseded is true again,
/// unless that row was superseded itself by one that stays.
#[async_trait]
pub trait DerivedStore: Send + Sync {
    /// Carries out a change of this agent's derived memories in one commit: how many new rows were
    /// stored. A row is skipped if its id exists, if one of its sources is gone (it may have been
    /// deleted while a model read it), or if it belongs to another agent. Called by evaluators, and
    /// by commands that correct what they learnt.
    async fn change_derived(&self, agent: AgentId, change: &DerivedChange) -> Result<u64>;
    /// Memories of `ids` that exist, with scope, validity and sources. Messages count too: they
    /// have no sources. Called by commands, exports and searches.
    async fn derived(&self, agent: AgentId, ids: &[MemoryId]) -> Result<Vec<Derived>>;
    /// Memories made from any of these, directly, the oldest first. Called by `galatea memory
    /// show`.
    async fn derived_from(&self, agent: AgentId, sources: &[MemoryId]) -> Result<Vec<Derived>>;
}

/// A change of derived memories, applied in one commit in the order of its fields.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DerivedChange {
    /// Rows to insert. A document stands before its fragments.
    pub new: Vec<Derived>,
    /// Further sources of rows that exist: what confirmed a fact.
    pub confirmed: Vec<(MemoryId, MemoryId)>,
    /// Rows that are no longer true. One that has ceased to be true already keeps its time.
    pub superseded: Vec<Superseded>,
    /// Rows that are true again, such as after a correction.
    pub restored: Vec<MemoryId>,
    /// Rows to remove, such as the summary that a new one replaces; what was made from them stays.
    pub removed: Vec<MemoryId>,
}

/// A row that is no longer true.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Superseded {
    /// The derived memory.
    pub id: MemoryId,
    /// The time at which it ceased to be true.
    pub at: Timestamp,
    /// The row that replaces it; none if it is simply no longer true.
    pub by: Option<MemoryId>,
}
