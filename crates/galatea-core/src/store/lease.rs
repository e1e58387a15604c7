//! Leases: who does which part of the work while several processes share a store.
//!
//! A lease only saves work: it keeps two processes from reading one platform account or thinking
//! about one Room at the same time. What keeps an answer from being written twice is the store's
//! uniqueness, and a [`Fence`] keeps a holder that was paused past its lease from committing at
//! all.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt, str::FromStr, time::Duration};

use super::{About, Partition};
use crate::{
    clock::Timestamp,
    error::{Error, Result},
    ids::{AgentId, MemberId},
};

/// A part that a process holds. The epoch grows with every holder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Lease {
    /// Of what.
    pub part: Partition,
    /// Of which holder in turn.
    pub epoch: u64,
}

/// Proof of a lease, checked inside the transaction it is given to: once somebody else holds the
/// part, the transaction fails with `Conflict` and writes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fence {
    /// Who.
    pub member: MemberId,
    /// Holds what.
    pub lease: Lease,
}

/// What a process does for those it shares a store with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProcessRole {
    /// Everything.
    #[default]
    All,
    /// Reads platform accounts and sends through them.
    Ingress,
    /// Answers.
    Worker,
    /// Only tells others how things are.
    Api,
}

impl ProcessRole {
    /// Each of them.
    pub const ALL: [Self; 4] = [Self::All, Self::Ingress, Self::Worker, Self::Api];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Ingress => "ingress",
            Self::Worker => "worker",
            Self::Api => "api",
        }
    }
    /// It holds platform accounts.
    pub fn connects(self) -> bool {
        matches!(self, Self::All | Self::Ingress)
    }
    /// It runs turns.
    pub fn answers(self) -> bool {
        matches!(self, Self::All | Self::Worker)
    }
}

impl fmt::Display for ProcessRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ProcessRole {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wanted = text.trim().to_ascii_lowercase();
        Self::ALL
            .into_iter()
            .find(|role| role.as_str() == wanted)
            .ok_or_else(|| Error::invalid("a role is one of all, ingress, worker, api"))
    }
}

/// Those that do the same work, and so share it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Group(pub String);

impl Group {
    /// Who answers for an agent.
    pub fn rooms(agent: AgentId) -> Self {
        Self(format!("rooms:{agent}"))
    }
    /// Who connects an agent's accounts.
    pub fn accounts(agent: AgentId) -> Self {
        Self(format!("accounts:{agent}"))
    }
    /// Who wants to hear what happens in other processes.
    pub fn listeners() -> Self {
        Self("listeners".to_owned())
    }
}

/// As what a process joins.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Membership {
    /// For people: host and process.
    pub name: String,
    /// What it does.
    pub role: ProcessRole,
    /// With whom it shares work.
    pub groups: Vec<Group>,
    /// What it runs.
    pub about: About,
}

/// A process that shares the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Member {
    /// Which.
    pub id: MemberId,
    /// As what.
    #[serde(flatten)]
    pub membership: Membership,
    /// Since when.
    pub joined: Timestamp,
    /// Counts as alive for so much longer; nothing once it is overdue.
    pub left: Duration,
}

/// A part and who holds it, for lists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LeaseStatus {
    /// Which part.
    pub lease: Lease,
    /// Who held it last; none once it was released.
    pub member: Option<MemberId>,
    /// Held for so much longer; nothing once it may be taken.
    pub left: Duration,
}

/// What changes when a process comes or goes and when a part becomes free, so that the others look
/// at once. Two of them are only compared.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pulse(pub String);

/// The fair share of one of `members` processes: parts ÷ members, rounded up.
pub fn fair_share(parts: usize, members: usize) -> usize {
    parts.div_ceil(members.max(1))
}

/// Leases. Only the store's own clock decides about time.
#[async_trait]
pub trait LeaseStore: Send + Sync {
    /// Whether several processes can share this store. Where they cannot, everybody holds whatever
    /// they ask for, and fences are not checked.
    fn is_shared(&self) -> bool;
    /// Joins, or says that it is still there for `ttl`. How many are alive in each group, this one
    /// included.
    async fn beat(
        &self,
        member: MemberId,
        membership: &Membership,
        ttl: Duration,
    ) -> Result<BTreeMap<Group, usize>>;
    /// Leaves, and releases everything.
    async fn leave(&self, member: MemberId) -> Result<()>;
    /// Claims partitions whose lease no process holds, until this member holds `most` of those
    /// asked for. Returns all that it holds now, by name.
    async fn claim(
        &self,
        member: MemberId,
        parts: &[Partition],
        most: usize,
        ttl: Duration,
    ) -> Result<Vec<Lease>>;
    /// Holds everything for `ttl` from now on. What is missing in the answer has been lost to
    /// somebody else.
    async fn renew(&self, member: MemberId, ttl: Duration) -> Result<Vec<Lease>>;
    /// Gives parts back.
    async fn release(&self, member: MemberId, parts: &[Partition]) -> Result<()>;
    /// The store's own time; none where that is this machine's.
    async fn store_clock(&self) -> Result<Option<Timestamp>>;
    /// Whether something has changed that processes share. Cheap: asked ten times a second.
    async fn pulse(&self) -> Result<Pulse>;
    /// Every part ever claimed, by name.
    async fn leases(&self) -> Result<Vec<LeaseStatus>>;
    /// Everybody who joined and did not leave, by age. Those overdue for a day are forgotten.
    async fn members(&self) -> Result<Vec<Member>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_rounded_up() {
        assert_eq!(
            [
                fair_share(64, 0),
                fair_share(64, 1),
                fair_share(64, 3),
                fair_share(1, 5),
                fair_share(0, 5)
            ],
            [64, 64, 22, 1, 0]
        );
    }
}
