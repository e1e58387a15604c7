//! Files of a source that are not read: files beyond the limit, too deep, or without a usable name.

use galatea_core::Error;
use std::path::Path;

use crate::refusal::{too_large, unreadable};

/// Most documents of one agent. elizaOS's `KNOWLEDGE_MAX_FILES` has no default; a larger collection
/// belongs into a search engine.
pub(crate) const MOST_FILES: usize = 5_000;

/// Deepest folder searched, in levels below the one that is named.
pub(crate) const DEPTH: usize = 16;

/// Files of one source that are not read.
#[derive(Debug, Default)]
pub(crate) struct Omitted {
    /// Key of the source.
    pub(crate) source: String,
    /// Files beyond the limit of an agent.
    pub(crate) beyond: Counted,
    /// Folders that lie too deep.
    pub(crate) deep: Counted,
    /// Files and folders whose names are not UTF-8.
    pub(crate) unnamed: Counted,
    /// Changes when a file beyond the limit does.
    pub(crate) seen: u64,
}

/// Number of files, and the first of them.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    count: usize,
    first: String,
}

impl Counted {
    pub(crate) fn count(&mut self, path: &Path) {
        if self.count == 0 {
            self.first = path.display().to_string();
        }
        self.count += 1;
    }

    /// The count with the noun that follows it, for a sentence.
    fn of(&self, singular: &str, plural: &str) -> String {
        match self.count {
            1 => format!("1 {singular}"),
            count => format!("{count} {plural}"),
        }
    }
}

impl Omitted {
    pub(crate) fn of(source: String) -> Self {
        Self { source, ..Self::default() }
    }

    pub(crate) fn is_any(&self) -> bool {
        self.beyond.count + self.deep.count + self.unnamed.count > 0
    }

    /// A problem for each reason.
    pub(crate) fn problems(&self) -> Vec<(String, Error)> {
        let Self { beyond, deep, unnamed, .. } = self;
        let mut problems = Vec::new();
        let mut add = |counted: &Counted, error: Error| {
            if counted.count > 0 {
                problems.push((self.source.clone(), error.with("first", &counted.first)));
            }
        };
        let message = format!(
            "{} left out: an agent has {MOST_FILES} documents at most",
            beyond.of("file is", "files are")
        );
        add(beyond, too_large(message).with_fix("name fewer or smaller folders"));
        let message = format!(
            "{} not read: deeper than {DEPTH} folders below the one that is named",
            deep.of("folder is", "folders are")
        );
        add(deep, too_large(message).with_fix("name a folder further down, too"));
        let message = format!(
            "{} not read: the name is not valid UTF-8",
            unnamed.of("file or folder is", "files and folders are")
        );
        add(unnamed, unreadable(message).with_fix("rename it"));
        problems
    }
}
