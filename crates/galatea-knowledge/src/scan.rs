//! Results of a search of the sources of documents.

mod search;

pub(crate) use search::scan;

use galatea_core::{Error, Timestamp};
use std::{path::PathBuf, time::Duration};

use crate::{chunk::hash, omitted::Omitted, problem::Problem, source::Source};

/// A file that was changed less than this ago may still be written.
pub(crate) const SETTLED: Duration = Duration::from_secs(1);

/// A document before it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Item {
    /// Key that identifies it from one start to the next.
    pub(crate) key: String,
    pub(crate) what: What,
    pub(crate) source: Source,
}

impl Item {
    /// True if a file was changed so lately that it may not be complete.
    pub(crate) fn is_being_written(&self, now: Timestamp) -> bool {
        match self.what {
            What::File { modified, .. } => modified <= now && now.since(modified) < SETTLED,
            What::Lines(_) | What::Url(_) => false,
        }
    }
}

/// Way in which an item is read.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum What {
    Lines(String),
    File { path: PathBuf, size: u64, modified: Timestamp },
    Url(String),
}

/// A named path, or a folder below it, that cannot be searched.
#[derive(Debug)]
pub(crate) struct Missing {
    pub(crate) path: PathBuf,
    pub(crate) error: Error,
    /// The folder around it can be read and does not have it: a file of this name was removed.
    pub(crate) removed: bool,
}

/// Items that were found, and paths that were not.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    pub(crate) items: Vec<Item>,
    /// Documents in these paths are kept, since a drive may be absent for a while; but not the
    /// document of a file that was removed.
    pub(crate) missing: Vec<Missing>,
    /// Named folders with nothing in them, also those that never had a document.
    pub(crate) empty: Vec<PathBuf>,
    /// Files of sources that are not read.
    pub(crate) omitted: Vec<Omitted>,
    /// Files that may still be written. Their documents stay as they are.
    pub(crate) later: Vec<Item>,
}

impl Scan {
    /// Leaves files that may still be written for later.
    pub(crate) fn settled(mut self, now: Timestamp) -> Self {
        let being_written = |item: &mut Item| item.is_being_written(now);
        self.later.extend(self.items.extract_if(.., being_written));
        self
    }

    /// Stands for what was found: another one if a file changed, or a folder is no longer empty.
    pub(crate) fn print(&self) -> String {
        let Self { items, missing, empty, omitted, .. } = self;
        hash(&[format!("{items:?}{missing:?}{empty:?}{omitted:?}").as_bytes()])
    }

    /// Problems for a person: the source, and its fault.
    pub(crate) fn problems(&self, now: Timestamp) -> Vec<(String, Problem)> {
        let missing = self
            .missing
            .iter()
            .map(|missing| (missing.path.display().to_string(), Problem::of(&missing.error, now)));
        let omitted = self.omitted.iter().flat_map(Omitted::problems);
        missing.chain(omitted.map(|(source, error)| (source, Problem::of(&error, now)))).collect()
    }
}
