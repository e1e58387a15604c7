//! The documents of one agent. `sync` makes the store agree with the sources; it may be stopped at
//! any step and goes on at the next call.

use galatea_core::{
    AgentId, AgentIdentity, Clock, Deadline, EmbeddingModel, Error, MemoryId, MemoryKind, Result,
    Retry, ServiceContext, TurnUsage,
    store::{MemoryQuery, PluginCache, PluginStore, UsageStore},
};
use galatea_http::HttpClient;
use serde_json::Value;
use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use crate::{
    child::Parser,
    chunk::hash,
    ingest,
    rows::{Piece, Stored, document_id, shared_agent},
    scan::{self, Item, Scan},
    source::Source,
};

/// Key of the sources that `galatea knowledge add` stores.
const ADDED: &str = "sources";
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

/// A file that was changed less than this ago may still be written.
const SETTLED: Duration = Duration::from_secs(1);
/// How often everything is looked at although no file changed: addresses grow old.
const AGAIN: Duration = Duration::from_secs(3600);

/// A step of [`Library::sync`], for progress bars.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// So many documents are looked at.
    Documents(usize),
    /// A document is read: its key, and its place in the order.
    Reading(String, usize),
    /// Something was stored or removed.
    Stored,
    /// So many pieces were embedded.
    Embedded(usize),
}

/// What [`Library::sync`] did.
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
    /// What could not be read: its key, and why.
    pub problems: Vec<(String, Error)>,
}

impl Synced {
    /// Whether anything was done.
    pub fn is_empty(&self) -> bool {
        self.read + self.removed + self.pieces + self.embedded == 0
    }

    /// How long the outcome holds if no file changes.
    pub(crate) fn holds(&self) -> Duration {
        match self.postponed.as_ref().map(Error::retry) {
            Some(Retry::After(pause)) => pause.min(AGAIN),
            _ => AGAIN,
        }
    }
}

/// Called at each step.
pub type Progress<'a> = &'a (dyn Fn(Step) + Send + Sync);

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

    /// The sources of the agent: those it was made with, then those that were added.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn sources(&self) -> Result<Vec<Source>> {
        let mut sources = self.parts.sources.clone();
        sources.extend(self.added().await?);
        Ok(sources)
    }

    /// The sources that `galatea knowledge add` stored.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn added(&self) -> Result<Vec<Source>> {
        let parts = &self.parts;
        let noted = parts.cache.get(ADDED, parts.clock.now()).await?;
        Ok(noted.and_then(|noted| serde_json::from_value(noted).ok()).unwrap_or_default())
    }

    /// Replaces the sources that were added.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn set_added(&self, sources: &[Source]) -> Result<()> {
        let noted = serde_json::to_value(sources).unwrap_or(Value::Null);
        self.parts.cache.set(ADDED, &noted, None).await
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

    /// Reads what is new or changed, removes what is gone, and embeds what has no embedding.
    /// Stopping it (dropping the future, or ending the process) loses no finished step, and the
    /// next call does none twice.
    ///
    /// # Errors
    /// Those of the store, and of an embedding model that does not answer. What one document does
    /// wrong is part of the outcome and stops nothing.
    pub async fn sync(&self, progress: Progress<'_>) -> Result<Synced> {
        let scan = self.scan().await?;
        self.bring(scan, progress).await
    }

    /// The same if a file changed since the last call, or everything after an hour. Files that may
    /// still be written wait for the next call. `None` if nothing was to be done.
    ///
    /// # Errors
    /// As [`Self::sync`].
    pub async fn sync_changes(&self) -> Result<Option<Synced>> {
        let mut scan = self.scan().await?;
        let now = self.parts.clock.now();
        let known: HashSet<MemoryId> =
            if scan.items.iter().any(|item| item.is_being_written(now, SETTLED)) {
                self.documents().await?.into_iter().map(|document| document.id).collect()
            } else {
                HashSet::new()
            };
        scan.items
            .retain(|item| known.contains(&self.id(item)) || !item.is_being_written(now, SETTLED));
        let print = hash(&[format!("{:?}{:?}", scan.items, scan.missing).as_bytes()]);
        let waits = scan.items.iter().any(|item| item.is_being_written(now, SETTLED));
        let last = self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if waits || last.is_some_and(|(seen, holds)| seen == print && holds.left(now).is_some()) {
            return Ok(None);
        }
        let synced = self.bring(scan, &|_| {}).await?;
        let holds = Deadline::after(now, synced.holds());
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Some((print, holds));
        Ok(Some(synced))
    }

    async fn scan(&self) -> Result<Scan> {
        let sources = self.sources().await?;
        tokio::task::spawn_blocking(move || scan::scan(&sources))
            .await
            .map_err(|crash| Error::unexpected("searching folders crashed").with_source(crash))
    }

    async fn bring(&self, scan: Scan, progress: Progress<'_>) -> Result<Synced> {
        let Scan { items, missing } = scan;
        let mut synced = Synced::default();
        let kept: Vec<PathBuf> = missing.iter().map(|(path, _)| path.clone()).collect();
        synced
            .problems
            .extend(missing.into_iter().map(|(path, error)| (path.display().to_string(), error)));
        progress(Step::Documents(items.len()));

        let mut known: HashMap<MemoryId, Stored> =
            self.documents().await?.into_iter().map(|document| (document.id, document)).collect();
        let listed: HashSet<MemoryId> = items.iter().map(|item| self.id(item)).collect();
        // First what is gone, so that a document that moved is not taken for a copy of itself.
        let gone: Vec<Stored> = known
            .values()
            .filter(|document| !listed.contains(&document.id))
            .filter(|document| !kept.iter().any(|path| document.is_in(path)))
            .cloned()
            .collect();
        for document in gone {
            known.remove(&document.id);
            ingest::remove(self, &document, progress).await?;
            synced.removed += 1;
        }
        for (nth, item) in items.iter().enumerate() {
            let id = self.id(item);
            let before = known.get(&id).cloned();
            let outcome = ingest::item(self, item, before, &known, nth, progress).await?;
            synced.count(&item.key, &outcome);
            known.insert(id, outcome.document);
        }
        // Otherwise the first questions would miss what waits for the index of words.
        while !self.parts.store.index_words().await? {
            progress(Step::Stored);
        }
        self.embed(progress, &mut synced).await?;
        Ok(synced)
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

    fn id(&self, item: &Item) -> MemoryId {
        let own = self.parts.identity.id();
        document_id(if item.source.shared { shared_agent() } else { own }, own, &item.key)
    }
}

impl Synced {
    fn count(&mut self, key: &str, outcome: &ingest::Outcome) {
        if outcome.read {
            self.read += 1;
        } else {
            self.unchanged += 1;
        }
        self.pieces += outcome.pieces;
        if let Some(problem) = &outcome.document.record.problem {
            let mut error = Error::invalid(problem.message.clone());
            if let Some(fix) = &problem.fix {
                error = error.with_fix(fix.clone());
            }
            self.problems.push((key.to_owned(), error));
        }
    }
}

impl Stored {
    fn is_in(&self, path: &std::path::Path) -> bool {
        std::path::Path::new(&self.record.key).starts_with(path)
    }
}
