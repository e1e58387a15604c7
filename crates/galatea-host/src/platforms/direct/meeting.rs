//! A Room of this process in which agents meet each other and people, without a platform. An answer
//! counts as sent once the inbox of each other member that runs has it; a member that does not run
//! gets what it missed when it starts again.

use async_trait::async_trait;
use galatea_core::{
    Addressed, AgentId, Batch, ChannelType, Clock, Connection, Content, EntityRef, Error,
    ErrorKind, Gateway, Incoming, IncomingEvent, IncomingMessage, RemoteId, Result, Retry, Role,
    RoomRef, SystemClock, Timestamp, WorldRef,
};
use parking_lot::Mutex;
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use super::{
    message::{Person, SOURCE, person_id, room_id},
    way::{Direct, Hall},
};

/// Messages of a meeting kept in memory, for members that do not run. Older ones are lost to these.
const KEPT: usize = 256;

/// A Room of this process that agents take part in.
pub(crate) struct MeetingRoom {
    name: String,
    remote: RemoteId,
    state: Mutex<State>,
    /// One delivery at a time keeps the order of messages.
    delivering: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    members: BTreeMap<AgentId, Member>,
    owners: BTreeSet<RemoteId>,
    said: VecDeque<Arc<Said>>,
    /// Number of the next message.
    next: u64,
}

struct Member {
    name: String,
    direct: Arc<Direct>,
    /// Number of the first message that its inbox may not have.
    next: u64,
}

/// One message of a meeting.
#[derive(Debug)]
pub(crate) struct Said {
    number: u64,
    id: RemoteId,
    who: EntityRef,
    /// The agent that said it; none for a person.
    agent: Option<AgentId>,
    text: String,
    at: Timestamp,
}

impl Said {
    /// Name of the speaker.
    pub(crate) fn name(&self) -> &str {
        self.who.name.as_deref().unwrap_or_default()
    }

    /// The text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

impl MeetingRoom {
    pub(crate) fn new(name: &str) -> Arc<Self> {
        Arc::new(Self {
            name: name.to_owned(),
            remote: room_id(name),
            state: Mutex::default(),
            delivering: tokio::sync::Mutex::default(),
        })
    }

    /// Adds an agent, which hears what is said from now on.
    pub(crate) fn join(self: &Arc<Self>, agent: AgentId, name: &str, direct: &Arc<Direct>) {
        let mut state = self.state.lock();
        let next = state.next;
        state.members.entry(agent).or_insert_with(|| Member {
            name: name.to_owned(),
            direct: Arc::clone(direct),
            next,
        });
        let hall: Arc<dyn Hall> = Arc::clone(self) as _;
        direct.meets(&self.remote, Some(&hall));
    }

    /// Removes an agent.
    pub(crate) fn leave(&self, agent: AgentId) {
        if let Some(member) = self.state.lock().members.remove(&agent) {
            member.direct.meets(&self.remote, None);
        }
    }

    /// What was said, the oldest first; at most the last 256 messages.
    pub(crate) fn said(&self) -> Vec<Arc<Said>> {
        self.state.lock().said.iter().cloned().collect()
    }

    /// A person says something to all members.
    pub(crate) async fn say(&self, person: &Person, text: &str) -> Result<()> {
        let who = person_id(person);
        let number = self.state.lock().next;
        let id = RemoteId::new(format_args!(
            "{}/{number}-{}",
            self.remote.as_str(),
            galatea_core::MemoryId::fresh()
        ));
        if person.owner {
            self.state.lock().owners.insert(who.clone());
        }
        let who = EntityRef::new(who, Some(person.name.clone()), Some(person.id.clone()));
        self.keep(id, who, None, text);
        self.deliver().await
    }

    fn keep(&self, id: RemoteId, who: EntityRef, agent: Option<AgentId>, text: &str) {
        let mut state = self.state.lock();
        if state.said.iter().any(|said| said.id == id) {
            return;
        }
        let number = state.next;
        let at = SystemClock.now();
        state.next += 1;
        state.said.push_back(Arc::new(Said { number, id, who, agent, text: text.to_owned(), at }));
        while state.said.len() > KEPT {
            state.said.pop_front();
        }
    }

    async fn pass(&self, gateway: &Gateway, agent: AgentId, missed: Vec<Arc<Said>>) -> Result<()> {
        let Some(last) = missed.last().map(|said| said.number) else { return Ok(()) };
        let events: Vec<Incoming> = missed
            .iter()
            .filter(|said| said.agent != Some(agent))
            .map(|said| self.incoming(said))
            .collect();
        if !events.is_empty() {
            gateway.receive(Batch { events, ..Batch::default() }).await?;
        }
        if let Some(member) = self.state.lock().members.get_mut(&agent) {
            member.next = member.next.max(last + 1);
        }
        Ok(())
    }

    fn incoming(&self, said: &Said) -> Incoming {
        let owners = self.state.lock().owners.iter().map(|id| (id.clone(), Role::Owner)).collect();
        let name = Some(self.name.clone());
        Incoming {
            connection: Connection {
                world: WorldRef {
                    roles: owners,
                    ..WorldRef::new(self.remote.clone(), name.clone())
                },
                room: RoomRef::new(self.remote.clone(), name, ChannelType::Group),
                entity: Some(said.who.clone()),
            },
            event: IncomingEvent::Message(IncomingMessage {
                id: said.id.clone(),
                legacy_id: None,
                content: Content {
                    source: Some(SOURCE.as_str().to_owned()),
                    ..Content::text(&said.text)
                },
                // Everybody in the room is addressed: the room exists for this conversation.
                addressed: Addressed { mention: true, reply: false },
                reply_to: None,
                command: None,
                from_self: false,
            }),
            at: said.at,
        }
    }
}

#[async_trait]
impl Hall for MeetingRoom {
    async fn answer(&self, agent: AgentId, id: RemoteId, text: &str) -> Result<()> {
        let who = {
            let state = self.state.lock();
            let name = state.members.get(&agent).map(|member| member.name.clone());
            let remote = RemoteId::new(format_args!("{}/{agent}", SOURCE.as_str()));
            EntityRef { is_bot: true, ..EntityRef::new(remote, name.clone(), name) }
        };
        self.keep(id, who, Some(agent), text);
        self.deliver().await
    }

    async fn deliver(&self) -> Result<()> {
        let _one_at_a_time = self.delivering.lock().await;
        let members: Vec<AgentId> = self.state.lock().members.keys().copied().collect();
        let mut outcome = Ok(());
        for agent in members {
            let (gateway, missed) = {
                let state = self.state.lock();
                let Some(member) = state.members.get(&agent) else { continue };
                let Some(gateway) = member.direct.gateway() else { continue };
                let missed: Vec<_> =
                    state.said.iter().filter(|said| said.number >= member.next).cloned().collect();
                (gateway, missed)
            };
            if let Err(error) = self.pass(&gateway, agent, missed).await {
                outcome = outcome.and(Err(Error::new(
                    ErrorKind::Unavailable,
                    "a member of the room could not store a message",
                )
                .with_retry(Retry::Soon)
                .with("agent", agent)
                .with_source(error)));
            }
        }
        outcome
    }
}
