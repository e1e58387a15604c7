//! Parts of the work that several processes share: partitions of an agent's Rooms, and accounts.

use serde::{Deserialize, Serialize};
use std::fmt;

use crate::ids::{Account, AgentId, RoomId, Source};

/// Into how many parts all Rooms are divided. Stored rows depend on it, so it never changes.
pub const ROOM_PARTITIONS: u16 = 64;

/// The part of a Room, below [`ROOM_PARTITIONS`]. Ids are hashes or random already, so their last
/// byte spreads evenly; databases compute the same by themselves.
pub fn room_partition(room: RoomId) -> u16 {
    u16::from(room.0.as_bytes()[15]) % ROOM_PARTITIONS
}

/// The name of something that one process at a time takes care of.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Partition(pub String);

impl Partition {
    /// Rooms of an agent whose [`room_partition`] is `part`.
    pub fn rooms(agent: AgentId, part: u16) -> Self {
        Self(format!("rooms:{agent}:{part}"))
    }
    /// Every part of an agent's Rooms.
    pub fn all_rooms(agent: AgentId) -> Vec<Self> {
        (0..ROOM_PARTITIONS).map(|part| Self::rooms(agent, part)).collect()
    }
    /// Login of an agent on a platform.
    pub fn account(source: &Source, agent: AgentId, account: &Account) -> Self {
        Self(format!("{source}:{agent}:{account}"))
    }
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn a_rooms_part_never_changes() {
        for (id, part) in [
            ("00000000-0000-0000-0000-000000000000", 0),
            ("b850bc30-45f8-0041-a00a-83df46d8555d", 29),
            ("ffffffff-ffff-ffff-ffff-ffffffffffff", 63),
        ] {
            assert_eq!(room_partition(RoomId(Uuid::parse_str(id).unwrap())), part);
        }
    }

    #[test]
    fn rooms_spread_over_all_parts() {
        let mut rooms = [0_u32; ROOM_PARTITIONS as usize];
        for n in 0..64_000 {
            rooms[usize::from(room_partition(RoomId(Uuid::new_v5(
                &Uuid::NAMESPACE_OID,
                format!("{n}").as_bytes(),
            ))))] += 1;
        }
        assert!(rooms.iter().all(|n| (850..1_150).contains(n)), "{rooms:?}");
    }
}
