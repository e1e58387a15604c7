//! SQLite grants every lease, PostgreSQL keeps them in a table.

use async_trait::async_trait;
use galatea_core::{
    MemberId, Result, Timestamp,
    store::{Fence, Group, Lease, LeaseStatus, LeaseStore, Member, Membership, Partition, Pulse},
};
use std::{collections::BTreeMap, time::Duration};

use crate::{
    Backend, Database,
    change::{Change, Write},
};

impl Database {
    fn holding(&self) -> &dyn LeaseStore {
        match &self.0.backend {
            Backend::Sqlite(sqlite) => &sqlite.asked,
            Backend::Postgres(postgres) => &**postgres,
        }
    }

    /// Adds the check of a lease to a change, before everything else. Where there is one process it
    /// always holds.
    pub(crate) fn push_fence(&self, change: &mut Change, fence: Option<&Fence>) -> Result<()> {
        match (&self.0.backend, fence) {
            (Backend::Postgres(_), Some(fence)) => {
                change.push(Write::Fence(fence.into())).map(drop)
            }
            _ => Ok(()),
        }
    }
}

#[async_trait]
impl LeaseStore for Database {
    fn is_shared(&self) -> bool {
        self.holding().is_shared()
    }

    async fn beat(
        &self,
        member: MemberId,
        membership: &Membership,
        ttl: Duration,
    ) -> Result<BTreeMap<Group, usize>> {
        self.holding().beat(member, membership, ttl).await
    }

    async fn leave(&self, member: MemberId) -> Result<()> {
        self.holding().leave(member).await
    }

    async fn claim(
        &self,
        member: MemberId,
        parts: &[Partition],
        most: usize,
        ttl: Duration,
    ) -> Result<Vec<Lease>> {
        self.holding().claim(member, parts, most, ttl).await
    }

    async fn renew(&self, member: MemberId, ttl: Duration) -> Result<Vec<Lease>> {
        self.holding().renew(member, ttl).await
    }

    async fn release(&self, member: MemberId, parts: &[Partition]) -> Result<()> {
        self.holding().release(member, parts).await
    }

    async fn store_clock(&self) -> Result<Option<Timestamp>> {
        self.holding().store_clock().await
    }

    async fn pulse(&self) -> Result<Pulse> {
        self.holding().pulse().await
    }

    async fn leases(&self) -> Result<Vec<LeaseStatus>> {
        self.holding().leases().await
    }

    async fn members(&self) -> Result<Vec<Member>> {
        self.holding().members().await
    }
}
