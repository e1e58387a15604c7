//! Documents that lie elsewhere than they did: a folder that moved, or another machine's path to the
//! same files. They keep their id, and with it their pieces and embeddings.

use galatea_core::{MemoryId, Result};
use std::{
    collections::{HashMap, HashSet},
    path::Path,
};

use crate::{
    ingest,
    library::Library,
    rows::{Stored, document_id, shared_agent},
    scan::{Item, Scan},
    synced::Progress,
};

/// Document of each item of a scan, and documents without an item.
#[derive(Debug, Default)]
pub(crate) struct Matched {
    /// By the agent that an item is stored under, and its key.
    ids: HashMap<(bool, String), MemoryId>,
    /// Ids that documents have already, whatever their key.
    taken: HashSet<MemoryId>,
    /// Documents without an item.
    pub(crate) gone: Vec<Stored>,
}

impl Matched {
    /// Matches by key. `known` keeps the documents that stand for an item.
    pub(crate) fn by_key(scan: &Scan, known: &mut HashMap<MemoryId, Stored>) -> Self {
        let listed: HashSet<(bool, &str)> = scan
            .items
            .iter()
            .chain(&scan.later)
            .map(|item| (item.source.shared, item.key.as_str()))
            .collect();
        let taken = known.keys().copied().collect();
        let mut matched = Self { taken, ..Self::default() };
        let mut documents: Vec<Stored> = known.drain().map(|(_, document)| document).collect();
        documents.sort_by_key(|document| document.id);
        for document in documents {
            let key = (document.is_shared(), document.record.key.clone());
            let is_listed = listed.contains(&(key.0, key.1.as_str()));
            if is_listed && !matched.ids.contains_key(&key) {
                matched.ids.insert(key, document.id);
                known.insert(document.id, document);
            } else if !scan.keeps(&document) {
                matched.gone.push(document);
            } else {
                known.insert(document.id, document);
            }
        }
        matched
    }

    /// The id of an item's document. A new one gets the id of its key, unless a document that was
    /// found there before has it and lies elsewhere now.
    pub(crate) fn id(&mut self, library: &Library, item: &Item) -> MemoryId {
        let key = (item.source.shared, item.key.clone());
        if let Some(id) = self.ids.get(&key) {
            return *id;
        }
        let own = library.agent();
        let under = if item.source.shared { shared_agent() } else { own };
        let free = (1_u32..).map(|nth| match nth {
            1 => document_id(under, own, &item.key),
            _ => document_id(under, own, &format!("{}#{nth}", item.key)),
        });
        let mut free = free.filter(|id| !self.taken.contains(id));
        let id = free.next().unwrap_or_else(MemoryId::fresh);
        self.taken.insert(id);
        self.ids.insert(key, id);
        id
    }

    fn is_known(&self, item: &Item) -> bool {
        self.ids.contains_key(&(item.source.shared, item.key.clone()))
    }

    /// Gives documents without an item to new items: first those of the same bytes and name, then
    /// those of the same name whose path ends in the same way, which may have changed. What is
    /// given is stored under its new key before anything is read or removed.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) async fn rehome(
        &mut self,
        library: &Library,
        items: &[Item],
        known: &mut HashMap<MemoryId, Stored>,
        progress: Progress<'_>,
    ) -> Result<()> {
        let fresh: Vec<&Item> = items.iter().filter(|item| !self.is_known(item)).collect();
        let mut left = Vec::new();
        for item in fresh {
            if self.gone.is_empty() {
                return Ok(());
            }
            let digest = ingest::digest(library, item).await;
            let same = |document: &Stored| digest.as_ref() == Some(&document.record.hash);
            match self.take(item, same) {
                Some(document) => self.adopt(library, item, document, known, progress).await?,
                None => left.push(item),
            }
        }
        for item in left {
            let named = |document: &Stored| alike(&document.record.key, &item.key) > 0;
            if let Some(document) = self.take(item, named) {
                self.adopt(library, item, document, known, progress).await?;
            }
        }
        Ok(())
    }

    /// The document without an item that fits best.
    fn take(&mut self, item: &Item, fits: impl Fn(&Stored) -> bool) -> Option<Stored> {
        let best = self
            .gone
            .iter()
            .enumerate()
            .filter(|(_, document)| document.is_shared() == item.source.shared && fits(document))
            .max_by_key(|(_, document)| alike(&document.record.key, &item.key))?;
        Some(self.gone.swap_remove(best.0))
    }

    async fn adopt(
        &mut self,
        library: &Library,
        item: &Item,
        mut document: Stored,
        known: &mut HashMap<MemoryId, Stored>,
        progress: Progress<'_>,
    ) -> Result<()> {
        document.record.key.clone_from(&item.key);
        ingest::moved(library, item, &mut document, progress).await?;
        self.ids.insert((item.source.shared, item.key.clone()), document.id);
        known.insert(document.id, document);
        Ok(())
    }
}

/// Number of parts that the ends of two paths have in common; nothing for two addresses, which are
/// their own places.
fn alike(one: &str, other: &str) -> usize {
    if one.contains("://") || other.contains("://") {
        return 0;
    }
    let parts = |path: &'_ str| -> Vec<String> {
        Path::new(path).iter().rev().map(|part| part.to_string_lossy().into_owned()).collect()
    };
    parts(one).iter().zip(&parts(other)).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_compared_from_their_end() {
        assert_eq!(alike("/a/docs/x/readme.md", "/b/docs/x/readme.md"), 3);
        assert_eq!(alike("/a/x/readme.md", "/b/y/readme.md"), 1);
        assert_eq!(alike("/a/one.md", "/a/two.md"), 0);
        assert_eq!(alike("https://a.org/x", "https://b.org/x"), 0);
    }
}
