//! A Room's messages in memory, as a search uses them.

use galatea_core::store::RecallQuery;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::{
    Key, READ, READ_BEFORE,
    index::{Extent, Talk, Unread},
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

    /// Notes that a page of the Room waits to be read. None if one waits already.
    pub(crate) fn wait(&self) -> Option<Waiting> {
        let waits = std::mem::replace(&mut self.talk().waits, true);
        let (key, talk, stems) = (self.key, Arc::downgrade(&self.talk), Arc::clone(&self.stems));
        (!waits).then(|| Waiting { key, talk, stems })
    }

    /// Reads the Room's newest messages, one more than so many. [`Talks::keep`](super::Talks::keep) gets
    /// the same number.
    pub(crate) fn read(&self, most: usize) -> Statement {
        let (agent, room) = self.key;
        READ.with(values![room.0, agent.0, Value::Int(i64::try_from(most + 1).ok())])
    }

    /// Reads the next messages of which terms are to be known.
    pub(crate) fn read_before(&self, unread: Unread) -> Statement {
        let ((agent, room), (at, seq)) = (self.key, unread.before);
        let most = Value::Int(i64::try_from(unread.most).ok());
        READ_BEFORE.with(values![room.0, agent.0, at, seq, most])
    }
}

/// A page of a Room that waits to be read; it waits no more when this is dropped. Does not keep the
/// Room in memory.
pub(crate) struct Waiting {
    key: Key,
    talk: Weak<Mutex<Talk>>,
    stems: Arc<Mutex<Stems>>,
}

impl Waiting {
    /// The Room. None if it was dropped meanwhile.
    pub(crate) fn room(&self) -> Option<Handle> {
        let talk = self.talk.upgrade()?;
        Some(Handle { key: self.key, talk, stems: Arc::clone(&self.stems) })
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(room) = self.room() {
            room.talk().waits = false;
        }
    }
}
