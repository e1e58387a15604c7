//! Brings the documents of an agent up to date with their sources. It may be stopped at any step, and
//! goes on at the next call.

use galatea_core::{Deadline, Error, MemoryId, Result};
use std::{
    collections::{HashMap, HashSet},
    path::Path,
};

use crate::{
    ingest::{self, DocumentOutcome},
    library::Library,
    moved::Matched,
    problem::Problem,
    rows::Stored,
    scan::{self, Item, Missing, Scan},
    source::Place,
    synced::{Look, Progress, Step, Synced},
};

impl Library {
    /// Problems of the sources: paths that are missing, and files that are left out.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn problems(&self) -> Result<Vec<(String, Problem)>> {
        let documents = self.documents().await?;
        let scan = self.scan(keys(&documents)).await?;
        Ok(scan.problems(self.parts.clock.now()))
    }

    /// Reads what is new or changed, removes what is gone, and embeds what has no embedding.
    /// Stopping it (dropping the future, or ending the process) loses no finished step, and the
    /// next call does none twice.
    ///
    /// # Errors
    /// Those of the store. What one document or the embedding model does wrong is part of the
    /// outcome.
    pub async fn sync(&self, progress: Progress<'_>) -> Result<Synced> {
        let documents = self.documents().await?;
        let scan = self.scan(keys(&documents)).await?;
        self.bring(scan, documents, progress).await
    }

    /// Syncs if a file changed since the last call, or everything after an hour. Files that may
    /// still be written wait for the next call, and hold up no others.
    ///
    /// # Errors
    /// As [`Self::sync`].
    pub async fn sync_changes(&self) -> Result<Look> {
        // The store is asked only when something changed.
        let now = self.parts.clock.now();
        let scan = self.scan(HashSet::new()).await?.settled(now);
        let print = scan.print();
        let last = self.seen.lock().clone();
        if last.is_some_and(|(seen, holds)| seen == print && holds.left(now).is_some()) {
            return Ok(Look { synced: None, is_written: !scan.later.is_empty() });
        }
        let documents = self.documents().await?;
        let scan = self.scan(keys(&documents)).await?.settled(self.parts.clock.now());
        let is_written = !scan.later.is_empty();
        let synced = self.bring(scan, documents, &|_| {}).await?;
        let holds = synced.unembedded.is_none().then(|| Deadline::after(now, synced.holds()));
        *self.seen.lock() = holds.map(|holds| (print, holds));
        Ok(Look { synced: Some(synced), is_written })
    }

    /// Searches the sources. `stored` are the keys of documents that come first.
    async fn scan(&self, stored: HashSet<String>) -> Result<Scan> {
        let sources = self.sources().await?;
        let now = self.parts.clock.now();
        tokio::task::spawn_blocking(move || scan::scan(&sources, &stored, now))
            .await
            .map_err(|crash| Error::unexpected("searching folders crashed").with_source(crash))
    }

    async fn bring(
        &self,
        scan: Scan,
        documents: Vec<Stored>,
        progress: Progress<'_>,
    ) -> Result<Synced> {
        let mut synced =
            Synced { problems: scan.problems(self.parts.clock.now()), ..Synced::default() };
        progress(Step::Documents(scan.items.len()));

        let mut known: HashMap<MemoryId, Stored> =
            documents.into_iter().map(|document| (document.id, document)).collect();
        let mut matched = Matched::by_key(&scan, &mut known);
        let Scan { items, .. } = scan;
        matched.rehome(self, &items, &mut known, progress).await?;
        let ids: Vec<MemoryId> = items.iter().map(|item| matched.id(self, item)).collect();
        let mut done = Vec::with_capacity(items.len());
        for (nth, item) in items.iter().enumerate() {
            done.push(self.bring_item(item, ids[nth], nth, &mut known, progress).await?);
        }
        // A copy was taken for one of a document that has another text by now.
        for (nth, item) in items.iter().enumerate() {
            if known.get(&ids[nth]).is_some_and(|copy| copy.lost_its_original(&known)) {
                done[nth] = self.bring_item(item, ids[nth], nth, &mut known, progress).await?;
            }
        }
        for (id, (read, pieces)) in ids.iter().zip(done) {
            if let Some(document) = known.get(id) {
                synced.count(&document.record, read, pieces);
            }
        }
        // Removed documents go last: until their replacement is read, they are found.
        for document in matched.gone {
            ingest::remove(self, &document, progress).await?;
            synced.removed += 1;
        }
        // Otherwise the first questions would miss what waits for the index of words.
        while !self.parts.store.index_words().await? {
            progress(Step::Stored);
        }
        // Read pieces are found by words, whatever the embedding model does.
        synced.unembedded = self.embed(progress, &mut synced).await.err();
        Ok(synced)
    }

    /// Brings one document up to date: whether it was read, and how many pieces were stored.
    async fn bring_item(
        &self,
        item: &Item,
        id: MemoryId,
        nth: usize,
        known: &mut HashMap<MemoryId, Stored>,
        progress: Progress<'_>,
    ) -> Result<(bool, usize)> {
        let before = known.get(&id).cloned();
        let DocumentOutcome { document, read, pieces } =
            ingest::item(self, item, id, before, known, nth, progress).await?;
        known.insert(id, document);
        Ok((read, pieces))
    }

    /// Removes a document and its pieces.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn remove(&self, document: &Stored) -> Result<()> {
        ingest::remove(self, document, &|_| {}).await
    }
}

fn keys(documents: &[Stored]) -> HashSet<String> {
    documents.iter().map(|document| document.record.key.clone()).collect()
}

impl Scan {
    /// True if a document stays although it was not found. One of a path that this machine does not
    /// have may be of a source that is away, as long as any is.
    pub(crate) fn keeps(&self, document: &Stored) -> bool {
        let is_path = !document.record.key.contains("://") && document.record.key != "lines";
        let away = |missing: &&Missing| !missing.removed;
        self.missing.iter().any(|missing| missing.keeps(document))
            || is_path && !self.has(document) && self.missing.iter().any(|m| away(&m))
    }

    /// True if a document lies in a folder in which something was found.
    fn has(&self, document: &Stored) -> bool {
        let key = Path::new(&document.record.key);
        self.items.iter().chain(&self.later).any(|item| match &item.source.place {
            Place::Path(path) => key.starts_with(path),
            Place::Lines(_) | Place::Url(_) => false,
        })
    }
}

impl Missing {
    /// True if a document stays although it was not found.
    fn keeps(&self, document: &Stored) -> bool {
        let key = Path::new(&document.record.key);
        if self.removed && key == self.path { false } else { key.starts_with(&self.path) }
    }
}
