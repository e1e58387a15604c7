//! Known: where facts have been learnt and when a room was last reflected on, so that an ordinary
//! turn asks the store for neither.

use galatea_core::{AgentId, MemoryKind, Result, RoomId, Timestamp, Turn, store::MemoryQuery};
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

/// Rooms remembered before all are forgotten (and asked for again): about a megabyte.
const ROOMS: usize = 20_000;

/// Says in the store that an agent knows relationships.
const TIED: &str = "relationships";

/// Which agents and rooms have facts. Once per process an agent is looked up, and then each of its
/// rooms if it has any.
#[derive(Default)]
pub(crate) struct Known {
    agents: Mutex<HashMap<AgentId, bool>>,
    rooms: Mutex<HashMap<(AgentId, RoomId), bool>>,
    reflected: Mutex<HashMap<(AgentId, RoomId), Option<Timestamp>>>,
    tied: Mutex<HashMap<AgentId, bool>>,
}

impl Known {
    /// Whether this room may have facts.
    pub(crate) async fn may_have_facts(&self, turn: &Turn<'_>) -> Result<bool> {
        let agent = turn.agent.identity.id();
        if !self.has_facts(turn).await? {
            return Ok(false);
        }
        let room = (agent, turn.room.id);
        if let Some(has) = get(&self.rooms, &room) {
            return Ok(has);
        }
        let found = !turn
            .store
            .memories(&MemoryQuery::new(agent, 1).room(turn.room.id).kind(MemoryKind::Facts))
            .await?
            .is_empty();
        Ok(put_if_new(&self.rooms, room, found))
    }

    /// Whether this agent ever learnt a fact.
    async fn has_facts(&self, turn: &Turn<'_>) -> Result<bool> {
        let agent = turn.agent.identity.id();
        if let Some(any) = get(&self.agents, &agent) {
            return Ok(any);
        }
        let found = !turn
            .store
            .memories(&MemoryQuery::new(agent, 1).kind(MemoryKind::Facts))
            .await?
            .is_empty();
        Ok(put_if_new(&self.agents, agent, found))
    }

    /// Whether this room may have relationships: only a reflection learns them. It notes the agent
    /// as one that has some; of what was learnt before that was noted, facts tell.
    pub(crate) async fn may_have_ties(&self, turn: &Turn<'_>) -> Result<bool> {
        let agent = turn.agent.identity.id();
        let any = match get(&self.tied, &agent) {
            Some(any) => any,
            None => {
                let found = turn.store.noted(agent, TIED, turn.now()).await?.is_some()
                    || self.has_facts(turn).await?;
                put_if_new(&self.tied, agent, found)
            }
        };
        Ok(any && self.reflected(turn) != Some(None))
    }

    /// A relationship is about to be stored.
    pub(crate) async fn tie(&self, turn: &Turn<'_>) -> Result<()> {
        let agent = turn.agent.identity.id();
        turn.store.note(agent, TIED, &true.into(), None).await?;
        self.tied.lock().unwrap_or_else(PoisonError::into_inner).insert(agent, true);
        Ok(())
    }

    /// The newest message of the last reflection on this room, as far as this process knows;
    /// another may have reflected since. The outer none: not known.
    pub(crate) fn reflected(&self, turn: &Turn<'_>) -> Option<Option<Timestamp>> {
        get(&self.reflected, &(turn.agent.identity.id(), turn.room.id))
    }

    /// What the store says of it, or is about to.
    pub(crate) fn note_reflected(&self, turn: &Turn<'_>, newest: Option<Timestamp>) {
        let mut map = self.reflected.lock().unwrap_or_else(PoisonError::into_inner);
        if map.len() >= ROOMS {
            map.clear();
        }
        map.insert((turn.agent.identity.id(), turn.room.id), newest);
    }

    /// A fact is about to be stored here.
    pub(crate) fn learn(&self, turn: &Turn<'_>) {
        let agent = turn.agent.identity.id();
        self.agents.lock().unwrap_or_else(PoisonError::into_inner).insert(agent, true);
        self.rooms
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert((agent, turn.room.id), true);
    }
}

fn get<K: std::hash::Hash + Eq, V: Copy>(map: &Mutex<HashMap<K, V>>, key: &K) -> Option<V> {
    map.lock().unwrap_or_else(PoisonError::into_inner).get(key).copied()
}

/// Keeps what was learnt while the store was asked.
fn put_if_new<K: std::hash::Hash + Eq>(map: &Mutex<HashMap<K, bool>>, key: K, found: bool) -> bool {
    let mut map = map.lock().unwrap_or_else(PoisonError::into_inner);
    if map.len() >= ROOMS {
        map.clear();
    }
    *map.entry(key).or_insert(found)
}
