//! Stores messages of the past that an operator imports. They are stored as if they had been
//! received, under the same ids, but get no turn: their writers no longer wait for an answer.

mod forgotten;
mod read;

use galatea_core::{
    Account, AgentId, AgentIdentity, Clock, ConnectorInfo, EntityId, Incoming, IncomingEvent,
    Memory, MemoryId, RemoteId, Result, Room, Source, Store, Timestamp, kill_point,
    store::{ConnectionChange, Ingest},
};
use std::collections::{HashMap, HashSet};

use crate::{
    directory::{Directory, accounts, fingerprints},
    intake::past,
};
pub use forgotten::is_forgotten;
use read::Read;

/// Messages of one commit: it takes some milliseconds, and live messages get in between.
pub const STEP: usize = 500;

/// The agent's account on a platform that came first, to which its rooms there belong. `None` if none
/// was ever connected.
///
/// # Errors
/// Those of the store.
pub async fn first_account(
    store: &dyn Store,
    agent: AgentId,
    source: &Source,
    now: Timestamp,
) -> Result<Option<Account>> {
    accounts::first(store, agent, source, now).await
}

/// Stores messages of one platform for one agent.
pub struct History<'a> {
    store: &'a dyn Store,
    directory: Directory,
    info: ConnectorInfo,
    /// The Room into which all messages go, if it is not the one that they name.
    room: Option<Room>,
    /// Messages of people who were forgotten, and answers to them. An answer may come much later.
    of_forgotten: HashSet<MemoryId>,
}

/// Counts of stored messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stored {
    /// Number of new messages.
    pub new: usize,
    /// Number of messages that were stored already, with another text. They were left as they are.
    pub differing: usize,
    /// Number of messages that were deleted here before, or are of people who were forgotten. They
    /// were left out.
    pub deleted: usize,
}

impl<'a> History<'a> {
    /// For the account of the agent that came first on the platform. `own` are platform ids of the
    /// agent itself, besides that account's.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn of(
        store: &'a dyn Store,
        identity: AgentIdentity,
        source: Source,
        own: &[RemoteId],
        clock: &dyn Clock,
    ) -> Result<Self> {
        let (directory, account) =
            Directory::of_past(store, identity, &source, own, clock.now()).await?;
        let account = account.unwrap_or_else(|| Account("default".to_owned()));
        let info = past::info(source, account);
        Ok(Self { store, directory, info, room: None, of_forgotten: HashSet::new() })
    }

    /// All messages go into this Room, if there is one, whatever place they name.
    #[must_use]
    pub fn within(self, room: Option<Room>) -> Self {
        Self { room, ..self }
    }

    /// Stores at most [`STEP`] messages in one commit. What is stored already is left as it is, so an
    /// import that was interrupted can be repeated. What was deleted is stored again if `restore`.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn store(&mut self, messages: &[Incoming], restore: bool) -> Result<Stored> {
        let older = self.older(messages).await?;
        let mut read: Vec<Read> =
            messages.iter().map(|incoming| self.convert(incoming, &older)).collect();
        self.keep_direct_rooms(messages, &mut read).await?;
        let ids: Vec<MemoryId> =
            read.iter().filter_map(|one| one.memory.as_ref()).map(|memory| memory.id).collect();
        let known = self.store.derived(self.directory.identity.id(), &ids).await?;
        let texts: HashMap<MemoryId, &str> =
            known.iter().map(|row| (row.memory.id, row.memory.content.text.as_str())).collect();
        let mut deleted = 0;
        if !restore {
            let mut gone: HashSet<MemoryId> = self.store.deleted(&ids).await?.into_iter().collect();
            let agent = self.directory.identity.entity();
            forgotten::find(self.store, agent, &read, &mut self.of_forgotten).await?;
            gone.extend(&self.of_forgotten);
            gone.retain(|id| !texts.contains_key(id));
            // The person's name is in the rows of the place, too.
            read.retain(|one| !one.memory.as_ref().is_some_and(|memory| gone.contains(&memory.id)));
            deleted = ids.len() - read.iter().filter(|one| one.memory.is_some()).count();
        }
        let mut ingest = Ingest::default();
        ingest.connections.past = true;
        for Read { change, memory, .. } in read {
            ingest.connections.extend(change);
            ingest.memories.extend(memory);
        }
        let differs = |memory: &&Memory| {
            texts.get(&memory.id).is_some_and(|text| *text != memory.content.text)
        };
        let stored = Stored {
            new: ingest.memories.len().saturating_sub(known.len()),
            differing: ingest.memories.iter().filter(differs).count(),
            deleted,
        };
        let rows = fingerprints(&ingest.connections);
        kill_point("import.before");
        self.store.ingest(ingest).await?;
        kill_point("import.after");
        self.directory.committed(rows);
        Ok(stored)
    }

    /// What a message becomes. `older` is what is stored under elizaOS's ids.
    fn convert(&self, incoming: &Incoming, older: &HashMap<MemoryId, Memory>) -> Read {
        let (mut change, mut memory) = past::convert(&self.directory, &self.info, incoming);
        let mut kind = incoming.connection.room.kind;
        if let Some(room) = &self.room {
            move_into(room, &mut change, memory.as_mut());
            kind = room.kind;
        }
        // The same message under elizaOS's id. On Telegram that is a number that messages of other
        // Rooms have, too; within a Room it is that message's.
        let is_same = |memory: &Memory| {
            self.older_id(incoming).and_then(|id| older.get(&id)).is_some_and(|known| {
                known.room_id == memory.room_id && known.entity_id == memory.entity_id
            })
        };
        let memory = memory.filter(|memory| !is_same(memory));
        Read { change, memory, is_direct: kind.is_direct() }
    }

    /// Removes participants that a direct Room does not have: the speakers of a chat log, and all but the
    /// Room's person if the Room has that person's id. With them the Room would count as a group, and
    /// `/privacy forget me` would keep the agent's messages there, and the Room's name.
    async fn keep_direct_rooms(&self, messages: &[Incoming], read: &mut [Read]) -> Result<()> {
        let agent = self.directory.identity.entity();
        let source = &self.info.source;
        let entity = |remote: &RemoteId| self.directory.accounts.entity(source, remote);
        let named_after = |incoming: &Incoming| entity(&incoming.connection.room.remote);
        let is_direct = read.iter().map(|one| one.is_direct);
        let direct = messages.iter().zip(is_direct).filter(|(_, is_direct)| *is_direct);
        let asked: HashSet<EntityId> = direct.map(|(incoming, _)| named_after(incoming)).collect();
        if asked.is_empty() {
            return Ok(());
        }
        let authors = messages.iter().filter_map(|one| one.connection.entity.as_ref());
        let mut people: HashSet<EntityId> = authors.map(|one| entity(&one.remote)).collect();
        let asked: Vec<EntityId> = asked.into_iter().collect();
        people.extend(self.store.entities(&asked).await?.into_iter().map(|person| person.id));
        for (incoming, one) in messages.iter().zip(read).filter(|(_, one)| one.is_direct) {
            let person = named_after(incoming);
            if self.room.is_some() {
                one.change.participants.retain(|(id, _)| *id == agent);
            } else if people.contains(&person) {
                one.change.participants.retain(|(id, _)| *id == agent || *id == person);
            }
        }
        Ok(())
    }

    /// What is stored under the ids that elizaOS gave these messages.
    async fn older(&self, messages: &[Incoming]) -> Result<HashMap<MemoryId, Memory>> {
        let ids: Vec<MemoryId> = messages.iter().filter_map(|one| self.older_id(one)).collect();
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        let found = self.store.derived(self.directory.identity.id(), &ids).await?;
        Ok(found.into_iter().map(|row| (row.memory.id, row.memory)).collect())
    }

    fn older_id(&self, incoming: &Incoming) -> Option<MemoryId> {
        let id = legacy_id(incoming)?;
        Some(self.directory.accounts.memory(&self.info, id.as_str()))
    }
}

fn legacy_id(incoming: &Incoming) -> Option<&RemoteId> {
    let IncomingEvent::Message(message) = &incoming.event else { return None };
    message.legacy_id.as_ref()
}

/// Moves a message and its speaker into a Room that is stored already.
fn move_into(room: &Room, change: &mut ConnectionChange, memory: Option<&mut Memory>) {
    change.worlds.clear();
    change.rooms.clear();
    change.participants.iter_mut().for_each(|(_, at)| *at = room.id);
    if let Some(memory) = memory {
        memory.room_id = room.id;
        memory.world_id = Some(room.world_id);
    }
}
