//! Division of the work while several share a store.
//!
//! A lease only saves work: it keeps two processes from reading one platform account or thinking
//! about one Room at the same time. Unique keys of the store prevent a second copy of an answer.
//! A [`Fence`] prevents any commit of a process that was paused past the end of its lease.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt, str::FromStr, time::Duration};

use super::{About, Partition};
use crate::{
    clock::Timestamp,
    error::{Error, Result},
    ids::{AgentId, MemberId},
};

/// A partition that a process holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Lease {
    /// The partition that is leased.
    pub part: Partition,
    /// Grows with every new holder.
    pub epoch: u64,
}

/// Proof of a lease, checked inside the transaction it is given to: once another process holds the
/// part, the transaction fails with `Conflict` and writes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fence {
    /// The process that holds the lease.
    pub member: MemberId,
    /// The right that the member holds.
    pub lease: Lease,
}

/// Work of a process for the others that share its store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProcessRole {
    /// Does all of the following.
    #[default]
    All,
    /// Reads platform accounts and sends through them.
    Ingress,
    /// Runs turns, without platform accounts of its own.
    Worker,
    /// Only reports the state of the others.
    Api,
}

impl ProcessRole {
    /// Every role, for settings and help texts.
    pub const ALL: [Self; 4] = [Self::All, Self::Ingress, Self::Worker, Self::Api];

    /// The name in settings and in `galatea status`.
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
    /// True if a process of this role runs turns.
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

/// Processes that share the same work.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Group(pub String);

impl Group {
    /// Processes that answer for an agent.
    pub fn rooms(agent: AgentId) -> Self {
        Self(format!("rooms:{agent}"))
    }
    /// Processes that answer for an agent where no process of [`Self::rooms`] lives: each of them
    /// cannot write for one of the agent's accounts.
    pub fn some_rooms(agent: AgentId) -> Self {
        Self(format!("some-rooms:{agent}"))
    }
    /// Processes that can connect one account.
    pub fn account(account: &Partition) -> Self {
        Self(format!("account:{account}"))
    }
    /// Processes that connect an agent's accounts.
    pub fn accounts(agent: AgentId) -> Self {
        Self(format!("accounts:{agent}"))
    }
    /// Processes that want to hear what happens in other processes.
    pub fn listeners() -> Self {
        Self("listeners".to_owned())
    }
}

/// Role in which a process joins.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Membership {
    /// For people: host and process.
    pub name: String,
    /// Work that the process takes on.
    pub role: ProcessRole,
    /// The groups of processes that share its work.
    pub groups: Vec<Group>,
    /// Its version and settings.
    pub about: About,
}

/// A process that shares the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Member {
    /// Id of the process, made anew at each start.
    pub id: MemberId,
    /// The agents and the role it works for.
    #[serde(flatten)]
    pub membership: Membership,
    /// The time at which it joined.
    pub joined: Timestamp,
    /// Remaining time until the process counts as dead; zero when its heartbeat is overdue.
    pub left: Duration,
}

/// A lease and its holder, for lists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LeaseStatus {
    /// The lease as it is after the request.
    pub lease: Lease,
    /// The process that held it last; none once it was released.
    pub member: Option<MemberId>,
    /// Remaining time; zero when another process may claim it.
    pub left: Duration,
}

/// A state that changes when a process joins or leaves and when a lease becomes free. A process
/// compares it with the previous one and polls if they differ.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pulse {
    /// Compared value.
    pub state: String,
    /// Until the first lease of a process ends that sends no more heartbeats; none if there is no
    /// lease.
    pub next_end: Option<Duration>,
}

/// The fair share of one of `members` processes: parts ÷ members, rounded up.
pub fn fair_share(parts: usize, members: usize) -> usize {
    parts.div_ceil(members.max(1))
}

/// Leases. Only the store's own clock decides about time.
#[async_trait]
pub trait LeaseStore: Send + Sync {
    /// True if several processes can share this store. If not, every claim succeeds and fences are
    /// not checked. Called once, at the start.
    fn is_shared(&self) -> bool;
    /// Heartbeat: joins, or stays a member for `ttl`. Returns how many processes are alive in each
    /// group, this one included. Called every second or so.
    async fn beat(
        &self,
        member: MemberId,
        membership: &Membership,
        ttl: Duration,
    ) -> Result<BTreeMap<Group, usize>>;
    /// Leaves, and releases everything. Called when a process stops.
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
    /// Extends all leases of the member to `ttl` from now on. A lease missing in the answer was
    /// lost to another process. Called with each heartbeat.
    async fn renew(&self, member: MemberId, ttl: Duration) -> Result<Vec<Lease>>;
    /// Gives leases back before they end; called when a process stops or has more than its share.
    async fn release(&self, member: MemberId, parts: &[Partition]) -> Result<()>;
    /// The store's own time; none if it uses this machine's clock. Called with heartbeats, to
    /// measure how far the machine's clock is off.
    async fn store_clock(&self) -> Result<Option<Timestamp>>;
    /// The present pulse. Cheap, because each process asks ten times a second. Called between
    /// heartbeats.
    async fn pulse(&self) -> Result<Pulse>;
    /// Every lease ever claimed, by name. Called by status pages.
    async fn leases(&self) -> Result<Vec<LeaseStatus>>;
    /// Every process that joined and did not leave, by age. Those overdue for a day are deleted.
    /// Called after the pulse has changed, and by status pages.
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
