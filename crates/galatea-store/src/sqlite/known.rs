//! What is known of the tables without reading them. The writer reports each commit before it answers
//! for it.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use tokio::sync::Notify;

use super::recent::Recent;
use crate::change::Change;

/// Memories stored after which the writer asks for the index of words, also if it never pauses.
const INDEXED_EVERY: usize = 500;

/// What is kept of the tables in memory, and how far the index of words is behind them.
#[derive(Clone, Default)]
pub(crate) struct Known {
    pub(crate) recent: Arc<Recent>,
    /// Notified when the index of words is behind.
    pub(crate) index_wanted: Arc<Notify>,
    /// Memories stored since the writer last asked for it.
    stored: Arc<AtomicUsize>,
}

impl Known {
    /// Forgets all: another connection wrote.
    pub(super) fn forget(&self) {
        self.recent.clear();
    }

    /// Takes what a group of changes did: each with the rows that its writes touched.
    pub(super) fn committed<'a>(&self, changes: impl Iterator<Item = (&'a mut Change, &'a [u64])>) {
        let (mut changed, mut new, mut stored) = (false, Vec::new(), 0);
        for (change, rows) in changes {
            stored += change.others;
            changed |= change.changed;
            if !change.summarised.is_empty() {
                self.recent.forget_summaries(&change.summarised);
            }
            let messages = std::mem::take(&mut change.messages).into_iter();
            let is_new = |n: usize| rows.get(n).is_some_and(|rows| *rows > 0);
            new.extend(messages.filter(|(n, _)| is_new(*n)).map(|(_, memory)| memory));
        }
        stored += new.len();
        if self.stored.fetch_add(stored, Ordering::Relaxed) + stored >= INDEXED_EVERY {
            self.want_index();
        }
        if changed {
            self.recent.clear();
        } else {
            self.recent.add(new.into_iter());
        }
    }

    /// Whether memories were stored since the index of words was asked for. Then the writer asks for
    /// it in a pause.
    pub(crate) fn is_index_behind(&self) -> bool {
        self.stored.load(Ordering::Relaxed) > 0
    }

    /// Notes that the index of words will soon be up to date.
    pub(crate) fn note_indexed(&self) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;

    #[test]
    fn the_index_is_asked_for_after_many_memories_without_a_pause() {
        let known = Known::default();
        let store = |others| {
            let mut change = Change { others, ..Change::default() };
            known.committed(std::iter::once((&mut change, [].as_slice())));
            (known.is_index_behind(), known.index_wanted.notified().now_or_never().is_some())
        };
        assert_eq!(store(0), (false, false));
        assert_eq!(store(INDEXED_EVERY - 1), (true, false));
        assert_eq!(store(1), (false, true));
        assert_eq!(store(1), (true, false));
    }
}
