//! A SQLite file has one process, so every claim of a lease succeeds. Nothing is stored.

use async_trait::async_trait;
use galatea_core::{
    Clock, MemberId, Result, Timestamp,
    store::{Group, Lease, LeaseStatus, LeaseStore, Member, Membership, Partition, Pulse},
};
use parking_lot::{Mutex, MutexGuard};
use std::{collections::BTreeMap, sync::Arc, time::Duration};

/// There never is a second holder.
const EPOCH: u64 = 1;

/// What has been asked for, so that lists show it.
pub(crate) struct Asked {
    state: Mutex<State>,
    clock: Arc<dyn Clock>,
}

#[derive(Default)]
struct State {
    members: BTreeMap<MemberId, Member>,
    parts: BTreeMap<Partition, MemberId>,
}

impl Asked {
    /// Nothing yet.
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { state: Mutex::default(), clock }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

fn lease(part: &Partition) -> Lease {
    Lease { part: part.clone(), epoch: EPOCH }
}

#[async_trait]
impl LeaseStore for Asked {
    fn is_shared(&self) -> bool {
        false
    }

    async fn beat(
        &self,
        member: MemberId,
        membership: &Membership,
        _: Duration,
    ) -> Result<BTreeMap<Group, usize>> {
        let joined = self.clock.now();
        let mut state = self.state();
        state.members.entry(member).or_insert_with(|| Member {
            id: member,
            membership: membership.clone(),
            joined,
            left: Duration::MAX,
        });
        let mut alive = BTreeMap::new();
        for group in state.members.values().flat_map(|member| &member.membership.groups) {
            *alive.entry(group.clone()).or_default() += 1;
        }
        Ok(alive)
    }

    async fn leave(&self, member: MemberId) -> Result<()> {
        let mut state = self.state();
        state.members.remove(&member);
        state.parts.retain(|_, holder| *holder != member);
        Ok(())
    }

    async fn claim(
        &self,
        member: MemberId,
        parts: &[Partition],
        _: usize,
        _: Duration,
    ) -> Result<Vec<Lease>> {
        let mut state = self.state();
        state.parts.extend(parts.iter().map(|part| (part.clone(), member)));
        let mut held: Vec<Lease> = parts.iter().map(lease).collect();
        held.sort_by(|a, b| a.part.cmp(&b.part));
        Ok(held)
    }

    async fn renew(&self, member: MemberId, _: Duration) -> Result<Vec<Lease>> {
        Ok(self
            .state()
            .parts
            .iter()
            .filter(|(_, holder)| **holder == member)
            .map(|(part, _)| lease(part))
            .collect())
    }

    async fn release(&self, member: MemberId, parts: &[Partition]) -> Result<()> {
        self.state().parts.retain(|part, holder| *holder != member || !parts.contains(part));
        Ok(())
    }

    async fn store_clock(&self) -> Result<Option<Timestamp>> {
        Ok(None)
    }

    async fn pulse(&self) -> Result<Pulse> {
        // SQLite has a single process: no other member joins or leaves.
        Ok(Pulse::default())
    }

    async fn leases(&self) -> Result<Vec<LeaseStatus>> {
        let state = self.state();
        Ok(state
            .parts
            .iter()
            .map(|(part, holder)| LeaseStatus {
                lease: lease(part),
                member: Some(*holder),
                left: Duration::MAX,
            })
            .collect())
    }

    async fn members(&self) -> Result<Vec<Member>> {
        let mut members: Vec<Member> = self.state().members.values().cloned().collect();
        members.sort_by_key(|member| member.joined);
        Ok(members)
    }
}
