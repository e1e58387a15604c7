//! Everything that a connector may call.

use async_trait::async_trait;
use std::sync::Arc;

use crate::{
    clock::Clock,
    connector::send_handler::{ConnectorInfo, SendHandler},
    error::Result,
    gap::Gap,
    ids::AgentIdentity,
    kill_point::kill_point,
    message::{Batch, Connection, ConnectionIds, Cursor, Received, WorldSync},
    redact::masked_string,
};

/// A cheap handle for one connector of one agent. Everything it does is durable when it returns Ok.
///
/// The runtime passes one to [`Connector::run`](crate::Connector::run). What a connector has to
/// remember goes with the events that it belongs to, in one commit:
///
/// ```
/// use galatea_core::{Batch, Cursor, Gateway, Incoming, Result};
/// use serde_json::json;
///
/// async fn store(gateway: &Gateway, events: Vec<Incoming>, offset: u64) -> Result<()> {
///     let paid = gateway.state("paid reads").await?.and_then(|value| value.as_u64()).unwrap_or(0);
///     let batch = Batch {
///         events,
///         cursor: Some(Cursor { stream: "updates".into(), position: offset.to_string() }),
///         state: vec![("paid reads".into(), json!(paid + 1))],
///     };
///     let received = gateway.receive(batch).await?;
///     println!("{} are new, {} were known", received.stored, received.duplicates);
///     Ok(())
/// }
/// ```
#[derive(Clone)]
pub struct Gateway {
    info: Arc<ConnectorInfo>,
    agent: AgentIdentity,
    backend: Arc<dyn GatewayBackend>,
    clock: Arc<dyn Clock>,
}

/// The runtime's side of [`Gateway`].
#[doc(hidden)]
#[async_trait]
pub trait GatewayBackend: Send + Sync {
    /// Called by [`Gateway::ensure_connection`].
    async fn ensure_connection(
        &self,
        info: &ConnectorInfo,
        connection: &Connection,
    ) -> Result<ConnectionIds>;
    /// Called by [`Gateway::ensure_connections`].
    async fn ensure_connections(&self, info: &ConnectorInfo, world: WorldSync) -> Result<()>;
    /// Called by [`Gateway::receive`].
    async fn receive(&self, info: &ConnectorInfo, batch: Batch) -> Result<Received>;
    /// Called by [`Gateway::cursor`].
    async fn cursor(&self, info: &ConnectorInfo, stream: &str) -> Result<Option<Cursor>>;
    /// Called by [`Gateway::state`].
    async fn state(&self, info: &ConnectorInfo, key: &str) -> Result<Option<serde_json::Value>>;
    /// Called by [`Gateway::account_states`].
    async fn account_states(
        &self,
        info: &ConnectorInfo,
        key: &str,
    ) -> Result<Vec<serde_json::Value>> {
        Ok(self.state(info, key).await?.into_iter().collect())
    }
    /// Called by [`Gateway::note_gap`].
    async fn note_gap(&self, info: &ConnectorInfo, gap: Gap) -> Result<()>;
    /// Called by [`Gateway::register_send_handler`].
    fn register_send_handler(&self, info: &ConnectorInfo, handler: Arc<dyn SendHandler>);
    /// Called by [`Gateway::report`].
    fn report(&self, info: &ConnectorInfo, health: Health);
}

/// Health of a connector, for the banner, `doctor`, `/readyz` and the dashboard.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Health {
    /// The connector has not reached its platform yet.
    Starting,
    /// Another process that shares the database has the account.
    Elsewhere,
    /// Receiving. `detail` is for people: `@acme_bot, polling`.
    Up {
        /// The connected account, in words for people.
        detail: String,
    },
    /// Messages flow, but something a person should see to does not work.
    Degraded {
        /// The missing part and how to get it.
        reason: String,
    },
    /// Not connected; tried again by itself.
    Retrying {
        /// The reason, in words for people.
        reason: String,
        /// Stable code, if there is one.
        code: Option<String>,
    },
    /// Retries cannot help: a person has to change something, such as a token.
    Down {
        /// The reason, in words for people.
        reason: String,
        /// Stable code, if there is one.
        code: Option<String>,
        /// Next step of the person.
        fix: Option<String>,
    },
}

impl Health {
    /// Without what has the shape of a secret: a reason may quote the platform.
    #[must_use]
    pub fn masked(mut self) -> Self {
        let mask = |text: &mut String| *text = masked_string(std::mem::take(text));
        match &mut self {
            Self::Starting | Self::Elsewhere => {}
            Self::Up { detail: text }
            | Self::Degraded { reason: text }
            | Self::Retrying { reason: text, .. } => mask(text),
            Self::Down { reason, fix, .. } => {
                mask(reason);
                fix.iter_mut().for_each(mask);
            }
        }
        self
    }
}

impl Gateway {
    /// Made by the runtime for one connector.
    pub fn new(
        info: ConnectorInfo,
        agent: AgentIdentity,
        backend: Arc<dyn GatewayBackend>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { info: Arc::new(info), agent, backend, clock }
    }

    /// The agent that the connector belongs to.
    pub fn agent(&self) -> &AgentIdentity {
        &self.agent
    }

    /// The clock to use instead of the machine's.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Makes sure that World, Room, Entity and both Participants exist and are up to date.
    /// [`Self::receive`] does so for each event; a connector calls it for places without an event.
    /// Idempotent, also under concurrency; a known, unchanged connection costs no SQL.
    pub async fn ensure_connection(&self, connection: &Connection) -> Result<ConnectionIds> {
        self.backend.ensure_connection(&self.info, connection).await
    }

    /// Ensures the connections of a whole guild or chat with its members; called after joining and
    /// after a reconnect.
    pub async fn ensure_connections(&self, world: WorldSync) -> Result<()> {
        self.backend.ensure_connections(&self.info, world).await
    }

    /// Stores events and cursor in one commit; called for each batch that was read. Ok means
    /// durable, so the platform's offset may advance. Known events are counted, not stored twice.
    ///
    /// # Errors
    /// Nothing of the batch was stored, or its outcome is unknown: pass the same batch again.
    pub async fn receive(&self, batch: Batch) -> Result<Received> {
        let received = self.backend.receive(&self.info, batch).await?;
        kill_point("acknowledge");
        Ok(received)
    }

    /// The cursor stored last for this account's stream; called at the start of
    /// [`crate::Connector::run`].
    pub async fn cursor(&self, stream: &str) -> Result<Option<Cursor>> {
        self.backend.cursor(&self.info, stream).await
    }

    /// The value stored last under this key of the account's state, whichever process stored it. A
    /// connector reads it when it starts.
    ///
    /// # Errors
    /// What the store says.
    pub async fn state(&self, key: &str) -> Result<Option<serde_json::Value>> {
        self.backend.state(&self.info, key).await
    }

    /// The values that every agent of the store keeps under this key for the account. Of use where the
    /// platform counts for the account, whichever agent has it.
    ///
    /// # Errors
    /// What the store says.
    pub async fn account_states(&self, key: &str) -> Result<Vec<serde_json::Value>> {
        self.backend.account_states(&self.info, key).await
    }

    /// Stores a value of the account's state; null removes the key. A value that belongs to events
    /// goes with them, in [`Batch::state`].
    ///
    /// # Errors
    /// What the store says, and `Conflict` when another process has the account by now.
    pub async fn save_state(&self, key: &str, value: serde_json::Value) -> Result<()> {
        let state = vec![(key.to_owned(), value)];
        self.backend.receive(&self.info, Batch { state, ..Batch::default() }).await?;
        Ok(())
    }

    /// Records that messages are missing and cannot be read back, for `audit`, `status`, events and
    /// the log. Called before the connector moves past them. Ok means durable.
    pub async fn note_gap(&self, gap: Gap) -> Result<()> {
        self.backend.note_gap(&self.info, gap).await
    }

    /// Makes this account reachable for sending; called before the first event.
    pub fn register_send_handler(&self, handler: Arc<dyn SendHandler>) {
        self.backend.register_send_handler(&self.info, handler);
    }

    /// Reports the connector's health; called whenever it changes.
    pub fn report(&self, health: Health) {
        self.backend.report(&self.info, health.masked());
    }
}
