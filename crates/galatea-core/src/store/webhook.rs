//! Addresses to which events are sent.

use async_trait::async_trait;
use uuid::Uuid;

use crate::{clock::Timestamp, error::Result, ids::AgentId};

/// An address to which events are sent, in their order, at least once each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    /// Its id.
    pub id: Uuid,
    /// The address.
    pub url: String,
    /// Secret that signs what is sent; sealed.
    pub secret: String,
    /// Only events of these kinds; all if empty.
    pub kinds: Vec<String>,
    /// Only events of this agent.
    pub agent: Option<AgentId>,
    /// Number of the last event that arrived, or that was passed over.
    pub seq: i64,
    /// Earliest time of the next attempt. A process that makes one moves it behind its own deadline.
    pub next_at: Timestamp,
    /// Failed attempts in a row.
    pub failures: u32,
    /// Why the last attempt failed.
    pub last_error: Option<String>,
    /// Time of its creation.
    pub created_at: Timestamp,
    /// Who added it.
    pub by: String,
}

/// Webhooks. Called by the control plane only.
#[async_trait]
pub trait WebhookStore: Send + Sync {
    /// Every webhook, by id.
    async fn webhooks(&self) -> Result<Vec<Webhook>>;
    /// Adds one.
    async fn add_webhook(&self, webhook: &Webhook) -> Result<()>;
    /// Removes one. False if there is none.
    async fn remove_webhook(&self, id: Uuid) -> Result<bool>;
    /// Takes a webhook that is due at `now`, until `until`: true for one process only.
    async fn claim_webhook(&self, id: Uuid, now: Timestamp, until: Timestamp) -> Result<bool>;
    /// Stores how far it has come, and when it is due again.
    async fn settle_webhook(&self, webhook: &Webhook) -> Result<()>;
}
