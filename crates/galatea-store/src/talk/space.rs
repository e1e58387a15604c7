//! Which messages of a Room are kept one by one, and which are in its index.

use std::collections::HashSet;

use super::{
    index::{Extent, MOST, Talk},
    lock,
    message::Message,
    older::Older,
};

/// Messages by which a Room may grow beyond those kept one by one before the oldest leave; a Room with
/// a large index by more.
pub(super) const SLACK: usize = 125;
/// Messages of a whole Room that are not in its index. A search compares each of them, some 70 ns.
pub(super) const FEW: usize = 32;
/// The index is rebuilt when the messages outside of it exceed this fraction of those in it. A rebuild
/// takes time proportional to the size of the index.
const ONE_IN: usize = 32;

impl Talk {
    /// Whether messages wait for [`Talk::add_late`].
    pub(super) fn has_late(&self) -> bool {
        !self.late.is_empty()
    }

    /// Adds messages that are older than those kept one by one. Each call rebuilds the index, so the
    /// messages of one commit are added together.
    pub(super) fn add_late(&mut self) {
        let late = std::mem::take(&mut self.late);
        self.version += 1;
        if self.older.is_empty() {
            return;
        }
        let mut stems = lock(&self.stems);
        let late: Vec<Message> = late.into_iter().map(|of| of.analysed(&mut stems)).collect();
        drop(stems);
        self.add_to_older(&late);
    }

    /// Adds messages to those that are not kept one by one.
    fn add_to_older(&mut self, messages: &[Message]) {
        let had_index = self.older.is_complete();
        self.older.add(messages, &self.terms);
        if had_index && !self.older.is_complete() {
            // It became too large. What was in it is unknown now: the next search reads the newest
            // messages.
            self.extent = Extent::Newest;
            self.is_stale = true;
        }
    }

    /// Whether it has grown too large.
    pub(super) fn is_large(&self) -> bool {
        let (most, slack) = self.space();
        self.messages.len().max(self.early.len()) > most + slack
    }

    /// How many messages are kept one by one, and by how many they may grow.
    fn space(&self) -> (usize, usize) {
        match self.extent {
            Extent::Whole if !self.older.is_too_large() => (FEW, SLACK.max(self.len() / ONE_IN)),
            _ => (MOST, SLACK),
        }
    }

    /// Drops the oldest if they are too many. Of a Room that is known whole they go into its index.
    pub(super) fn bound(&mut self) {
        let mut many = self.messages.len().saturating_sub(self.space().0);
        if many > 0 && self.extent == Extent::Whole && !self.add_to_index(many) {
            many = self.messages.len().saturating_sub(MOST);
            if many > 0 {
                self.extent = Extent::Newest;
            }
        } else if many > 0 && self.extent == Extent::Newest && !self.older.is_empty() {
            let leaving = self.oldest(many);
            self.add_to_older(&leaving);
        }
        if many == 0 {
            return;
        }
        self.version += 1;
        let oldest: HashSet<u32> = self.order.iter().take(many).copied().collect();
        let mut places = 0_u32..;
        self.messages.retain(|_| places.next().is_none_or(|place| !oldest.contains(&place)));
        self.compact();
        self.arrange();
    }

    /// Adds the oldest to the index of a Room that is known whole. False if it would be too large.
    fn add_to_index(&mut self, many: usize) -> bool {
        if self.older.is_too_large() {
            return false;
        }
        if !self.older.is_complete() {
            self.older = Older::of_none();
            let leaving = self.oldest(many);
            self.older.add(&leaving, &self.terms);
        } else {
            let leaving = self.oldest(many);
            self.add_to_older(&leaving);
        }
        self.older.is_complete()
    }

    /// The oldest with their terms.
    fn oldest(&self, many: usize) -> Vec<Message> {
        let oldest = self.order.iter().take(many);
        let oldest = oldest.filter_map(|place| self.messages.get(*place as usize)).cloned();
        let mut stems = lock(&self.stems);
        oldest.map(|message| message.analysed(&mut stems)).collect()
    }

    /// Drops the terms of messages that are gone.
    fn compact(&mut self) {
        let before = std::mem::take(&mut self.terms);
        for message in &mut self.messages {
            message.move_terms(&before, &mut self.terms);
        }
    }
}
