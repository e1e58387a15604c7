//! Reads for operators: lists in pages. A page is asked for with the place where the page before it
//! ended, so that rows which arrive meanwhile cause neither gaps nor repeats.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{fmt, str::FromStr};

use super::{InboxItem, InboxState, OutboxItem, OutboxState};
use crate::{
    clock::Timestamp,
    entity::Entity,
    error::{Error, Result},
    ids::{AgentId, DeliveryId, EntityId, RoomId, Source},
    memory::{Memory, MemoryKind},
    room::Room,
};

/// Place of a row in a list, newest first: by time, and by the order of commit where times are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Time of the row.
    pub at: Timestamp,
    /// Its number in the order of commit.
    pub seq: i64,
}

impl Place {
    /// Before every row.
    pub const NEWEST: Self = Self { at: Timestamp(i64::MAX), seq: i64::MAX };
}

/// The form in addresses: `time.seq`.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.at.0, self.seq)
    }
}

impl FromStr for Place {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        let parsed = text.split_once('.').and_then(|(at, seq)| {
            Some(Self { at: Timestamp(at.parse().ok()?), seq: seq.parse().ok()? })
        });
        parsed.ok_or_else(|| Error::invalid("this is not a cursor that a list returned"))
    }
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Page<T> {
    /// The rows, newest first.
    pub rows: Vec<T>,
    /// The place from which the next page goes on; none at the end of the list. A page may have
    /// fewer rows than asked for, or none, and still have a next one: a filter that fits few rows is
    /// looked for in steps.
    pub next: Option<Place>,
}

/// Which turns to list: messages with what was decided about them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnsQuery {
    /// Only of this agent.
    pub agent: Option<AgentId>,
    /// Only in this Room. They come by the time of their messages, all others by the order in which they
    /// were stored.
    pub room: Option<RoomId>,
    /// Only from this platform.
    pub source: Option<Source>,
    /// Only in this state.
    pub state: Option<InboxState>,
    /// Older than this.
    pub before: Place,
    /// At most this many.
    pub limit: u32,
}

/// Which parts of answers to list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveriesQuery {
    /// Only of this agent.
    pub agent: Option<AgentId>,
    /// Only in this Room.
    pub room: Option<RoomId>,
    /// Only to this platform.
    pub source: Option<Source>,
    /// Only in this state.
    pub state: Option<OutboxState>,
    /// Older than this.
    pub before: Place,
    /// At most this many.
    pub limit: u32,
}

/// Of what memories are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoriesOf {
    /// All of an agent.
    Agent(AgentId),
    /// Those of a Room.
    Room(RoomId),
    /// Those of a person.
    Person(EntityId),
}

/// A Room with its newest message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedRoom {
    /// The Room.
    #[serde(flatten)]
    pub room: Room,
    /// Time of its newest message.
    pub last_at: Option<Timestamp>,
}

/// What waits and what failed, counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// Messages without a decision yet.
    pub waiting_messages: u64,
    /// Messages that were given up.
    pub failed_messages: u64,
    /// Messages that were too old when their turn came.
    pub expired_messages: u64,
    /// Parts that wait for their next attempt.
    pub pending: u64,
    /// Parts that are being sent.
    pub sending: u64,
    /// Parts of unknown outcome.
    pub ambiguous: u64,
    /// Parts that became too old.
    pub expired: u64,
    /// Parts that were given up or refused.
    pub dead: u64,
}

/// Reads for operators. Called by the control plane only.
#[async_trait]
pub trait ConsoleStore: Send + Sync {
    /// Messages with their decisions, newest first.
    async fn list_turns(&self, query: &TurnsQuery) -> Result<Page<InboxItem>>;
    /// Parts of answers, newest first.
    async fn list_deliveries(&self, query: &DeliveriesQuery) -> Result<Page<OutboxItem>>;
    /// One part; none if it is not there.
    async fn delivery(&self, id: DeliveryId) -> Result<Option<OutboxItem>>;
    /// Memories of one kind, newest first.
    async fn list_memories(
        &self,
        of: MemoriesOf,
        kind: &MemoryKind,
        before: Place,
        limit: u32,
    ) -> Result<Page<Memory>>;
    /// Rooms in the order of their ids, after one, of an agent and a platform where they are given.
    async fn list_rooms(
        &self,
        agent: Option<AgentId>,
        source: Option<&Source>,
        after: Option<RoomId>,
        limit: u32,
    ) -> Result<Vec<ListedRoom>>;
    /// People in the order of their ids, after one. `name` is a part of a name, in its case.
    async fn list_people(
        &self,
        agent: Option<AgentId>,
        name: Option<&str>,
        after: Option<EntityId>,
        limit: u32,
    ) -> Result<Vec<Entity>>;
    /// What waits and what failed, of all agents.
    async fn counts(&self) -> Result<Counts>;
    /// The character that an agent was last created with, without secrets.
    async fn agent_character(&self, id: AgentId) -> Result<Option<Value>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_survive_addresses() {
        let place = Place { at: Timestamp(-5), seq: 7 };
        assert_eq!(place.to_string().parse::<Place>().unwrap(), place);
        for bad in ["", "1", "1.", ".1", "1.2.3", "a.b", "1.99999999999999999999"] {
            assert!(bad.parse::<Place>().is_err(), "{bad}");
        }
    }
}
