//! Ids of one file: an id that comes twice with different contents is a fault of the file.

use std::{
    collections::{HashMap, hash_map::Entry},
    hash::{DefaultHasher, Hash, Hasher as _},
};

/// The ids that were read, each with its place and a hash of what it stands for.
#[derive(Debug)]
pub(crate) struct Seen<K, P>(HashMap<K, (P, u64)>);

/// What an id is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found<P> {
    New,
    /// It comes again with the same content.
    Same,
    /// Another content has it, at this place.
    Taken(P),
}

impl<K: Hash + Eq, P: Clone> Seen<K, P> {
    pub(crate) fn new() -> Self {
        Self(HashMap::new())
    }

    /// Adds an id with its content.
    pub(crate) fn add(&mut self, id: K, place: P, content: impl Hash) -> Found<P> {
        let hash = hash(content);
        match self.0.entry(id) {
            Entry::Vacant(new) => {
                new.insert((place, hash));
                Found::New
            }
            Entry::Occupied(old) if old.get().1 == hash => Found::Same,
            Entry::Occupied(old) => Found::Taken(old.get().0.clone()),
        }
    }
}

/// Stands for a value that would take much memory.
pub(crate) fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_taken_by_other_contents_only() {
        let mut seen = Seen::new();
        assert_eq!(seen.add("a", 1, "ha"), Found::New);
        assert_eq!(seen.add("a", 2, "ha"), Found::Same);
        assert_eq!(seen.add("a", 3, "ho"), Found::Taken(1));
    }
}
