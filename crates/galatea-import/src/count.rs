//! The result of an import in numbers.

use galatea_runtime::history::Stored;
use std::collections::BTreeMap;

use crate::Skipped;

/// How many could be read, how many of them were new, and what was left out.
#[derive(Debug, Default)]
pub struct Count {
    /// Memories that could be read.
    pub read: usize,
    /// Memories that were not stored yet.
    pub new: usize,
    /// Memories that were stored already, with another text. They stay as they are.
    pub differing: usize,
    /// Memories that were deleted here before, and are left out.
    pub deleted: usize,
    /// Links of accounts that could be read.
    pub links: usize,
    /// Links of accounts that were not stored yet.
    pub new_links: usize,
    /// Tasks that could be read.
    pub tasks: usize,
    /// Tasks that were not stored yet. Those that run by themselves are paused.
    pub new_tasks: usize,
    /// Documents of a dump, which the agent does not find: their files have to be added.
    pub documents: usize,
    /// Facts about no person, which people can neither see nor delete.
    pub unattributed: usize,
    /// Entries that cannot be read or stored.
    pub skipped: Skipped,
    /// Entries that a platform's connector does not store either, such as service messages.
    pub left_out: BTreeMap<&'static str, usize>,
}

impl Count {
    /// Takes back a row that counts as read, since the store refused it: refused is not what was there
    /// already.
    pub(crate) fn refuse(&mut self, line: usize, cause: &str) {
        self.read = self.read.saturating_sub(1);
        self.skipped.line(line, cause);
    }

    /// Adds the numbers of stored messages.
    pub(crate) fn add(&mut self, stored: Stored) {
        self.new += stored.new;
        self.differing += stored.differing;
        self.deleted += stored.deleted;
    }
}
