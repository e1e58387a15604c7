//! What conversations are made of: the agents, their store, and live events.

use galatea_core::{AgentId, Clock, Error, ErrorKind, Result, RoomId, Store, TurnId};
use galatea_runtime::Orchestrator;
use std::sync::Arc;
use tokio::task::JoinHandle;

use super::{
    super::{Ops, live::Live},
    message::ChatMessage,
    relay,
};

/// Conversations of this process's agents.
pub struct Chat {
    pub(super) store: Arc<dyn Store>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) orchestrator: Option<Arc<Orchestrator>>,
    pub(super) live: Arc<Live>,
    relay: Option<JoinHandle<()>>,
}

impl Drop for Chat {
    fn drop(&mut self) {
        self.relay.iter().for_each(JoinHandle::abort);
    }
}

impl Chat {
    /// Conversations of the agents that `ops` has, and the passing on of answers to the other agents of
    /// their channels, for as long as it lives.
    pub fn start(ops: &Ops, live: &Arc<Live>) -> Arc<Self> {
        let (store, clock) = (Arc::clone(&ops.store), Arc::clone(&ops.clock));
        let mut chat = Self {
            store,
            clock,
            orchestrator: ops.orchestrator.clone(),
            live: Arc::clone(live),
            relay: None,
        };
        if let Some(orchestrator) = &ops.orchestrator {
            let (store, live) = (Arc::clone(&chat.store), Arc::clone(live));
            let relay = relay::run(store, Arc::downgrade(orchestrator), live);
            chat.relay = Some(tokio::spawn(relay));
        }
        Arc::new(chat)
    }

    pub(super) fn running(&self) -> Result<&Arc<Orchestrator>> {
        self.orchestrator
            .as_ref()
            .ok_or_else(|| Error::new(ErrorKind::Unsupported, "no agents run in this process"))
    }

    /// Ids and names of this process's agents.
    pub fn personas(&self) -> Vec<(AgentId, String)> {
        self.orchestrator.as_ref().map(|all| all.agents()).unwrap_or_default()
    }

    /// The parts of a turn's answer in a Room, in order.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn messages_of(&self, turn: TurnId, room: RoomId) -> Result<Vec<ChatMessage>> {
        let items = self.store.deliveries_of(turn).await?.into_iter();
        Ok(items.filter_map(ChatMessage::of).filter(|message| message.room == room).collect())
    }
}
