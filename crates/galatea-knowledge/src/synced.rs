//! Result of a run over the documents of an agent, and its steps.

use galatea_core::{Error, Retry};
use std::time::Duration;

use crate::{problem::Problem, rows::Record};

/// Pause after which everything is looked at although no file changed: addresses grow old.
const AGAIN: Duration = Duration::from_secs(3600);

/// A step of [`crate::Library::sync`], for progress bars.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Number of documents that are looked at.
    Documents(usize),
    /// A document is read: its key, and its place in the order.
    Reading(String, usize),
    /// Something was stored or removed.
    Stored,
    /// Number of pieces that were embedded.
    Embedded(usize),
}

/// Result of [`crate::Library::sync`].
#[derive(Debug, Default)]
pub struct Synced {
    /// Documents that were read because they are new or changed.
    pub read: usize,
    /// Documents that are as they were.
    pub unchanged: usize,
    /// Documents that left.
    pub removed: usize,
    /// Pieces that were stored.
    pub pieces: usize,
    /// Pieces that were embedded.
    pub embedded: usize,
    /// Why pieces wait for their embeddings until the next day, if a limit of the agent was reached.
    pub postponed: Option<Error>,
    /// Why pieces wait for their embeddings, if the model or the store failed. They are found by words.
    pub unembedded: Option<Error>,
    /// Documents that could not be read.
    pub unread: usize,
    /// Documents and whole sources that could not be read: the key, and why.
    pub problems: Vec<(String, Problem)>,
}

/// Result of [`crate::Library::sync_changes`].
#[derive(Debug, Default)]
pub struct Look {
    /// The run; `None` if there was nothing to do.
    pub synced: Option<Synced>,
    /// A file may still be written. It is read by a later call, a second after its last change.
    pub is_written: bool,
}

impl Synced {
    /// True if nothing was stored or removed.
    pub fn is_empty(&self) -> bool {
        self.read + self.removed + self.pieces + self.embedded == 0
    }

    /// Counts a document: whether it was read, and how many pieces were stored.
    pub(crate) fn count(&mut self, record: &Record, read: bool, pieces: usize) {
        self.pieces += pieces;
        match &record.problem {
            Some(problem) => {
                self.unread += 1;
                self.problems.push((record.key.clone(), problem.clone()));
            }
            None if read => self.read += 1,
            None => self.unchanged += 1,
        }
    }

    /// Time for which the outcome holds if no file changes.
    pub(crate) fn holds(&self) -> Duration {
        match self.postponed.as_ref().map(Error::retry) {
            Some(Retry::After(pause)) => pause.min(AGAIN),
            _ => AGAIN,
        }
    }
}

/// Called at each step.
pub type Progress<'a> = &'a (dyn Fn(Step) + Send + Sync);

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_core::Timestamp;

    #[test]
    fn a_document_with_a_problem_counts_as_neither_read_nor_unchanged() {
        let problem = Problem::of(&crate::refusal::too_large("too much text"), Timestamp(0));
        let mut record = Record::default();
        let mut synced = Synced::default();
        synced.count(&record, true, 0);
        record.problem = Some(problem.clone());
        synced.count(&record, true, 0);
        synced.count(&record, false, 0);
        assert_eq!((synced.read, synced.unchanged, synced.unread), (1, 0, 2));
        assert_eq!(synced.problems[1].1, problem);
    }
}
