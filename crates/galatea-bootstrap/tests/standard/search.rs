//! Searches in the real store: the rows of the test are in a SQLite database of their own, which is
//! made again once they changed.

use async_trait::async_trait;
use galatea_core::{
    Derived, Embedding, Memory, MemoryId, MemoryKind, Result,
    store::{
        DerivedChange, DerivedStore as _, EmbeddingStore as _, MemoryStore as _, RecallQuery,
        RecallStore, Recalled, Superseded,
    },
};
use galatea_store::{Database, SqliteOptions};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use crate::double::{Double, Tables};

/// Rows that a search looks at.
#[derive(Clone, PartialEq)]
struct Rows {
    memories: Vec<Memory>,
    derived: HashMap<MemoryId, Derived>,
    embeddings: HashMap<MemoryId, (String, Embedding)>,
}

/// A database with these rows.
pub(crate) struct Filled {
    rows: Rows,
    store: Database,
    _folder: tempfile::TempDir,
}

impl Filled {
    async fn with(rows: Rows) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("galatea.db");
        let store = Database::sqlite(path, SqliteOptions::default()).await.unwrap();
        let filled = Self { rows, store, _folder: folder };
        filled.fill().await;
        filled
    }

    async fn fill(&self) {
        let Rows { memories, derived, embeddings } = &self.rows;
        let stored: HashSet<MemoryId> = memories.iter().map(|memory| memory.id).collect();
        let mut agents: BTreeMap<_, (Vec<Memory>, DerivedChange)> = BTreeMap::new();
        // Profiles are made of facts, which have to be stored before.
        let mut profiles = agents.clone();
        for memory in memories {
            let is_profile = memory.kind == MemoryKind::Profiles;
            let agents = if is_profile { &mut profiles } else { &mut agents };
            let (said, change) = agents.entry(memory.agent_id).or_default();
            let row = derived.get(&memory.id);
            if memory.kind == MemoryKind::Messages {
                said.push(memory.clone());
                continue;
            }
            let whole = Tables::whole_of(memory, row);
            let sources = whole.sources.iter().copied().filter(|id| stored.contains(id)).collect();
            change.new.push(Derived { valid_until: None, superseded_by: None, sources, ..whole });
            let ended = row.and_then(|row| Some((row.valid_until?, row.superseded_by)));
            change.superseded.extend(ended.map(|(at, by)| Superseded { id: memory.id, at, by }));
        }
        for (agent, (said, change)) in agents.into_iter().chain(profiles) {
            self.store.save_memories(&said).await.unwrap();
            let new = self.store.change_derived(agent, &change).await.unwrap();
            assert_eq!(new, change.new.len() as u64, "every derived row is stored");
        }
        for memory in memories {
            let Some((model, embedding)) = embeddings.get(&memory.id) else { continue };
            let of = [(memory, embedding.clone())];
            self.store.save_embeddings(memory.agent_id, model, &of).await.unwrap();
        }
        // A search does not wait for the index.
        while !self.store.index_words().await.unwrap() {}
    }
}

#[async_trait]
impl RecallStore for Double {
    async fn recall(&self, query: &RecallQuery) -> Result<Vec<Recalled>> {
        let rows = {
            let mut tables = self.asked();
            tables.queries.push(query.clone());
            Rows {
                memories: tables.memories.clone(),
                derived: tables.derived.clone(),
                embeddings: tables.embeddings.clone(),
            }
        };
        let filled = {
            let mut filled = self.filled.lock().await;
            match &*filled {
                Some(known) if known.rows == rows => Arc::clone(known),
                _ => Arc::clone(filled.insert(Arc::new(Filled::with(rows).await))),
            }
        };
        filled.store.recall(query).await
    }
}
