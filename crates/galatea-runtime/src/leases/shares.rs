//! Shares: which accounts and which parts of its Rooms an agent takes care of in this process.

use dashmap::DashMap;
use galatea_core::{
    Account, Hints, RoomId, Source,
    store::{ROOM_PARTS, room_part},
};
use std::{
    collections::BTreeSet,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
};

use super::Tenure;
use crate::delivery::Admission;

/// One part of the Rooms.
#[derive(Debug)]
pub(crate) struct RoomShare {
    /// Which.
    pub(crate) part: u16,
    /// As long as it is this process's.
    pub(crate) tenure: Tenure,
    /// What was stored before it came here goes first.
    pub(crate) intake: Admission,
}

/// Who works on a message.
pub(crate) enum Hands {
    /// This process, and nobody else could.
    Own,
    /// This process, as long as it has the Room's part.
    Share(Arc<RoomShare>),
    /// Another one.
    Others,
}

/// What of an agent's work is done here.
#[derive(Debug)]
pub(crate) struct Shares {
    /// Platforms that several processes share, each with what it holds.
    leased: BTreeSet<Source>,
    accounts: DashMap<(Source, Account), Tenure>,
    rooms: RwLock<Vec<Option<Arc<RoomShare>>>>,
    /// Other processes do the same work.
    company: AtomicBool,
    hints: Arc<dyn Hints>,
}

impl Shares {
    /// Holds nothing of these platforms yet, and everything of all others.
    pub(crate) fn new(leased: BTreeSet<Source>, hints: Arc<dyn Hints>) -> Self {
        let rooms = RwLock::new((0..ROOM_PARTS).map(|_| None).collect());
        Self { leased, accounts: DashMap::new(), rooms, company: AtomicBool::new(false), hints }
    }

    /// Whether processes take turns with this platform.
    pub(crate) fn is_leased(&self, source: &Source) -> bool {
        self.leased.contains(source)
    }

    /// The platforms that processes take turns with.
    pub(crate) fn leased(&self) -> Vec<Source> {
        self.leased.iter().cloned().collect()
    }

    /// Whether other processes do the same work.
    pub(crate) fn has_company(&self) -> bool {
        self.company.load(Ordering::Relaxed)
    }

    pub(super) fn set_company(&self, company: bool) {
        self.company.store(company, Ordering::Relaxed);
    }

    /// How the other processes are told that a look is worth it.
    pub(crate) fn hints(&self) -> &Arc<dyn Hints> {
        &self.hints
    }

    /// The right to connect an account, if this process has it.
    pub(crate) fn account(&self, source: &Source, account: &Account) -> Option<Tenure> {
        if !self.is_leased(source) {
            return Some(Tenure::always());
        }
        self.accounts.get(&(source.clone(), account.clone())).map(|tenure| tenure.clone())
    }

    pub(super) fn take_account(&self, source: Source, account: Account, tenure: Tenure) {
        self.accounts.insert((source, account), tenure);
    }

    /// Gives an account up, if it still is this tenure's.
    pub(crate) fn drop_account(&self, source: &Source, account: &Account, tenure: &Tenure) {
        self.accounts.remove_if(&(source.clone(), account.clone()), |_, held| held.is(tenure));
    }

    /// Who works on a message of this Room.
    pub(crate) fn hands(&self, source: &Source, room: RoomId) -> Hands {
        if !self.is_leased(source) {
            return Hands::Own;
        }
        let rooms = self.rooms.read().unwrap_or_else(PoisonError::into_inner);
        match rooms.get(usize::from(room_part(room))).and_then(Option::as_ref).filter(|share| share.tenure.is_open()) {
            Some(share) => Hands::Share(Arc::clone(share)),
            None => Hands::Others,
        }
    }

    /// The right to work on a Room's messages, if this process has it.
    pub(crate) fn room(&self, source: &Source, room: RoomId) -> Option<Tenure> {
        match self.hands(source, room) {
            Hands::Own => Some(Tenure::always()),
            Hands::Share(share) => Some(share.tenure.clone()),
            Hands::Others => None,
        }
    }

    /// Every part of the Rooms in hand.
    pub(crate) fn rooms(&self) -> Vec<Arc<RoomShare>> {
        self.rooms.read().unwrap_or_else(PoisonError::into_inner).iter().flatten().cloned().collect()
    }

    pub(super) fn take_room(&self, share: Arc<RoomShare>) {
        if let Some(place) = self.rooms.write().unwrap_or_else(PoisonError::into_inner).get_mut(usize::from(share.part)) {
            *place = Some(share);
        }
    }

    /// Takes out what this says of.
    pub(super) fn drop_rooms(&self, mut gone: impl FnMut(&RoomShare) -> bool) -> Vec<Arc<RoomShare>> {
        let mut rooms = self.rooms.write().unwrap_or_else(PoisonError::into_inner);
        rooms.iter_mut().filter_map(|place| place.take_if(|share| gone(share))).collect()
    }

    /// Accounts in hand.
    pub(super) fn accounts(&self) -> Vec<((Source, Account), Tenure)> {
        self.accounts.iter().map(|entry| (entry.key().clone(), entry.value().clone())).collect()
    }

    /// Before the end: begins nothing more, so that others go on at once. Where there are no others, what is under way goes on here.
    pub(crate) fn hand_over(&self) {
        if self.has_company() {
            self.accounts().iter().for_each(|(_, tenure)| tenure.close());
            self.rooms().iter().for_each(|share| share.tenure.close());
        }
    }
}
