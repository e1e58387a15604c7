//! Connections known to be stored, so that a known one costs no SQL.

use galatea_core::{EntityId, RoomId};
use moka::sync::Cache;
use uuid::Uuid;

use super::connect::{Fingerprint, Owner};

/// Fingerprints of what was committed. 65,536 entries of 40 bytes and overhead: under 10 MB when full.
pub(crate) struct KnownConnections(Cache<(Owner, Uuid, Uuid), u64>);

const CAPACITY: u64 = 65_536;

impl KnownConnections {
    /// Nothing known.
    pub(crate) fn new() -> Self {
        Self(Cache::new(CAPACITY))
    }

    /// True when exactly this was committed last.
    pub(super) fn has(&self, fingerprint: &Fingerprint) -> bool {
        self.0.get(&(fingerprint.owner, fingerprint.id, fingerprint.room)) == Some(fingerprint.hash)
    }

    /// Call after the commit.
    pub(super) fn insert(&self, fingerprint: Fingerprint) {
        self.0.insert((fingerprint.owner, fingerprint.id, fingerprint.room), fingerprint.hash);
    }

    /// A participant left.
    pub(super) fn forget_participant(&self, entity: EntityId, room: RoomId) {
        self.0.invalidate(&(Owner::Participant, entity.0, room.0));
    }

    /// Forget everything (a room moved; rare).
    pub(crate) fn clear(&self) {
        self.0.invalidate_all();
    }
}
