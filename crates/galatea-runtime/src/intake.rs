//! Intake: Incoming → World, Room, Entity, Participant, stored Memory and inbox row. `ensure_connection` lives here.

mod connect;
mod convert;
mod known;

use async_trait::async_trait;
use galatea_core::{
    Batch, Connection, ConnectorInfo, Cursor, Error, ErrorKind, Event, Gap, GatewayBackend, Health, IncomingEvent, OwnStatus, Place, Received, Result, RoomId,
    SendHandler, WorldSync,
    gap::GAPS,
    kill_point,
    store::{ConnectionChange, InboxEntry, Ingest},
};
use std::sync::Arc;

pub(crate) use known::KnownConnections;

use crate::{agent::Agent, delivery, turn};

/// What connectors reach through their Gateway.
pub(crate) struct Intake(pub(crate) Arc<Agent>);

#[async_trait]
impl GatewayBackend for Intake {
    async fn ensure_connection(&self, info: &ConnectorInfo, connection: &Connection) -> Result<Place> {
        let agent = &self.0;
        let (place, change) = connect::changes(agent, info, connection);
        self.connect(change).await?;
        Ok(place)
    }

    async fn ensure_connections(&self, info: &ConnectorInfo, world: WorldSync) -> Result<()> {
        self.connect(connect::bulk(&self.0, info, &world)).await
    }

    async fn receive(&self, info: &ConnectorInfo, batch: Batch) -> Result<Received> {
        let agent = &self.0;
        let identity = &agent.view.identity;
        let tenure = agent.shares.account(&info.source, &info.account).ok_or_else(|| elsewhere(info))?;
        let route = agent.any_route(&info.source, &info.account);
        let mut ingest = Ingest {
            fence: tenure.fence(),
            cursor: batch.cursor.map(|cursor| (identity.id(), info.source.clone(), info.account.clone(), cursor)),
            ..Ingest::default()
        };
        let mut after = Vec::new();
        for incoming in &batch.events {
            let (place, change) = connect::changes(agent, info, &incoming.connection);
            ingest.connections.extend(change);
            match convert::convert(agent, info, place, incoming) {
                convert::Converted::Message(mut entry) => {
                    entry.envelope.awaited = route.as_ref().is_some_and(|route| route.handler.awaits(&entry.remote));
                    ingest.messages.push(*entry);
                }
                convert::Converted::Memory(memory) => ingest.memories.push(*memory),
                convert::Converted::Nothing => {}
            }
            if !matches!(incoming.event, IncomingEvent::Message(_)) {
                after.push((place, incoming));
            }
        }
        let known = connect::fingerprints(&ingest.connections);
        let messages = ingest.messages.clone();
        kill_point("ingest.before");
        let fresh = agent.store.ingest(ingest).await?;
        kill_point("ingest.after");
        self.remember(known);
        for (place, incoming) in after {
            // The batch is durable; a side effect that fails is said and does not make the platform send everything again.
            if let Err(error) = self.follow_up(info, place, incoming).await {
                tracing::warn!(room = %place.room, error = %error.report(), "an event was stored but could not be applied");
            }
        }
        let stored = fresh.iter().filter(|new| **new).count();
        let received = Received { stored, duplicates: fresh.len() - stored };
        for (entry, new) in messages.into_iter().zip(fresh) {
            if new {
                self.enqueue(entry);
            } else {
                turn::enqueue_again(agent, entry.memory.id).await?;
            }
        }
        Ok(received)
    }

    async fn cursor(&self, info: &ConnectorInfo, stream: &str) -> Result<Option<Cursor>> {
        self.0.store.cursor(self.0.view.identity.id(), &info.source, &info.account, stream).await
    }

    async fn note_gap(&self, info: &ConnectorInfo, gap: Gap) -> Result<()> {
        let known = Gap::read(self.cursor(info, GAPS).await?.as_ref());
        let Some(cursor) = Gap::noted(known, gap.clone()) else { return Ok(()) };
        self.receive(info, Batch { events: Vec::new(), cursor: Some(cursor) }).await?;
        let Gap { from, to, place, count, reason, .. } = &gap;
        let (from, to) = (from.map(|t| t.0), to.map(|t| t.0));
        tracing::warn!(code = "GAL-GAP", source = %info.source, account = %info.account, from, to, place, count, reason, "messages are missing and cannot be read back");
        let agent = self.0.view.identity.id();
        self.0.events.publish(Event::MessagesMissing { agent, source: info.source.clone(), account: info.account.clone(), gap });
        Ok(())
    }

    fn register_send_handler(&self, info: &ConnectorInfo, handler: Arc<dyn SendHandler>) {
        let agent = &self.0;
        let key = (info.source.clone(), info.account.clone());
        let Some(tenure) = agent.shares.account(&info.source, &info.account) else { return };
        let known = agent.any_route(&info.source, &info.account).filter(|route| route.tenure.as_ref().is_some_and(|held| held.is(&tenure)));
        let first = known.is_none();
        let takeover = known.map(|route| Arc::clone(&route.takeover)).unwrap_or_default();
        let route = Arc::new(delivery::Route::new(info.clone(), handler, agent, takeover, Some(tenure.clone())));
        agent.routes.insert(key, Arc::clone(&route));
        // A connector that restarts registers again; what was in flight then is still in its lane.
        if first {
            agent.tasks.spawn(keep_first(Arc::clone(agent), info.clone()));
            let halt = agent.halt.clone();
            let work = delivery::take_over(Arc::clone(agent), route, tenure);
            agent.tasks.spawn(async move { halt.run_until_cancelled(work).await });
        }
    }

    fn report(&self, info: &ConnectorInfo, health: Health) {
        let agent = &self.0;
        let key = (info.source.clone(), info.account.clone());
        let changed = agent.health.insert(key, (info.clone(), health.clone())).is_none_or(|(_, before)| before != health);
        if changed {
            agent.events.publish(Event::ConnectorHealth {
                agent: agent.view.identity.id(),
                source: info.source.clone(),
                account: info.account.clone(),
                health,
            });
        }
    }
}

fn elsewhere(info: &ConnectorInfo) -> Error {
    Error::new(ErrorKind::Conflict, "another process has this account now").with("source", &info.source).with("account", &info.account)
}

async fn keep_first(agent: Arc<Agent>, info: ConnectorInfo) {
    if let Err(error) = agent.accounts.keep(&*agent.store, &info, agent.clock.now()).await {
        tracing::warn!(source = %info.source, error = %error.report(), "which account came first could not be stored; it is tried again at the next start");
    }
}

impl Intake {
    async fn connect(&self, change: ConnectionChange) -> Result<()> {
        if change.is_empty() {
            return Ok(());
        }
        let known = connect::fingerprints(&change);
        self.0.store.connect(change).await?;
        self.remember(known);
        Ok(())
    }

    /// Only after the commit: a failed one must be tried again.
    fn remember(&self, known: Vec<connect::Fingerprint>) {
        for fingerprint in known {
            match fingerprint.owner {
                connect::Owner::Room => self.0.rooms.forget(RoomId(fingerprint.id)),
                connect::Owner::World => self.0.rooms.forget_all(),
                connect::Owner::Entity | connect::Owner::Participant => {}
            }
            self.0.known.insert(fingerprint);
        }
    }

    fn enqueue(&self, entry: InboxEntry) {
        let agent = &self.0;
        agent.events.publish(Event::MessageReceived { agent: entry.memory.agent_id, room: entry.memory.room_id, memory: entry.memory.id });
        turn::enqueue(agent, entry);
    }

    async fn follow_up(&self, info: &ConnectorInfo, place: Place, incoming: &galatea_core::Incoming) -> Result<()> {
        let agent = &self.0;
        let id = agent.view.identity.id();
        let memory_id = |remote: &galatea_core::RemoteId| agent.accounts.memory(info, remote.as_str());
        match &incoming.event {
            IncomingEvent::Edited { id: remote, content } => {
                let memory = memory_id(remote);
                let mut content = content.clone();
                content.source.get_or_insert_with(|| info.source.to_string());
                if agent.store.update_content(id, memory, &content).await? {
                    agent.events.publish(Event::MessageEdited { agent: id, room: place.room, memory });
                }
            }
            IncomingEvent::Deleted { ids } => {
                let memories: Vec<_> = ids.iter().map(memory_id).collect();
                agent.store.delete_memories(id, &memories).await?;
                for memory in memories {
                    agent.events.publish(Event::MessageDeleted { agent: id, room: place.room, memory });
                }
            }
            IncomingEvent::Reacted { id: remote, .. } => {
                agent.events.publish(Event::ReactionReceived { agent: id, room: place.room, memory: memory_id(remote) });
            }
            IncomingEvent::Joined { entities } => {
                let change = connect::members(agent, info, place.room, entities);
                let joined: Vec<_> = change.participants.iter().map(|(entity, _)| *entity).collect();
                self.connect(change).await?;
                for entity in joined {
                    agent.events.publish(Event::EntityJoined { agent: id, room: place.room, entity });
                }
            }
            IncomingEvent::Left { entities } => {
                let left: Vec<_> = entities.iter().map(|e| connect::entity_id(agent, info, &e.remote)).collect();
                agent.store.remove_participants(place.room, &left).await?;
                for entity in left {
                    agent.known.forget_participant(entity, place.room);
                    agent.events.publish(Event::EntityLeft { agent: id, room: place.room, entity });
                }
            }
            IncomingEvent::OwnStatus(status) => match status {
                OwnStatus::Removed => agent.events.publish(Event::WorldLeft { agent: id, world: place.world }),
                OwnStatus::Joined | OwnStatus::Admin => agent.events.publish(Event::WorldJoined { agent: id, world: place.world }),
                OwnStatus::Restricted | OwnStatus::Closed => {}
            },
            IncomingEvent::RoomMoved { to } => {
                let to_room = agent.accounts.room(&info.source, &info.account, to);
                agent.store.move_room(place.room, to_room, to).await?;
                agent.rooms.moved(place.room, to_room, to);
                agent.known.clear();
            }
            IncomingEvent::Message(_) | IncomingEvent::Pressed { .. } => {}
        }
        Ok(())
    }
}
