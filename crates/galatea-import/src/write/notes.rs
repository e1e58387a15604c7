//! Memories of a dump of which the operator has to know.

use galatea_core::{AgentId, MemoryId, Result, Store};
use std::collections::{HashMap, HashSet};

use crate::{Count, read::Remark};

/// Most ids asked for at once.
const ASKED: usize = 500;

/// Memories of which the operator has to know, by their ids.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// Documents and pieces of documents, each with the document's id.
    documents: HashMap<MemoryId, String>,
    /// Facts about no person.
    unattributed: HashSet<MemoryId>,
}

impl Notes {
    pub(super) fn add(&mut self, id: MemoryId, remark: &Remark) {
        match remark {
            Remark::Unattributed => drop(self.unattributed.insert(id)),
            Remark::Document { of } => drop(self.documents.insert(id, of.clone())),
            Remark::None => {}
        }
    }

    /// Drops what is not stored, since it was deleted here or the store refused it. Call at the end of
    /// the import.
    ///
    /// # Errors
    /// Those of the store.
    pub(super) async fn keep_stored(&mut self, store: &dyn Store, agent: AgentId) -> Result<()> {
        let ids: Vec<MemoryId> = self.documents.keys().chain(&self.unattributed).copied().collect();
        let mut stored = HashSet::new();
        for some in ids.chunks(ASKED) {
            let found = store.derived(agent, some).await?;
            stored.extend(found.into_iter().map(|row| row.memory.id));
        }
        self.documents.retain(|id, _| stored.contains(id));
        self.unattributed.retain(|id| stored.contains(id));
        Ok(())
    }

    /// Adds the numbers of documents and of facts about no person.
    pub(super) fn count(&self, count: &mut Count) {
        count.documents = self.documents.values().collect::<HashSet<_>>().len();
        count.unattributed = self.unattributed.len();
    }
}
