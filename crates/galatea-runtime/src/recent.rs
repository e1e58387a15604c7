//! The newest entries of a map, for all tasks of an agent. An empty one takes a few bytes: a process may
//! run hundreds of agents, each with a dozen of these.

use hashlink::LruCache;
use parking_lot::Mutex;
use std::{
    hash::Hash,
    time::{Duration, Instant},
};

/// A map that forgets what was not used for longest, and what is older than its life.
pub(crate) struct Recent<K, V> {
    entries: Mutex<Entries<K, V>>,
    /// Most entries, or the largest sum of their weights.
    most: usize,
    /// Time after which an entry is gone, whether it was read or not.
    life: Option<Duration>,
}

struct Entries<K, V> {
    map: LruCache<K, Entry<V>>,
    weight: usize,
}

struct Entry<V> {
    value: V,
    weight: usize,
    at: Instant,
}

impl<K: Hash + Eq, V: Clone> Recent<K, V> {
    /// Keeps at most so many.
    pub(crate) fn new(most: usize) -> Self {
        let entries = Entries { map: LruCache::new_unbounded(), weight: 0 };
        Self { entries: Mutex::new(entries), most, life: None }
    }

    /// Keeps each for so long.
    pub(crate) fn for_at_most(self, life: Duration) -> Self {
        Self { life: Some(life), ..self }
    }

    /// The value of a key, which counts as used.
    pub(crate) fn get(&self, key: &K) -> Option<V> {
        let mut entries = self.entries.lock();
        let entry = entries.map.get(key)?;
        if self.life.is_some_and(|life| entry.at.elapsed() >= life) {
            entries.remove(key);
            return None;
        }
        Some(entry.value.clone())
    }

    pub(crate) fn insert(&self, key: K, value: V) {
        self.insert_weighing(key, value, 1);
    }

    /// Inserts a value that takes the room of so many.
    pub(crate) fn insert_weighing(&self, key: K, value: V, weight: usize) {
        let mut entries = self.entries.lock();
        entries.remove(&key);
        entries.weight += weight;
        entries.map.insert(key, Entry { value, weight, at: Instant::now() });
        while entries.weight > self.most
            && let Some((_, oldest)) = entries.map.remove_lru()
        {
            entries.weight -= oldest.weight;
        }
    }

    pub(crate) fn remove(&self, key: &K) {
        self.entries.lock().remove(key);
    }

    pub(crate) fn clear(&self) {
        let mut entries = self.entries.lock();
        entries.map = LruCache::new_unbounded();
        entries.weight = 0;
    }
}

impl<K: Hash + Eq, V> Entries<K, V> {
    fn remove(&mut self, key: &K) {
        if let Some(entry) = self.map.remove(key) {
            self.weight -= entry.weight;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_that_was_not_used_for_longest_leaves_first() {
        let recent = Recent::new(2);
        recent.insert("a", 1);
        recent.insert("b", 2);
        assert_eq!(recent.get(&"a"), Some(1));
        recent.insert("c", 3);
        assert_eq!(
            [recent.get(&"a"), recent.get(&"b"), recent.get(&"c")],
            [Some(1), None, Some(3)]
        );
        recent.insert("a", 4);
        recent.remove(&"c");
        assert_eq!([recent.get(&"a"), recent.get(&"c")], [Some(4), None]);
        recent.clear();
        assert_eq!(recent.get(&"a"), None);
    }

    #[test]
    fn weights_count_as_that_many() {
        let recent = Recent::new(10);
        recent.insert_weighing("a", (), 4);
        recent.insert_weighing("b", (), 4);
        recent.insert_weighing("b", (), 6);
        assert!(recent.get(&"a").is_some() && recent.get(&"b").is_some());
        recent.insert("c", ());
        assert!(recent.get(&"a").is_none() && recent.get(&"b").is_some());
        recent.insert_weighing("d", (), 11);
        assert!(recent.get(&"d").is_none(), "more than fits is not kept");
    }

    #[test]
    fn what_is_too_old_is_gone() {
        let recent = Recent::new(2).for_at_most(Duration::ZERO);
        recent.insert("a", 1);
        assert_eq!(recent.get(&"a"), None);
        let recent = Recent::new(2).for_at_most(Duration::from_secs(3600));
        recent.insert("a", 1);
        assert_eq!(recent.get(&"a"), Some(1));
    }
}
