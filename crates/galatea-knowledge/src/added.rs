//! The sources that `galatea knowledge add` stored. Two commands may change them at once, so each
//! change is repeated until none came between its reading and its writing.

use galatea_core::{Error, ErrorKind, Result};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    ingest,
    library::Library,
    rows::Stored,
    source::{Origin, Source},
};

/// Key of the sources among the small values of this plugin.
const ADDED: &str = "sources";
/// Tries of a change. Of several commands at once one succeeds at each try.
const TRIES: usize = 100;

impl Library {
    /// The sources of the agent: those it was made with, then those that were added.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn sources(&self) -> Result<Vec<Source>> {
        let mut sources = self.parts.sources.clone();
        sources.extend(self.added().await?);
        Ok(sources)
    }

    /// The sources that were added.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn added(&self) -> Result<Vec<Source>> {
        let parts = &self.parts;
        let noted = parts.cache.get(ADDED, parts.clock.now()).await?;
        sources(noted.as_ref())
    }

    /// Adds sources, each place once. One takes the place of an earlier one of the same place.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn add(&self, sources: &[Source]) -> Result<()> {
        self.change_added(|added| {
            added.retain(|known| sources.iter().all(|source| source.place != known.place));
            for source in sources {
                if added.iter().all(|known| known.place != source.place) {
                    added.push(source.clone());
                }
            }
        })
        .await
    }

    /// Removes a source that was added, and its documents but for those that another source has too.
    /// Returns how many documents left.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn remove_source(&self, source: &Source) -> Result<usize> {
        self.change_added(|added| added.retain(|known| known.place != source.place)).await?;
        let others = self.sources().await?;
        let mut removed = 0;
        for document in self.documents().await? {
            if document.record.origin == Origin::Added
                && source.has(&document.record.key)
                && !others.iter().any(|other| other.brings(&document))
            {
                ingest::remove(self, &document, &|_| {}).await?;
                removed += 1;
            }
        }
        Ok(removed)
    }

    /// The source that a document comes from. `None` if none has it any more.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn source_of(&self, document: &Stored) -> Result<Option<Source>> {
        Ok(self.sources().await?.into_iter().find(|source| source.brings(document)))
    }

    async fn change_added(&self, change: impl Fn(&mut Vec<Source>)) -> Result<()> {
        let parts = &self.parts;
        for _ in 0..TRIES {
            let noted = parts.cache.get(ADDED, parts.clock.now()).await?;
            let mut sources = sources(noted.as_ref())?;
            change(&mut sources);
            let changed = serde_json::to_value(&sources).map_err(|error| {
                Error::invalid("a source cannot be stored").with("cause", error)
            })?;
            if noted.as_ref() == Some(&changed)
                || parts.cache.swap(ADDED, noted.as_ref(), &changed).await?
            {
                return Ok(());
            }
        }
        Err(Error::new(ErrorKind::Conflict, "other commands keep changing the agent's sources")
            .with_fix("run the command again"))
    }
}

/// The sources as they are stored.
///
/// # Errors
/// `Invalid` for what another version stored. None of its sources may be taken for removed.
fn sources(noted: Option<&Value>) -> Result<Vec<Source>> {
    match noted {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(noted) => Vec::deserialize(noted).map_err(|error| {
            Error::invalid("the sources that were added are stored in an unknown form")
                .with("cause", error)
                .with_fix("use the version of Galatea that stored them, or a newer one")
        }),
    }
}

impl Source {
    /// True if a document is stored as this source would store it.
    fn brings(&self, document: &Stored) -> bool {
        self.shared == document.is_shared() && self.has(&document.record.key)
    }
}
