//! Rows that this process works on, so that a row found in the store is not claimed twice.

use dashmap::DashMap;
use std::{hash::Hash, sync::Arc};

/// Rows in flight, by id. One is there before it can be found in the store, and until its end is
/// stored.
#[derive(Debug)]
pub(crate) struct InFlight<K: Eq + Hash>(Arc<DashMap<K, ()>>);

impl<K: Eq + Hash> Clone for InFlight<K> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K: Eq + Hash> Default for InFlight<K> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<K: Eq + Hash + Copy> InFlight<K> {
    /// Claims a row; none when it is in flight already.
    pub(crate) fn begin(&self, id: K) -> Option<InFlightGuard<K>> {
        self.0.insert(id, ()).is_none().then(|| InFlightGuard { all: self.clone(), id })
    }

    /// True if a row is in flight.
    pub(crate) fn contains(&self, id: &K) -> bool {
        self.0.contains_key(id)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The rows in flight at this moment; later ones are not in it.
    pub(crate) fn snapshot(&self) -> Vec<K> {
        self.0.iter().map(|entry| *entry.key()).collect()
    }
}

/// Keeps a row in flight until dropped, also by a panic.
#[derive(Debug)]
pub(crate) struct InFlightGuard<K: Eq + Hash> {
    all: InFlight<K>,
    id: K,
}

impl<K: Eq + Hash> Drop for InFlightGuard<K> {
    fn drop(&mut self) {
        self.all.0.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_in_flight_once_until_its_guard_is_dropped() {
        let all = InFlight::default();
        let guard = all.begin(7);
        assert!(guard.is_some() && all.begin(7).is_none());
        assert!(all.contains(&7));
        drop(guard);
        assert!(all.snapshot().is_empty());
        assert!(all.begin(7).is_some());
    }
}
