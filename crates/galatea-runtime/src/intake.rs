//! Turns an Incoming into World, Room, Entity, Participant, stored Memory and inbox row.
//! `ensure_connection` lives here.

mod attach;
mod connect;
mod convert;
mod mutation;
pub(crate) mod past;

use async_trait::async_trait;
use dashmap::DashMap;
use galatea_core::{
    Account, AgentId, Batch, Clock, Connection, ConnectionIds, ConnectorInfo, Cursor, EntityId,
    Error, ErrorKind, Event, EventBus, Gap, GatewayBackend, Health, Incoming, IncomingEvent,
    Received, Result, SendHandler, Source, Store, WorldSync,
    gap::GAPS,
    kill_point,
    store::{ConnectionChange, ConnectorState, InboxEntry, InboxState, Ingest, Ingested, Mutation},
};
use std::sync::Arc;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    directory::{Directory, fingerprints},
    inbox::Inbox,
    outbox::Outbox,
    ownership::Ownership,
    pace,
};

/// Step after the commit for an event of a batch.
enum After<'a> {
    /// A mutation has been committed.
    Apply(Mutation),
    /// No stored row has changed but for the message.
    Publish(&'a IncomingEvent),
}

/// Connectors reach this through their Gateway.
pub(crate) struct Intake {
    /// The agent.
    pub(crate) agent: AgentId,
    /// Storage.
    pub(crate) store: Arc<dyn Store>,
    /// Time.
    pub(crate) clock: Arc<dyn Clock>,
    /// Target of events.
    pub(crate) events: EventBus,
    /// People and places.
    pub(crate) directory: Arc<Directory>,
    /// Accounts that this process connects.
    pub(crate) ownership: Arc<Ownership>,
    /// Target of messages.
    pub(crate) inbox: Arc<Inbox>,
    /// Routes to accounts.
    pub(crate) outbox: Arc<Outbox>,
    /// Health of each connector.
    pub(crate) health: DashMap<(Source, Account), Health>,
    /// Runner of an account's work.
    pub(crate) tasks: TaskTracker,
    /// Ends polling.
    pub(crate) stop: CancellationToken,
    /// Ends the work of accounts where it is.
    pub(crate) halt: CancellationToken,
}

#[async_trait]
impl GatewayBackend for Intake {
    async fn ensure_connection(
        &self,
        info: &ConnectorInfo,
        connection: &Connection,
    ) -> Result<ConnectionIds> {
        let (place, change) = connect::changes(&self.directory, info, connection);
        self.connect(change).await?;
        Ok(place)
    }

    async fn ensure_connections(&self, info: &ConnectorInfo, world: WorldSync) -> Result<()> {
        self.connect(connect::bulk(&self.directory, info, &world)).await
    }

    async fn receive(&self, info: &ConnectorInfo, batch: Batch) -> Result<Received> {
        let lease =
            self.ownership.account(&info.source, &info.account).ok_or_else(|| elsewhere(info))?;
        let route = self.outbox.routes.any(&info.source, &info.account);
        let mut ingest = Ingest {
            fence: lease.fence(),
            cursor: batch
                .cursor
                .map(|cursor| (self.agent, info.source.clone(), info.account.clone(), cursor)),
            state: batch.state.into_iter().map(|entry| self.state_row(info, entry)).collect(),
            ..Ingest::default()
        };
        let mut after = Vec::new();
        for incoming in &batch.events {
            let (place, change) = connect::changes(&self.directory, info, &incoming.connection);
            ingest.connections.extend(change);
            match convert::convert(&self.directory, info, place, incoming) {
                convert::Converted::Message(mut entry) => {
                    entry.envelope.awaited =
                        route.as_ref().is_some_and(|route| route.handler.awaits(&entry.remote));
                    ingest.messages.push(*entry);
                }
                convert::Converted::Memory(memory) => ingest.memories.push(*memory),
                convert::Converted::Nothing => {
                    if let Some(entry) =
                        self.asked_by_edit(info, place, incoming, &mut ingest).await?
                    {
                        ingest.messages.push(entry);
                    }
                }
            }
            match mutation::mutation(&self.directory, info, place, &incoming.event) {
                Some(mutation) => {
                    after.push((place, After::Apply(mutation.clone())));
                    ingest.mutations.push(mutation);
                }
                None => after.push((place, After::Publish(&incoming.event))),
            }
        }
        let mut known = fingerprints(&ingest.connections);
        for mutation in &ingest.mutations {
            if let Mutation::Join(change) = mutation {
                known.extend(fingerprints(change));
            }
        }
        let messages = ingest.messages.clone();
        let people: Vec<EntityId> =
            ingest.connections.entities.iter().map(|person| person.id).collect();
        let mutates = !ingest.mutations.is_empty();
        kill_point("ingest.before");
        if mutates {
            kill_point("mutate.before");
        }
        let Ingested { new: fresh, changed } = self.store.ingest(ingest).await?;
        kill_point("ingest.after");
        if mutates {
            kill_point("mutate.after");
        }
        self.directory.committed(known);
        for entity in people {
            self.events.publish(Event::EntityUpdated { agent: self.agent, entity });
        }
        let mut changed = changed.into_iter();
        for (place, after) in after {
            match after {
                After::Apply(mutation) => {
                    let changed = changed.next().unwrap_or_default();
                    if let (true, Mutation::Edit { memory, .. }) = (changed, &mutation) {
                        self.inbox.edited(&info.source, place.room, *memory);
                    }
                    mutation::applied(&self.directory, &self.events, place, mutation, changed);
                }
                After::Publish(event) => {
                    mutation::publish_event(&self.directory, &self.events, info, place, event);
                }
            }
        }
        let stored = fresh.iter().filter(|new| **new).count();
        let received = Received { stored, duplicates: fresh.len() - stored };
        for (entry, new) in messages.into_iter().zip(fresh) {
            if new {
                self.enqueue(entry);
            } else {
                self.inbox.submit_again(entry.memory.id).await?;
            }
        }
        let under_way = || self.inbox.in_flight() + self.outbox.in_flight();
        pace::after_batch(self.clock.as_ref(), &self.halt, stored, under_way).await;
        Ok(received)
    }

    async fn cursor(&self, info: &ConnectorInfo, stream: &str) -> Result<Option<Cursor>> {
        self.store.cursor(self.agent, &info.source, &info.account, stream).await
    }

    async fn state(&self, info: &ConnectorInfo, key: &str) -> Result<Option<serde_json::Value>> {
        self.store.connector_state(self.agent, &info.source, &info.account, key).await
    }

    async fn account_states(
        &self,
        info: &ConnectorInfo,
        key: &str,
    ) -> Result<Vec<serde_json::Value>> {
        let mut found = Vec::new();
        for (agent, _) in self.store.agents().await? {
            found
                .extend(self.store.connector_state(agent, &info.source, &info.account, key).await?);
        }
        Ok(found)
    }

    async fn note_gap(&self, info: &ConnectorInfo, gap: Gap) -> Result<()> {
        let known = Gap::read(self.state(info, GAPS).await?.as_ref());
        let Some(gaps) = Gap::noted(known, gap.clone()) else { return Ok(()) };
        let state = vec![(GAPS.to_owned(), gaps)];
        self.receive(info, Batch { state, ..Batch::default() }).await?;
        let Gap { from, to, place, count, reason, .. } = &gap;
        let (from, to) = (from.map(|t| t.0), to.map(|t| t.0));
        tracing::warn!(code = "GAL-GAP", source = %info.source, account = %info.account, from, to, place, count, reason, "messages are missing and cannot be read back");
        self.events.publish(Event::MessagesMissing {
            agent: self.agent,
            source: info.source.clone(),
            account: info.account.clone(),
            gap,
        });
        Ok(())
    }

    fn register_send_handler(&self, info: &ConnectorInfo, handler: Arc<dyn SendHandler>) {
        let Some(lease) = self.ownership.account(&info.source, &info.account) else { return };
        if let Some(route) = self.outbox.routes.connect(info, handler, &lease) {
            self.attach(route, lease);
        }
    }

    fn report(&self, info: &ConnectorInfo, health: Health) {
        let key = (info.source.clone(), info.account.clone());
        let before = self.health.insert(key, health.clone());
        if before.is_none_or(|before| before != health) {
            self.events.publish(Event::ConnectorHealth {
                agent: self.agent,
                source: info.source.clone(),
                account: info.account.clone(),
                health,
            });
        }
    }
}

impl Intake {
    /// Health of a connector.
    pub(crate) fn health(&self, source: &Source, account: &Account) -> Health {
        let key = (source.clone(), account.clone());
        self.health.get(&key).map_or(Health::Starting, |health| health.clone())
    }
}

fn elsewhere(info: &ConnectorInfo) -> Error {
    Error::new(ErrorKind::Conflict, "another process has this account now")
        .with("source", &info.source)
        .with("account", &info.account)
}

impl Intake {
    fn state_row(
        &self,
        info: &ConnectorInfo,
        (key, value): (String, serde_json::Value),
    ) -> ConnectorState {
        let (source, account) = (info.source.clone(), info.account.clone());
        ConnectorState { agent: self.agent, source, account, key, value }
    }

    async fn connect(&self, change: ConnectionChange) -> Result<()> {
        if change.is_empty() {
            return Ok(());
        }
        let known = fingerprints(&change);
        self.store.connect(change).await?;
        self.directory.committed(known);
        Ok(())
    }

    /// The question that an edit asks, when it mentions the agent and the original neither
    /// addressed the agent nor was answered. Where the original still waits, the turn of the edit,
    /// which comes after it in the same lane, decides
    /// ([`Engine::run_turn`](crate::turn::Engine::run_turn)). Its id is made of the message's, so
    /// that a second edit asks nothing. Where the message is of the same batch, the edit is what it
    /// says.
    async fn asked_by_edit(
        &self,
        info: &ConnectorInfo,
        place: ConnectionIds,
        incoming: &Incoming,
        ingest: &mut Ingest,
    ) -> Result<Option<InboxEntry>> {
        let IncomingEvent::Edited { id: remote, content, addressed } = &incoming.event else {
            return Ok(None);
        };
        if !addressed.mention {
            return Ok(None);
        }
        let memory = self.directory.accounts.memory(info, remote.as_str());
        if let Some(earlier) = ingest.messages.iter_mut().find(|entry| entry.memory.id == memory) {
            earlier.envelope.addressed.mention = true;
            earlier.memory.content.text.clone_from(&content.text);
            return Ok(None);
        }
        let Some(before) = self.store.inbox_item(memory).await? else { return Ok(None) };
        let was = &before.entry.envelope;
        if !matches!(before.state, InboxState::New | InboxState::Skipped)
            || was.addressed.mention
            || was.addressed.reply
            || was.from_self
        {
            return Ok(None);
        }
        Ok(Some(convert::entry_of_edit(
            &self.directory,
            info,
            place,
            incoming,
            remote,
            content,
            *addressed,
        )))
    }

    fn enqueue(&self, entry: InboxEntry) {
        self.events.publish(Event::MessageReceived {
            agent: entry.memory.agent_id,
            room: entry.memory.room_id,
            memory: entry.memory.id,
        });
        self.inbox.submit(entry);
    }
}
