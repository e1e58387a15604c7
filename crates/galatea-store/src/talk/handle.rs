//! A Room's messages in memory, as a search uses them.

use galatea_core::store::RecallQuery;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{
    Key, READ, READ_BEFORE,
    index::{Extent, PAGE, Talk, Unread},
    lock, message,
    message::Message,
};
use crate::{
    dialect::{Statement, Value, values},
    terms::Stems,
};

/// A Room's talk as one search uses it.
#[derive(Clone)]
pub(crate) struct Handle {
    pub(crate) key: Key,
    pub(super) talk: Arc<Mutex<Talk>>,
    pub(super) stems: Arc<Mutex<Stems>>,
}

impl Handle {
    pub(crate) fn talk(&self) -> MutexGuard<'_, Talk> {
        // Every change is whole before anything in it could panic.
        self.talk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn extent(&self) -> Extent {
        self.talk().extent()
    }

    /// Messages that were read with their terms. Takes some microseconds for each.
    pub(crate) fn analysed(&self, messages: Vec<Message>) -> Vec<Message> {
        let mut stems = lock(&self.stems).take();
        let messages = message::analysed(messages, &mut stems);
        lock(&self.stems).put_back(stems);
        messages
    }

    /// Whether a query can be answered from here: it has no conditions that leave out most messages of
    /// a Room that is not known whole.
    pub(crate) fn fits(&self, query: &RecallQuery) -> bool {
        let talk = self.talk();
        let is_narrow = !query.people.is_empty()
            || query.since.is_some()
            || query.before.is_some_and(|before| talk.is_older(before.0));
        talk.extent() == Extent::Whole || !is_narrow
    }

    /// Reads the Room's newest messages, one more than so many.
    pub(crate) fn read(&self, most: usize) -> Statement {
        let (agent, room) = self.key;
        READ.with(values![room.0, agent.0, Value::Int(i64::try_from(most + 1).ok())])
    }

    /// Reads the next messages of which terms are to be known.
    pub(crate) fn read_before(&self, unread: Unread) -> Statement {
        let ((agent, room), (at, seq)) = (self.key, unread.before);
        let most = Value::Int(i64::try_from(PAGE).ok());
        READ_BEFORE.with(values![room.0, agent.0, at, seq, most])
    }
}
