//! Known: where facts have been learnt, so that an ordinary turn asks the store for none.

use galatea_core::{AgentId, MemoryKind, Result, RoomId, Turn, store::MemoryQuery};
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

/// Rooms remembered before all are forgotten (and asked for again): about a megabyte.
const ROOMS: usize = 20_000;

/// Which agents and rooms have facts. Once per process an agent is looked up, and then each of its rooms if it has any.
#[derive(Default)]
pub(crate) struct Known {
    agents: Mutex<HashMap<AgentId, bool>>,
    rooms: Mutex<HashMap<(AgentId, RoomId), bool>>,
}

impl Known {
    /// Whether this room may have facts.
    pub(crate) async fn may_have_facts(&self, turn: &Turn<'_>) -> Result<bool> {
        let agent = turn.agent.identity.id();
        let any = get(&self.agents, &agent);
        let any = match any {
            Some(any) => any,
            None => {
                let found = !turn.store.memories(&MemoryQuery::new(agent, 1).kind(MemoryKind::Facts)).await?.is_empty();
                put_if_new(&self.agents, agent, found)
            }
        };
        if !any {
            return Ok(false);
        }
        let room = (agent, turn.room.id);
        if let Some(has) = get(&self.rooms, &room) {
            return Ok(has);
        }
        let found = !turn.store.memories(&MemoryQuery::new(agent, 1).room(turn.room.id).kind(MemoryKind::Facts)).await?.is_empty();
        Ok(put_if_new(&self.rooms, room, found))
    }

    /// A fact is about to be stored here.
    pub(crate) fn learn(&self, turn: &Turn<'_>) {
        let agent = turn.agent.identity.id();
        self.agents.lock().unwrap_or_else(PoisonError::into_inner).insert(agent, true);
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner).insert((agent, turn.room.id), true);
    }
}

fn get<K: std::hash::Hash + Eq>(map: &Mutex<HashMap<K, bool>>, key: &K) -> Option<bool> {
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
