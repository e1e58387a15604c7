//! A gateway for connector tests: it records what it receives, derives ids as the runtime does, and
//! fails on request.

use parking_lot::{Mutex, MutexGuard};
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use async_trait::async_trait;
use galatea_core::{
    AgentIdentity, Batch, Connection, ConnectionIds, ConnectorInfo, Cursor, EntityId, Error,
    ErrorKind, Gap, GatewayBackend, Health, Incoming, IncomingEvent, IncomingMessage, Received,
    RemoteId, Result, RoomId, SendHandler, WorldId, WorldSync,
};
use tokio::sync::watch;

/// In-memory stand-in for the runtime behind [`galatea_core::Gateway`].
pub struct RecordingGateway {
    identity: AgentIdentity,
    state: Mutex<State>,
    changed: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    batches: Vec<Batch>,
    refused: Vec<Batch>,
    syncs: Vec<WorldSync>,
    connections: Vec<Connection>,
    known: HashSet<String>,
    stored: Vec<Incoming>,
    duplicates: usize,
    gaps: Vec<Gap>,
    cursors: HashMap<String, Cursor>,
    state: HashMap<String, serde_json::Value>,
    others: Vec<(String, serde_json::Value)>,
    handler: Option<Arc<dyn SendHandler>>,
    handler_before_events: Option<bool>,
    health: Vec<Health>,
    failures: usize,
    held: bool,
    waiting: usize,
}

impl State {
    fn put_state(&mut self, key: &str, value: serde_json::Value) {
        if value.is_null() {
            self.state.remove(key);
        } else {
            self.state.insert(key.to_owned(), value);
        }
    }
}

impl RecordingGateway {
    /// An empty gateway for this agent.
    pub fn new(identity: AgentIdentity) -> Arc<Self> {
        Arc::new(Self { identity, state: Mutex::default(), changed: watch::Sender::new(0) })
    }

    /// Makes the next `count` calls of `receive` fail as a full disk does; their batches are not
    /// stored.
    pub fn fail_receives(&self, count: usize) {
        self.change(|s| s.failures = count);
    }

    /// Holds every call of `receive` until [`RecordingGateway::release`].
    pub fn hold(&self) {
        self.change(|s| s.held = true);
    }

    /// Lets the held calls of `receive` continue.
    pub fn release(&self) {
        self.change(|s| s.held = false);
    }

    /// Number of calls of `receive` that are held now.
    pub fn held(&self) -> usize {
        self.lock().waiting
    }

    /// Stored batches, in order.
    pub fn batches(&self) -> Vec<Batch> {
        self.lock().batches.clone()
    }

    /// Batches whose `receive` failed, in order.
    pub fn refused(&self) -> Vec<Batch> {
        self.lock().refused.clone()
    }

    /// World syncs received so far, in order.
    pub fn syncs(&self) -> Vec<WorldSync> {
        self.lock().syncs.clone()
    }

    /// Connections ensured outside of batches, in order.
    pub fn connections(&self) -> Vec<Connection> {
        self.lock().connections.clone()
    }

    /// Events stored for the first time, in order.
    pub fn events(&self) -> Vec<Incoming> {
        self.lock().stored.clone()
    }

    /// Number of events received more than once.
    pub fn duplicates(&self) -> usize {
        self.lock().duplicates
    }

    /// Gaps the connector reported, in order.
    pub fn gaps(&self) -> Vec<Gap> {
        self.lock().gaps.clone()
    }

    /// Messages stored for the first time, in order, without echoes of the account's own messages.
    pub fn messages(&self) -> Vec<(Incoming, IncomingMessage)> {
        let events = self.events().into_iter();
        events
            .filter_map(|incoming| match &incoming.event {
                IncomingEvent::Message(message) if !message.from_self => {
                    Some((incoming.clone(), message.clone()))
                }
                _ => None,
            })
            .collect()
    }

    /// Stores a cursor as if an earlier run had stored it.
    pub fn put_cursor(&self, cursor: Cursor) {
        self.change(|s| {
            s.cursors.insert(cursor.stream.clone(), cursor);
        });
    }

    /// The last stored cursor of a stream.
    pub fn stored_cursor(&self, stream: &str) -> Option<Cursor> {
        self.lock().cursors.get(stream).cloned()
    }

    /// Stores a value of the account's state as if an earlier run had stored it.
    pub fn put_state(&self, key: &str, value: serde_json::Value) {
        self.change(|s| s.put_state(key, value));
    }

    /// Stores a value of the account's state as if another agent had stored it.
    pub fn put_state_of_another(&self, key: &str, value: serde_json::Value) {
        self.change(|s| s.others.push((key.to_owned(), value)));
    }

    /// The value last stored under this key.
    pub fn stored_state(&self, key: &str) -> Option<serde_json::Value> {
        self.lock().state.get(key).cloned()
    }

    /// All stored state of the account, by key.
    pub fn states(&self) -> HashMap<String, serde_json::Value> {
        self.lock().state.clone()
    }

    /// The send handler, once the connector has registered it.
    pub fn handler(&self) -> Option<Arc<dyn SendHandler>> {
        self.lock().handler.clone()
    }

    /// True if the send handler was registered before the first batch; `None` before the first
    /// batch.
    pub fn handler_came_first(&self) -> Option<bool> {
        self.lock().handler_before_events
    }

    /// Reported health, in order.
    pub fn health(&self) -> Vec<Health> {
        self.lock().health.clone()
    }

    /// Waits until `look` returns something; checks after every change.
    pub async fn wait_for<T>(&self, look: impl Fn(&Self) -> Option<T>) -> T {
        let mut changes = self.changed.subscribe();
        loop {
            if let Some(found) = look(self) {
                return found;
            }
            if changes.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Waits until at least `count` messages are stored, and returns all of them.
    pub async fn wait_messages(&self, count: usize) -> Vec<(Incoming, IncomingMessage)> {
        self.wait_for(|g| Some(g.messages()).filter(|m| m.len() >= count)).await
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.send_modify(|n| *n = n.wrapping_add(1));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    fn place(&self, info: &ConnectorInfo, connection: &Connection) -> ConnectionIds {
        let id = |remote: &RemoteId| self.identity.swizzle(remote.as_str());
        let entity = match &connection.entity {
            Some(entity) if entity.remote.as_str() != info.account.0 => {
                EntityId(id(&entity.remote))
            }
            _ => self.identity.entity(),
        };
        ConnectionIds {
            world: WorldId(id(&connection.world.remote)),
            room: RoomId(id(&connection.room.remote)),
            entity,
        }
    }
}

/// Key by which duplicates are recognised: a message's id; for any other event, its whole content.
fn duplicate_key(incoming: &Incoming) -> String {
    match &incoming.event {
        IncomingEvent::Message(message) => format!("message {}", message.id),
        IncomingEvent::Pressed { id, .. } => format!("press {id}"),
        other => format!("{} {:?} {other:?}", incoming.connection.room.remote, incoming.at),
    }
}

#[async_trait]
impl GatewayBackend for RecordingGateway {
    async fn ensure_connection(
        &self,
        info: &ConnectorInfo,
        connection: &Connection,
    ) -> Result<ConnectionIds> {
        self.change(|s| s.connections.push(connection.clone()));
        Ok(self.place(info, connection))
    }

    async fn ensure_connections(&self, _: &ConnectorInfo, world: WorldSync) -> Result<()> {
        self.change(|s| s.syncs.push(world));
        Ok(())
    }

    async fn receive(&self, _: &ConnectorInfo, batch: Batch) -> Result<Received> {
        if self.lock().held {
            self.change(|s| s.waiting += 1);
            self.wait_for(|g| (!g.lock().held).then_some(())).await;
            self.change(|s| s.waiting -= 1);
        }
        let mut outcome = Ok(Received::default());
        self.change(|s| {
            if !batch.events.is_empty() {
                s.handler_before_events.get_or_insert(s.handler.is_some());
            }
            if s.failures > 0 {
                s.failures -= 1;
                s.refused.push(batch);
                outcome =
                    Err(Error::new(ErrorKind::Unavailable, "the disk is full")
                        .with_code("GAL-DB-FULL"));
                return;
            }
            let mut received = Received::default();
            for event in &batch.events {
                if s.known.insert(duplicate_key(event)) {
                    s.stored.push(event.clone());
                    received.stored += 1;
                } else {
                    received.duplicates += 1;
                }
            }
            s.duplicates += received.duplicates;
            if let Some(cursor) = &batch.cursor {
                s.cursors.insert(cursor.stream.clone(), cursor.clone());
            }
            for (key, value) in &batch.state {
                s.put_state(key, value.clone());
            }
            s.batches.push(batch);
            outcome = Ok(received);
        });
        outcome
    }

    async fn cursor(&self, _: &ConnectorInfo, stream: &str) -> Result<Option<Cursor>> {
        Ok(self.stored_cursor(stream))
    }

    async fn state(&self, _: &ConnectorInfo, key: &str) -> Result<Option<serde_json::Value>> {
        Ok(self.stored_state(key))
    }

    async fn account_states(&self, _: &ConnectorInfo, key: &str) -> Result<Vec<serde_json::Value>> {
        let of_others = self.lock().others.clone().into_iter().filter(|(of, _)| of == key);
        Ok(self.stored_state(key).into_iter().chain(of_others.map(|(_, value)| value)).collect())
    }

    async fn note_gap(&self, _: &ConnectorInfo, gap: Gap) -> Result<()> {
        self.change(|s| s.gaps.push(gap));
        Ok(())
    }

    fn register_send_handler(&self, _: &ConnectorInfo, handler: Arc<dyn SendHandler>) {
        self.change(|s| s.handler = Some(handler));
    }

    fn report(&self, _: &ConnectorInfo, health: Health) {
        self.change(|s| s.health.push(health));
    }
}
