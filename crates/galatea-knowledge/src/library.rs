//! The documents of one agent. `sync` makes the store agree with the sources; it may be stopped at
//! any step and goes on at the next call.

use galatea_core::{
    AgentId, AgentIdentity, Clock, Deadline, EmbeddingModel, Error, MemoryId, MemoryKind, Result,
    ServiceContext, TurnUsage,
    store::{MemoryQuery, PluginCache, PluginStore, UsageStore},
};
use galatea_http::HttpClient;
use parking_lot::Mutex;
use std::{
    collections::{HashMap, HashSet},
    path::Path,
    sync::Arc,
};

use crate::{
    child::Parser,
    ingest::{self, Outcome},
    moved::Matched,
    problem::Problem,
    rows::{Piece, Stored, shared_agent},
    scan::{self, Item, Missing, Scan},
    source::{Place, Source},
    synced::{Look, Progress, Step, Synced},
};

/// Most documents read of one agent.
const MOST: u32 = 20_000;

/// What a library needs.
#[derive(Clone)]
pub struct LibraryParts {
    /// Whose documents.
    pub identity: AgentIdentity,
    /// Sources of the character and of settings.
    pub sources: Vec<Source>,
    /// Where memories are stored.
    pub store: Arc<dyn PluginStore>,
    /// Small values of this plugin.
    pub cache: PluginCache,
    /// The ledger of what embedding costs.
    pub usage: Arc<dyn UsageStore>,
    /// Embeds pieces; without one they are found by words alone.
    pub embedding: Option<Arc<dyn EmbeddingModel>>,
    /// Reads documents.
    pub parser: Parser,
    /// Fetches addresses.
    pub http: HttpClient,
    /// Hosts whose addresses may be fetched.
    pub hosts: Vec<String>,
    /// Time.
    pub clock: Arc<dyn Clock>,
}

/// The documents of one agent. Cheap to clone.
#[derive(Clone)]
pub struct Library {
    pub(crate) parts: Arc<LibraryParts>,
    /// What calls of the embedding model used, if another part counts them ([`Self::metered`]).
    pub(crate) metered: Option<Arc<dyn TurnUsage>>,
    /// Pieces that the embedding model refuses, until the next start.
    pub(crate) refused: Arc<Mutex<HashSet<MemoryId>>>,
    /// What the last whole run saw, and how long that holds.
    seen: Arc<Mutex<Option<(String, Deadline)>>>,
}

impl Library {
    /// The library of an agent.
    pub fn new(parts: LibraryParts) -> Self {
        Self {
            parts: Arc::new(parts),
            metered: None,
            refused: Arc::default(),
            seen: Arc::default(),
        }
    }

    /// The same library with the embedding model of a service, whose calls the limits of the agent
    /// hold for.
    pub(crate) fn metered(&self, context: &ServiceContext) -> Self {
        let parts = LibraryParts {
            embedding: context.embedding.clone(),
            ..LibraryParts::clone(&self.parts)
        };
        Self {
            parts: Arc::new(parts),
            metered: Some(Arc::clone(&context.usage)),
            refused: Arc::clone(&self.refused),
            seen: Arc::clone(&self.seen),
        }
    }

    /// The agent's documents: its own, and those it shares.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn documents(&self) -> Result<Vec<Stored>> {
        let own = self.parts.identity.id();
        let mut documents = Vec::new();
        for under in [own, shared_agent()] {
            let query = MemoryQuery::new(under, MOST).kind(MemoryKind::Documents);
            let rows = self.parts.store.shared_memories(&query).await?;
            documents.extend(rows.iter().filter_map(|row| Stored::read(row)));
        }
        documents.retain(|document| document.owner == own);
        documents.sort_by(|a, b| a.record.key.cmp(&b.record.key));
        Ok(documents)
    }

    /// What is wrong with the sources: paths that are missing, and files that are left out.
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

    /// The same if a file changed since the last call, or everything after an hour. Files that may
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
        // What is gone goes last: until what took its place is read, it is found.
        for document in matched.gone {
            ingest::remove(self, &document, progress).await?;
            synced.removed += 1;
        }
        // Otherwise the first questions would miss what waits for the index of words.
        while !self.parts.store.index_words().await? {
            progress(Step::Stored);
        }
        // What is read is found by words, whatever the embedding model does.
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
        let Outcome { document, read, pieces } =
            ingest::item(self, item, id, before, known, nth, progress).await?;
        known.insert(id, document);
        Ok((read, pieces))
    }

    /// Whose library it is.
    pub fn agent(&self) -> AgentId {
        self.parts.identity.id()
    }

    /// The pieces of a document, in reading order.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn pieces(&self, document: &Stored) -> Result<Vec<Piece>> {
        let mut pieces = Vec::with_capacity(document.record.fragments.len());
        for id in &document.record.fragments {
            let row = self.parts.store.memory(*id).await?;
            pieces.extend(row.as_ref().and_then(Piece::read));
        }
        Ok(pieces)
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
    /// Whether a document stays although it was not found. One of a path that this machine does not
    /// have may be of a source that is away, as long as any is.
    pub(crate) fn keeps(&self, document: &Stored) -> bool {
        let is_path = !document.record.key.contains("://") && document.record.key != "lines";
        let away = |missing: &&Missing| !missing.removed;
        self.missing.iter().any(|missing| missing.keeps(document))
            || is_path && !self.has(document) && self.missing.iter().any(|m| away(&m))
    }

    /// Whether a document lies in a folder in which something was found.
    fn has(&self, document: &Stored) -> bool {
        let key = Path::new(&document.record.key);
        self.items.iter().chain(&self.later).any(|item| match &item.source.place {
            Place::Path(path) => key.starts_with(path),
            Place::Lines(_) | Place::Url(_) => false,
        })
    }
}

impl Missing {
    /// Whether a document stays although it was not found.
    fn keeps(&self, document: &Stored) -> bool {
        let key = Path::new(&document.record.key);
        if self.removed && key == self.path { false } else { key.starts_with(&self.path) }
    }
}
