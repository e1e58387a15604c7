//! Connections known to be stored, so that a known one costs no SQL.

use galatea_core::{EntityId, RoomId, store::ConnectionChange};
use std::collections::HashSet;
use uuid::Uuid;

use super::fingerprint::{Fingerprint, Owner, of_entity, of_participant, of_room, of_world};
use crate::recent::Recent;

/// Fingerprints of what was committed. 65,536 entries of 40 bytes and overhead: under 10 MB when
/// full.
pub(crate) struct KnownConnections(Recent<(Owner, Uuid, Uuid), u64>);

const CAPACITY: usize = 65_536;

impl KnownConnections {
    pub(crate) fn new() -> Self {
        Self(Recent::new(CAPACITY))
    }

    /// Drops rows that are known to be stored, and repeats.
    pub(crate) fn retain_unknown(&self, change: &mut ConnectionChange) {
        change.worlds.retain(|row| !self.has(&of_world(row)));
        change.rooms.retain(|row| !self.has(&of_room(row)));
        change.entities.retain(|row| !self.has(&of_entity(row)));
        let mut seen = HashSet::new();
        change.participants.retain(|pair| !self.has(&of_participant(*pair)) && seen.insert(*pair));
    }

    /// True when exactly this was committed last.
    fn has(&self, fingerprint: &Fingerprint) -> bool {
        self.0.get(&(fingerprint.owner, fingerprint.id, fingerprint.room)) == Some(fingerprint.hash)
    }

    /// Call after the commit.
    pub(super) fn insert(&self, fingerprint: Fingerprint) {
        self.0.insert((fingerprint.owner, fingerprint.id, fingerprint.room), fingerprint.hash);
    }

    /// Forgets a person who left. Their next message stores them again.
    pub(crate) fn forget_participant(&self, entity: EntityId, room: RoomId) {
        self.0.remove(&(Owner::Participant, entity.0, room.0));
    }

    /// Forget everything (a room moved; rare).
    pub(crate) fn clear(&self) {
        self.0.clear();
    }
}
