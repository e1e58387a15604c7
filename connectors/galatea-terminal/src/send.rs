//! Tracks the connected clients and shows them the parts of messages, one attempt per delivery.

use async_trait::async_trait;
use galatea_core::{
    Address, AgentIdentity, Clock, Delivery, Encoded, Outgoing, ReadBackContext, ReadBackResult,
    Receipt, Result, SendHandler,
};
use parking_lot::{Mutex, MutexGuard};
use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::Arc,
    time::Duration,
};
use tokio::sync::{mpsc, oneshot};

use crate::{
    decode, encode, error,
    frame::{Message, ToClient},
};

/// Timeout for a client's confirmation. The client only has to print the message.
const ACK_TIMEOUT: Duration = Duration::from_secs(10);
/// Most confirmed keys remembered, so that a retry does not show a message again to a client that
/// has reconnected.
const REMEMBERED_KEYS: usize = 4096;
/// Most frames queued for one client. A client that reads too slowly does not get further frames,
/// and its messages wait in the outbox.
pub(crate) const QUEUE: usize = 64;

/// The connected clients. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Clients(Arc<Mutex<OpenClients>>);

#[derive(Default)]
struct OpenClients {
    next: u64,
    clients: HashMap<u64, Client>,
    waiting: HashMap<String, WaitingPart>,
    confirmed: HashSet<String>,
    order: VecDeque<String>,
}

struct Client {
    name: String,
    frames: mpsc::Sender<ToClient>,
}

/// A message that was given to some clients and that none has confirmed. Dropping it tells the
/// sender that all of them left.
struct WaitingPart {
    clients: HashSet<u64>,
    done: oneshot::Sender<()>,
}

impl Clients {
    fn state(&self) -> MutexGuard<'_, OpenClients> {
        // A poisoned state is consistent: no change to it can panic halfway.
        self.0.lock()
    }

    /// Adds a client and returns its id. Its frames go into `frames`.
    pub(crate) fn join(&self, name: &str, frames: mpsc::Sender<ToClient>) -> u64 {
        let mut state = self.state();
        state.next += 1;
        let id = state.next;
        state.clients.insert(id, Client { name: name.to_owned(), frames });
        id
    }

    /// Removes a client. A send that waits for this client alone ends with an error.
    pub(crate) fn leave(&self, id: u64) {
        let mut state = self.state();
        state.clients.remove(&id);
        state.waiting.retain(|_, waiting| {
            waiting.clients.remove(&id);
            !waiting.clients.is_empty()
        });
    }

    /// Records that a client has shown a message.
    pub(crate) fn confirm(&self, id: u64, key: &str) {
        let mut state = self.state();
        // A confirmation counts only from a client that was given the message.
        if !state.waiting.get(key).is_some_and(|waiting| waiting.clients.contains(&id)) {
            return;
        }
        if let Some(waiting) = state.waiting.remove(key) {
            let _ = waiting.done.send(());
        }
        if state.confirmed.insert(key.to_owned()) {
            state.order.push_back(key.to_owned());
        }
        while state.order.len() > REMEMBERED_KEYS {
            if let Some(oldest) = state.order.pop_front() {
                state.confirmed.remove(&oldest);
            }
        }
    }

    fn confirmed(&self, key: &str) -> bool {
        self.state().confirmed.contains(key)
    }

    /// Queues a frame for every client of this name; returns the ids of those that accepted it.
    fn give(state: &OpenClients, name: &str, frame: &ToClient) -> HashSet<u64> {
        state
            .clients
            .iter()
            .filter(|(_, c)| c.name == name && c.frames.try_send(frame.clone()).is_ok())
            .map(|(id, _)| *id)
            .collect()
    }

    fn offer(&self, name: &str, message: Message) -> Result<oneshot::Receiver<()>> {
        let key = message.key.clone();
        let mut state = self.state();
        let clients = Self::give(&state, name, &ToClient::Message(message));
        if clients.is_empty() {
            return Err(error::no_client());
        }
        let (done, shown) = oneshot::channel();
        state.waiting.insert(key, WaitingPart { clients, done });
        Ok(shown)
    }

    fn forget(&self, key: &str) {
        self.state().waiting.remove(key);
    }
}

/// The send handler of the terminal.
pub(crate) struct Sender {
    pub(crate) agent: AgentIdentity,
    pub(crate) clients: Clients,
    pub(crate) clock: Arc<dyn Clock>,
}

#[async_trait]
impl SendHandler for Sender {
    fn encode(&self, outgoing: &Outgoing) -> Result<Vec<Encoded>> {
        encode::encode(&self.agent, outgoing)
    }

    async fn send(&self, delivery: &Delivery) -> Result<Receipt> {
        let name = decode::name_of(&delivery.address.remote)?;
        let receipt = Receipt { id: Some(decode::message_of(name, &delivery.key)), moved_to: None };
        if self.clients.confirmed(&delivery.key) {
            return Ok(receipt);
        }
        let part = serde_json::from_value(delivery.body.0.clone()).map_err(|e| {
            galatea_core::Error::invalid("a stored part is not a terminal's")
                .with_code("GAL-TERM-PART")
                .with_source(e)
        })?;
        let shown = self
            .clients
            .offer(name, Message { key: delivery.key.clone(), turn: delivery.turn, part })?;
        let outcome = tokio::select! {
            shown = shown => shown.map_err(|_| error::left_before_ack()),
            () = self.clock.sleep(ACK_TIMEOUT) => Err(error::no_ack()),
        };
        if outcome.is_err() {
            self.clients.forget(&delivery.key);
        }
        outcome.map(|()| receipt)
    }

    /// The outcome is known only for confirmed keys. `Unknown` is safe for the others: clients show
    /// a repeated key once.
    async fn find(&self, delivery: &Delivery, _: &ReadBackContext) -> Result<ReadBackResult> {
        let name = decode::name_of(&delivery.address.remote)?;
        if self.clients.confirmed(&delivery.key) {
            return Ok(ReadBackResult::Sent(Receipt {
                id: Some(decode::message_of(name, &delivery.key)),
                moved_to: None,
            }));
        }
        Ok(ReadBackResult::Unknown)
    }

    async fn typing(&self, address: &Address) -> Result<()> {
        let name = decode::name_of(&address.remote)?;
        Clients::give(&self.clients.state(), name, &ToClient::Typing);
        Ok(())
    }
}
