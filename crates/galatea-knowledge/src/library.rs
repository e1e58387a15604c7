//! The documents of one agent, as they are stored.

use galatea_core::{
    AgentId, AgentIdentity, Clock, Deadline, EmbeddingModel, MemoryId, MemoryKind, Result,
    ServiceContext, TurnUsage,
    store::{MemoryQuery, PluginCache, PluginStore, UsageStore},
};
use galatea_http::HttpClient;
use parking_lot::Mutex;
use std::{collections::HashSet, sync::Arc};

use crate::{
    child::Parser,
    rows::{Piece, Stored, shared_agent},
    source::Source,
};

/// Most documents read of one agent.
const MOST: u32 = 20_000;

/// Parts of a library.
#[derive(Clone)]
pub struct LibraryParts {
    /// Agent whose documents these are.
    pub identity: AgentIdentity,
    /// Sources of the character and of settings.
    pub sources: Vec<Source>,
    /// Store of memories.
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
    /// Use of the embedding model's calls, if another part counts them ([`Self::metered`]).
    pub(crate) metered: Option<Arc<dyn TurnUsage>>,
    /// Pieces that the embedding model refuses, until the next start.
    pub(crate) refused: Arc<Mutex<HashSet<MemoryId>>>,
    /// Print of the last whole run, and the end of its validity.
    pub(crate) seen: Arc<Mutex<Option<(String, Deadline)>>>,
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

    /// This library with the embedding model of a service, whose calls the limits of the agent
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

    /// Agent of the library.
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
}
