//! What is known of the tables without reading them. The writer reports each commit before it answers
//! for it.

use galatea_core::MemoryId;
use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};
use tokio::sync::Notify;

use super::{apply::Done, recent::Recent, unindexed::Unindexed};
use crate::{
    change::{Change, Changed},
    talk::{Key, Talks},
};

/// Memories stored after which the writer asks for the index of words to be updated, also if it never
/// pauses: a burst of 2,500 questions is answered first. Searches in memory do not ask for it; a search
/// that uses it waits if it is 8,000 memories behind.
const INDEXED_EVERY: usize = 5_000;
/// Memories stored after which the writer asks for it in a pause. One step indexes so many.
const INDEXED_IN_PAUSE: usize = 200;

/// Everything that is kept of the tables in memory.
#[derive(Clone)]
pub(crate) struct Known {
    pub(crate) recent: Arc<Recent>,
    pub(crate) unindexed: Arc<Unindexed>,
    pub(crate) talks: Arc<Talks>,
    /// Notified when the index of words is behind.
    pub(crate) index_wanted: Arc<Notify>,
    /// Memories stored since the writer last asked for it.
    stored: Arc<AtomicUsize>,
}

impl Known {
    pub(super) fn new() -> Self {
        let talks = Arc::new(Talks::of_one_process());
        Self {
            recent: Arc::default(),
            unindexed: Arc::default(),
            talks,
            index_wanted: Arc::default(),
            stored: Arc::default(),
        }
    }

    /// Forgets all: another connection wrote.
    pub(super) fn forget(&self) {
        self.recent.clear();
        self.unindexed.reset();
        self.talks.changed(&Changed::Any, None);
    }

    /// Takes what a group of changes did, the Rooms of messages that it changed, and the messages
    /// that it stored.
    pub(super) fn committed<'a>(
        &self,
        changes: impl Iterator<Item = (&'a mut Change, &'a [Done])>,
        mut rooms: HashSet<Key>,
    ) {
        let (mut changed, mut changes_terms, mut new) = (Changed::default(), false, Vec::new());
        let mut others = 0;
        for (change, done) in changes {
            others += change.others;
            changes_terms |= change.changes_terms;
            if !change.summarised.is_empty() {
                self.recent.forget_summaries(&change.summarised);
            }
            match &change.changed {
                Changed::Nothing => {}
                Changed::These(ids) => changed.add(ids),
                Changed::Any => changed = Changed::Any,
            }
            let seq = |n: usize| done.get(n).and_then(|done| done.seq);
            let messages = std::mem::take(&mut change.messages).into_iter();
            new.extend(messages.filter_map(|(n, memory)| Some((seq(n)?, memory))));
        }
        if changes_terms || !changed.is_nothing() {
            self.unindexed.reset();
        }
        let stored = new.len() + others;
        if self.stored.fetch_add(stored, Ordering::Relaxed) + stored >= INDEXED_EVERY {
            self.want_index();
        }
        self.talks.add(new.iter().map(|(seq, memory)| (*seq, memory)));
        // Also those that the same commit stored.
        if let Changed::These(ids) = &changed {
            let ids: HashSet<MemoryId> = ids.iter().copied().collect();
            let both = new.iter().filter(|(_, memory)| ids.contains(&memory.id));
            rooms.extend(both.map(|(_, memory)| (memory.agent_id, memory.room_id)));
        }
        self.talks.changed(&changed, Some(&rooms));
        if changed.is_nothing() {
            self.recent.add(new.into_iter().map(|(_, memory)| memory));
        } else {
            self.recent.clear();
        }
    }

    /// Whether enough memories were stored since the index of words was asked for that the writer asks
    /// for it in a pause.
    pub(crate) fn is_index_behind(&self) -> bool {
        self.stored.load(Ordering::Relaxed) >= INDEXED_IN_PAUSE
    }

    /// Notes that the index of words is up to date, or soon will be.
    pub(super) fn note_indexed(&self) {
        self.stored.store(0, Ordering::Relaxed);
    }

    /// Asks for the index of words.
    pub(super) fn want_index(&self) {
        self.note_indexed();
        self.index_wanted.notify_one();
    }

    /// Keeps what was used last.
    pub(super) fn shrink(&self) {
        self.recent.shrink();
    }
}
