//! What all processes of a shared store use and reserve of a limit.

use super::Holder;
#[cfg(doc)]
use super::UsageRow;
use crate::ids::{AgentId, uuid_of};
use uuid::Uuid;

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

/// What one process adds to a limit that all processes share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedUse {
    /// Whose limit.
    pub holder: Holder,
    /// Used and reserved since this process said so last.
    pub added: SharedSum,
    /// At least so much was used before, as far as the ledger ([`UsageRow`]) knows.
    pub least: SharedSum,
    /// By how much the use moves the pace of the limit, in microseconds.
    pub pace: i64,
}

/// What all processes have used and reserved of a limit today.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SharedTotal {
    /// Used and reserved.
    pub sum: SharedSum,
    /// Up to when the pace of the limit is used, in microseconds since the Unix epoch.
    pub until: i64,
}

impl Holder {
    /// The same for every process, whatever its version, and no id of a person.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{EntityId, RoomId};

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
