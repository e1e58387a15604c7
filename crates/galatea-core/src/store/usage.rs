//! Cost of answers, added up per day, place, person and model, and who is blocked.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use std::ops::AddAssign;
use uuid::Uuid;

use crate::{
    clock::Timestamp,
    error::Result,
    ids::{AgentId, AgentIdentity, EntityId, RemoteId, RoomId, Source, WorldId, uuid_of},
};

/// A day in UTC, counted from the Unix epoch. Caps and the ledger go by it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Day(pub i64);

impl Day {
    /// Milliseconds of a day.
    pub const MILLIS: i64 = 24 * 60 * 60 * 1000;

    /// The day of a moment.
    pub fn of(at: Timestamp) -> Self {
        Self(at.0.div_euclid(Self::MILLIS))
    }

    /// Midnight UTC at which it begins.
    pub fn begins(self) -> Timestamp {
        Timestamp(self.0.saturating_mul(Self::MILLIS))
    }
}

/// Use. All numbers only ever grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Amount {
    /// Messages that were answered.
    pub answers: u64,
    /// Messages that a limit kept from being answered.
    pub refused: u64,
    /// Notices that a day's limit is reached.
    pub notices: u64,
    /// Calls to models.
    pub calls: u64,
    /// Tokens read by models.
    pub input: u64,
    /// Tokens of `input` that came from a provider's cache.
    pub cached: u64,
    /// Tokens written by models.
    pub output: u64,
    /// Tokens of calls whose price is not known.
    pub unpriced: u64,
    /// Cost of all others, in millionths of a US dollar.
    pub micros: u64,
}

impl Amount {
    /// True when nothing was used.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }
}

impl AddAssign for Amount {
    fn add_assign(&mut self, more: Self) {
        let add = |own: &mut u64, more: u64| *own = own.saturating_add(more);
        add(&mut self.answers, more.answers);
        add(&mut self.refused, more.refused);
        add(&mut self.notices, more.notices);
        add(&mut self.calls, more.calls);
        add(&mut self.input, more.input);
        add(&mut self.cached, more.cached);
        add(&mut self.output, more.output);
        add(&mut self.unpriced, more.unpriced);
        add(&mut self.micros, more.micros);
    }
}

/// A row of the ledger: the use of a day, by person, place and by which model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageRow {
    /// The agent that used it.
    pub agent: AgentId,
    /// The day of the use, in UTC.
    pub day: Day,
    /// The platform of the Room.
    pub source: Source,
    /// World of the Room.
    pub world: WorldId,
    /// The Room in which it was used.
    pub room: RoomId,
    /// The person who was answered.
    pub person: EntityId,
    /// Provider and model; empty for what no model had a part in, such as refusals and commands.
    pub model: String,
    /// Use.
    #[serde(flatten)]
    pub amount: Amount,
}

impl UsageRow {
    /// Room id for usage that no turn caused. Called when a service's model calls are counted; `source`
    /// is the service's name. The store has no Room with this id. Different services need different
    /// ids, because the ledger adds up rows by Room, person and model.
    pub fn background_room(identity: &AgentIdentity, source: &Source) -> RoomId {
        RoomId(identity.swizzle(&format!("usage:{source}")))
    }
}

/// Holder whose usage of one day is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Holder {
    /// Everything that the agent used.
    Agent,
    /// Use on one platform.
    Source(Source),
    /// Use in one World.
    World(WorldId),
    /// Use in one Room.
    Room(RoomId),
    /// Use for one person.
    Person(EntityId),
    /// Use of all people together who were not answered on an earlier day.
    Strangers,
}

/// The ledger's account of a holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UsageTotal {
    /// Used on the day asked for.
    pub today: Amount,
    /// Answered on an earlier day; always false for other holders than people.
    pub earlier: bool,
}

/// A sum of answers, money and tokens. Negative where something is given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SharedSum {
    /// Messages that are answered.
    pub answers: i64,
    /// Millionths of a US dollar.
    pub micros: i64,
    /// Tokens whose price is not known.
    pub tokens: i64,
}

/// Part that one process adds to a limit that all processes share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedUse {
    /// Holder of the limit.
    pub holder: Holder,
    /// Used and reserved since this process said so last.
    pub added: SharedSum,
    /// At least so much was used before, as far as the ledger ([`UsageRow`]) knows.
    pub least: SharedSum,
    /// By how much the use moves the pace of the limit, in microseconds.
    pub pace: i64,
}

/// Sum that all processes have used and reserved of a limit today.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SharedTotal {
    /// Used and reserved.
    pub sum: SharedSum,
    /// Up to when the pace of the limit is used, in microseconds since the Unix epoch.
    pub until: i64,
}

impl Holder {
    /// Key that is equal in every process, whatever its version, and no id of a person.
    pub fn digest(&self, agent: AgentId) -> Uuid {
        let whose = match self {
            Self::Agent => "agent".to_owned(),
            Self::Source(source) => format!("source:{source}"),
            Self::World(world) => format!("world:{world}"),
            Self::Room(room) => format!("room:{room}"),
            Self::Person(person) => format!("person:{person}"),
            Self::Strangers => "strangers".to_owned(),
        };
        uuid_of(&format!("limit:{agent}:{whose}"))
    }
}

/// The ledger of usage.
#[async_trait]
pub trait UsageStore: Send + Sync {
    /// Adds to what the rows' keys hold already. Turns do so in their own commit
    /// ([`super::TurnRecord::usage`]). Called for what services and searches used.
    async fn add_usage(&self, rows: &[UsageRow]) -> Result<()>;
    /// Returns the use of a holder on a day. Called for the first message of a holder in this
    /// process, and on each new day.
    async fn standing(&self, agent: AgentId, day: Day, holder: &Holder) -> Result<UsageTotal>;
    /// Adds what a process of a shared store uses and reserves, each holder once, and returns what
    /// all processes have used and reserved, in the same order: of several that add at once, each
    /// is told what those before it added. Called before an answer and before each call of a
    /// model, where several processes answer.
    ///
    /// # Errors
    /// `Unsupported` for a store that one process has to itself.
    async fn share_limits(
        &self,
        agent: AgentId,
        now: Timestamp,
        uses: &[SharedUse],
    ) -> Result<Vec<SharedTotal>>;
    /// Every row from this day on, of one agent or of all, oldest day first. Called by `galatea
    /// usage`.
    async fn usage(&self, agent: Option<AgentId>, since: Day) -> Result<Vec<UsageRow>>;
    /// Every row of one person from this day on, oldest day first. Called by `/privacy export`.
    async fn usage_of(&self, agent: AgentId, person: EntityId, since: Day)
    -> Result<Vec<UsageRow>>;
    /// Deletes an agent's rows of the days before this one, and returns how many there were. Called
    /// once a day by one process.
    async fn prune_usage(&self, agent: AgentId, before: Day) -> Result<u64>;
}

/// Subject of an entry of the block list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BlockKind {
    /// A person, by the platform's id or `@handle`.
    Person,
    /// A Room, by the platform's id.
    Room,
    /// A World, by the platform's id.
    World,
}

impl BlockKind {
    /// The spelling in the database and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Room => "room",
            Self::World => "world",
        }
    }

    /// From the stored spelling.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Person, Self::Room, Self::World].into_iter().find(|kind| kind.as_str() == text)
    }
}

/// An entry of the block list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Block {
    /// The agent that does not answer.
    pub agent: AgentId,
    /// The platform that the id is of.
    pub source: Source,
    /// Person, room or place.
    pub kind: BlockKind,
    /// Its id there, or `@handle` in lower case.
    pub remote: RemoteId,
    /// Why, for the operator; empty when no reason was given.
    pub reason: String,
    /// The time at which the block was set.
    pub at: Timestamp,
}

/// The block list: who and what is never answered.
#[async_trait]
pub trait BlockStore: Send + Sync {
    /// Adds an entry; one for the same person, Room or World is replaced. Called by `galatea
    /// block`, and by owners.
    async fn block(&self, block: &Block) -> Result<()>;
    /// Removes; false when there was none. Called by `galatea block rm`, and by owners.
    async fn unblock(
        &self,
        agent: AgentId,
        source: &Source,
        kind: BlockKind,
        remote: &RemoteId,
    ) -> Result<bool>;
    /// The list of one agent, by platform, kind and id. Called before messages are judged; the
    /// answer is kept for some seconds.
    async fn blocks(&self, agent: AgentId) -> Result<Vec<Block>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_begin_at_midnight_utc() {
        assert_eq!(Day::of(Timestamp(Day::MILLIS - 1)), Day(0));
        assert_eq!(Day::of(Timestamp(Day::MILLIS)), Day(1));
        assert_eq!(Day::of(Timestamp(-1)), Day(-1));
        assert_eq!(Day(20_000).begins(), Timestamp(20_000 * Day::MILLIS));
    }

    #[test]
    fn amounts_add_up_and_never_wrap() {
        let mut sum = Amount { calls: 1, micros: u64::MAX, ..Amount::default() };
        sum += Amount { calls: 2, micros: 5, ..Amount::default() };
        assert_eq!(sum, Amount { calls: 3, micros: u64::MAX, ..Amount::default() });
        assert!(!sum.is_zero() && Amount::default().is_zero());
    }

    #[test]
    fn each_holder_of_each_agent_has_a_digest_of_its_own() {
        let (agent, id) = (AgentId::fresh(), Uuid::new_v4());
        let of = |holder: Holder| holder.digest(agent);
        assert_eq!(of(Holder::Agent), of(Holder::Agent));
        assert_ne!(of(Holder::Room(RoomId(id))), of(Holder::Person(EntityId(id))));
        assert_ne!(of(Holder::Agent), of(Holder::Strangers));
        assert_ne!(of(Holder::Agent), Holder::Agent.digest(AgentId::fresh()));
    }
}
