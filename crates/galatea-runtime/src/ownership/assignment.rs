//! Accounts and partitions of its Rooms an agent serves in this process.

use dashmap::DashMap;
use galatea_core::{
    Account, Hints, RoomId, Source,
    store::{ROOM_PARTITIONS, room_partition},
};
use parking_lot::RwLock;
use std::{collections::BTreeSet, sync::Arc};
use tokio::sync::watch;

use super::LeaseGuard;
use crate::backlog::Backlog;

/// A partition (of 64) of an agent's Rooms, leased by this process.
#[derive(Debug)]
pub(crate) struct RoomPartition {
    /// Number of the partition, counted from 0.
    pub(crate) number: u16,
    /// Held while it is this process's.
    pub(crate) lease: LeaseGuard,
    /// Messages that were stored before the partition came here go first.
    pub(crate) backlog: Backlog,
}

/// Decides which process works on a message.
pub(crate) enum Assignment {
    /// This process; no other one can.
    Exclusive,
    /// This process, as long as it holds the Room's partition.
    Partition(Arc<RoomPartition>),
    /// Another process answers there.
    Elsewhere,
}

/// The part of an agent's work that this process does.
#[derive(Debug)]
pub(crate) struct Ownership {
    /// Platforms that several processes share.
    leased: RwLock<BTreeSet<Source>>,
    /// Platforms whose messages every process takes in, to be answered by whoever has the Room.
    open: BTreeSet<Source>,
    accounts: DashMap<(Source, Account), LeaseGuard>,
    rooms: RwLock<Vec<Option<Arc<RoomPartition>>>>,
    /// Other processes share this agent's work.
    shared: watch::Sender<bool>,
    hints: Arc<dyn Hints>,
}

impl Ownership {
    /// Holds nothing of these platforms yet, and everything of all others. Of `open` ones it has every
    /// account, and shares the Rooms.
    pub(crate) fn new(
        leased: BTreeSet<Source>,
        open: BTreeSet<Source>,
        hints: Arc<dyn Hints>,
    ) -> Self {
        let rooms = RwLock::new((0..ROOM_PARTITIONS).map(|_| None).collect());
        let (accounts, shared) = (DashMap::new(), watch::Sender::new(false));
        Self { leased: RwLock::new(leased), open, accounts, rooms, shared, hints }
    }

    /// True if processes take turns with this platform.
    pub(crate) fn is_leased(&self, source: &Source) -> bool {
        self.leased.read().contains(source)
    }

    /// True if the Rooms of this platform are shared out among processes.
    pub(crate) fn shares_rooms(&self, source: &Source) -> bool {
        self.open.contains(source) || self.is_leased(source)
    }

    /// Processes take turns with this platform too: one of them has an account there.
    pub(crate) fn lease_also(&self, source: &Source) {
        if !self.is_leased(source) {
            self.leased.write().insert(source.clone());
        }
    }

    /// The platforms whose Rooms are shared out among processes.
    pub(crate) fn with_shared_rooms(&self) -> Vec<Source> {
        self.leased.read().union(&self.open).cloned().collect()
    }

    /// True if other processes share this agent's work.
    pub(crate) fn is_shared(&self) -> bool {
        *self.shared.borrow()
    }

    /// Completes when the value differs from `shared`. A process that polls slowly because it works
    /// alone then polls faster as soon as another process joins.
    pub(crate) async fn shared_changed(&self, shared: bool) {
        // The sender lives as long as `self`.
        let _ = self.shared.subscribe().wait_for(|now| *now != shared).await;
    }

    pub(super) fn set_shared(&self, shared: bool) {
        self.shared.send_if_modified(|before| std::mem::replace(before, shared) != shared);
    }

    /// Wakes the pollers of other processes.
    pub(crate) fn hints(&self) -> &Arc<dyn Hints> {
        &self.hints
    }

    /// The right to connect an account, if this process has it.
    pub(crate) fn account(&self, source: &Source, account: &Account) -> Option<LeaseGuard> {
        if !self.is_leased(source) {
            return Some(LeaseGuard::always());
        }
        self.accounts.get(&(source.clone(), account.clone())).map(|lease| lease.clone())
    }

    pub(super) fn take_account(&self, source: Source, account: Account, lease: LeaseGuard) {
        self.accounts.insert((source, account), lease);
    }

    /// Gives an account up, if it still is this lease's.
    pub(crate) fn drop_account(&self, source: &Source, account: &Account, lease: &LeaseGuard) {
        self.accounts.remove_if(&(source.clone(), account.clone()), |_, held| held.is(lease));
    }

    /// Lease under which a message of this Room is worked on.
    pub(crate) fn assignment(&self, source: &Source, room: RoomId) -> Assignment {
        if !self.shares_rooms(source) {
            return Assignment::Exclusive;
        }
        let rooms = self.rooms.read();
        match rooms
            .get(usize::from(room_partition(room)))
            .and_then(Option::as_ref)
            .filter(|partition| partition.lease.is_open())
        {
            Some(partition) => Assignment::Partition(Arc::clone(partition)),
            None => Assignment::Elsewhere,
        }
    }

    /// The right to work on a Room's messages, if this process has it.
    pub(crate) fn room(&self, source: &Source, room: RoomId) -> Option<LeaseGuard> {
        match self.assignment(source, room) {
            Assignment::Exclusive => Some(LeaseGuard::always()),
            Assignment::Partition(partition) => Some(partition.lease.clone()),
            Assignment::Elsewhere => None,
        }
    }

    /// Every partition this process holds.
    pub(crate) fn partitions(&self) -> Vec<Arc<RoomPartition>> {
        self.rooms.read().iter().flatten().cloned().collect()
    }

    pub(super) fn take_partition(&self, partition: Arc<RoomPartition>) {
        if let Some(place) = self.rooms.write().get_mut(usize::from(partition.number)) {
            *place = Some(partition);
        }
    }

    /// Removes the partitions that `gone` selects.
    pub(super) fn drop_partitions(
        &self,
        mut gone: impl FnMut(&RoomPartition) -> bool,
    ) -> Vec<Arc<RoomPartition>> {
        let mut rooms = self.rooms.write();
        rooms.iter_mut().filter_map(|place| place.take_if(|partition| gone(partition))).collect()
    }

    /// The accounts this process holds.
    pub(super) fn accounts(&self) -> Vec<((Source, Account), LeaseGuard)> {
        self.accounts.iter().map(|entry| (entry.key().clone(), entry.value().clone())).collect()
    }

    /// Before the end: begins nothing more, so that others go on at once. Where there are no
    /// others, what is under way goes on here.
    pub(crate) fn hand_over(&self) {
        if self.is_shared() {
            self.accounts().iter().for_each(|(_, lease)| lease.close());
            self.partitions().iter().for_each(|partition| partition.lease.close());
        }
    }
}
