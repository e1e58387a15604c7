//! Fingerprints of World, Room, Entity and Participant rows: equal ones hold the same content.

use galatea_core::{
    EntityId, RoomId,
    store::{ConnectionChange, EntityChange, RoomChange, WorldChange},
};
use serde_json::{Map, Value};
use std::hash::{DefaultHasher, Hash, Hasher};
use uuid::Uuid;

/// The table of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Owner {
    World,
    Room,
    Entity,
    Participant,
}

/// Identifies a row and its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    pub(crate) owner: Owner,
    pub(crate) id: Uuid,
    /// The room of a participant, else nil.
    pub(crate) room: Uuid,
    pub(crate) hash: u64,
}

/// Fingerprints of every row of a change.
pub(crate) fn fingerprints(change: &ConnectionChange) -> Vec<Fingerprint> {
    let mut all: Vec<_> = change.worlds.iter().map(of_world).collect();
    all.extend(change.rooms.iter().map(of_room));
    all.extend(change.entities.iter().map(of_entity));
    all.extend(change.participants.iter().map(|pair| of_participant(*pair)));
    all
}

pub(super) fn of_world(row: &WorldChange) -> Fingerprint {
    Fingerprint {
        owner: Owner::World,
        id: row.id.0,
        room: Uuid::nil(),
        hash: hash((&row.name, &row.remote, json(&row.metadata))),
    }
}

pub(super) fn of_room(row: &RoomChange) -> Fingerprint {
    Fingerprint {
        owner: Owner::Room,
        id: row.id.0,
        room: Uuid::nil(),
        hash: hash((
            &row.name,
            &row.remote,
            row.world,
            row.parent,
            row.kind,
            &row.account,
            json(&row.metadata),
        )),
    }
}

pub(super) fn of_entity(row: &EntityChange) -> Fingerprint {
    Fingerprint {
        owner: Owner::Entity,
        id: row.id.0,
        room: Uuid::nil(),
        hash: hash((&row.names, json(&row.metadata))),
    }
}

pub(super) fn of_participant((entity, room): (EntityId, RoomId)) -> Fingerprint {
    Fingerprint { owner: Owner::Participant, id: entity.0, room: room.0, hash: 0 }
}

fn json(map: &Map<String, Value>) -> String {
    if map.is_empty() { String::new() } else { Value::Object(map.clone()).to_string() }
}

fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
