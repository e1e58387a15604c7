//! Ordered queues, one per key. Items of one lane are handled one after another, lanes run side by
//! side.
//!
//! Used twice: turns of a Room, and sends to a Room. A lane has a task only while it has items.

use parking_lot::{Mutex, MutexGuard};
use std::{
    collections::{HashMap, VecDeque},
    future::Future,
    hash::Hash,
    ops::ControlFlow,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};
use tokio::sync::Notify;
use tokio_util::task::TaskTracker;

type Work<K, T> = Arc<dyn Fn(Lane<K, T>) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// A set of lanes with one way of working.
pub(crate) struct Lanes<K: Eq + Hash, T> {
    shared: Arc<SharedLanes<K, T>>,
    work: Work<K, T>,
    tasks: TaskTracker,
}

struct SharedLanes<K, T> {
    queues: Mutex<HashMap<K, Queue<T>>>,
    capacity: usize,
}

struct Queue<T> {
    /// Boxed: a queue keeps the room of four items as long as its lane lives, and there are as many
    /// lanes as busy Rooms.
    items: VecDeque<Box<T>>,
    arrival: Arc<Notify>,
    spilled: bool,
    /// Spilled since the store was last read: that read may have missed it.
    spilled_again: bool,
}

/// Result of pushing an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pushed {
    /// It waits in memory.
    Queued,
    /// The lane is full: the item has to be read back from the store once the lane has drained.
    Spilled,
}

impl<K: Eq + Hash + Clone + Send + 'static, T: Send + 'static> Lanes<K, T> {
    /// `work` is started for a lane that has items, and has to take them until [`Lane::take`] gives
    /// none. At most `capacity` items wait in memory per lane.
    pub(crate) fn new<F>(
        capacity: usize,
        tasks: TaskTracker,
        work: impl Fn(Lane<K, T>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let shared = Arc::new(SharedLanes { queues: Mutex::new(HashMap::new()), capacity });
        Self { shared, work: Arc::new(move |lane| Box::pin(work(lane))), tasks }
    }

    /// Adds an item at the end of its lane.
    pub(crate) fn push(&self, key: K, item: T) -> Pushed {
        let mut queues = self.shared.lock();
        if let Some(queue) = queues.get_mut(&key) {
            // Once spilled, later items stay behind those in the store, or they would overtake
            // them.
            if queue.spilled || queue.items.len() >= self.shared.capacity {
                queue.spilled = true;
                queue.spilled_again = true;
                return Pushed::Spilled;
            }
            queue.items.push_back(Box::new(item));
            queue.arrival.notify_one();
            return Pushed::Queued;
        }
        let arrival = Arc::new(Notify::new());
        queues.insert(
            key.clone(),
            Queue {
                items: VecDeque::from([Box::new(item)]),
                arrival: Arc::clone(&arrival),
                spilled: false,
                spilled_again: false,
            },
        );
        drop(queues);
        self.tasks.spawn((self.work)(Lane {
            key,
            shared: Arc::clone(&self.shared),
            arrival,
            closed: AtomicBool::new(false),
        }));
        Pushed::Queued
    }

    /// True when nothing waits and nothing runs in this lane.
    pub(crate) fn is_idle(&self, key: &K) -> bool {
        !self.shared.lock().contains_key(key)
    }

    /// Lanes that read back from the store by themselves what they could not hold.
    pub(crate) fn spilled(&self) -> Vec<K> {
        self.shared
            .lock()
            .iter()
            .filter(|(_, queue)| queue.spilled)
            .map(|(key, _)| key.clone())
            .collect()
    }

    /// Number of lanes with work.
    pub(crate) fn active(&self) -> usize {
        self.shared.lock().len()
    }
}

impl<K, T> SharedLanes<K, T> {
    fn lock(&self) -> MutexGuard<'_, HashMap<K, Queue<T>>> {
        // A panic while holding the lock cannot leave the map half changed: every change is one
        // call.
        self.queues.lock()
    }
}

/// A lane, as its task sees it. Dropping it (also by a panic) frees the lane; items left are
/// dropped with it and remain in the store.
pub(crate) struct Lane<K: Eq + Hash, T> {
    key: K,
    shared: Arc<SharedLanes<K, T>>,
    arrival: Arc<Notify>,
    // Once closed, the same key may already belong to a new lane, which a late drop must not
    // remove.
    closed: AtomicBool,
}

/// Next work of a lane's task.
pub(crate) enum Taken<T> {
    Item(T),
    /// Memory is empty but items spilled: read them back from the store, then take again.
    ReadBack,
    /// No work is left: the lane is closed, return now.
    Closed,
}

impl<K: Eq + Hash, T> Lane<K, T> {
    pub(crate) fn key(&self) -> &K {
        &self.key
    }

    /// The next item. `Closed` removes the lane in the same step, so that no push is lost.
    pub(crate) fn take(&self) -> Taken<T> {
        let mut queues = self.shared.lock();
        let Some(queue) = queues.get_mut(&self.key) else { return Taken::Closed };
        if let Some(item) = queue.items.pop_front() {
            return Taken::Item(*item);
        }
        if queue.spilled {
            queue.spilled_again = false;
            return Taken::ReadBack;
        }
        queues.remove(&self.key);
        self.closed.store(true, Ordering::Relaxed);
        Taken::Closed
    }

    /// Adds items read back from the store. `complete` says that the read found everything; what
    /// spilled after [`Taken::ReadBack`] was given may have come too late for it and is read next
    /// time.
    pub(crate) fn put_back(&self, items: Vec<T>, complete: bool) {
        let mut queues = self.shared.lock();
        if let Some(queue) = queues.get_mut(&self.key) {
            queue.items.extend(items.into_iter().map(Box::new));
            queue.spilled = !complete || queue.spilled_again;
        }
    }

    /// Adds an item at the end, however full the lane is.
    pub(crate) fn put_last(&self, item: T) {
        if let Some(queue) = self.shared.lock().get_mut(&self.key) {
            queue.items.push_back(Box::new(item));
        }
    }

    /// Takes out all that waits; it is read back from the store, and what is pushed meanwhile stays
    /// there behind it.
    pub(crate) fn spill(&self) -> Vec<T> {
        let mut queues = self.shared.lock();
        let Some(queue) = queues.get_mut(&self.key) else { return Vec::new() };
        queue.spilled = true;
        std::mem::take(&mut queue.items).into_iter().map(|item| *item).collect()
    }

    /// Gives items back that were taken, in their order, before all that wait.
    pub(crate) fn put_front(&self, items: Vec<T>) {
        let mut queues = self.shared.lock();
        if let Some(queue) = queues.get_mut(&self.key) {
            for item in items.into_iter().rev() {
                queue.items.push_front(Box::new(item));
            }
        }
    }

    /// Looks at waiting items from the front until `seen` breaks with an answer; false when it
    /// never does.
    pub(crate) fn scan(&self, mut seen: impl FnMut(&T) -> ControlFlow<bool>) -> bool {
        let queues = self.shared.lock();
        let found = queues
            .get(&self.key)
            .and_then(|queue| queue.items.iter().find_map(|item| seen(item).break_value()));
        found.unwrap_or(false)
    }

    /// Takes waiting items from the front while `wanted` says so, at most `limit`.
    pub(crate) fn take_while(&self, limit: usize, mut wanted: impl FnMut(&T) -> bool) -> Vec<T> {
        let mut queues = self.shared.lock();
        let mut taken = Vec::new();
        if let Some(queue) = queues.get_mut(&self.key) {
            while taken.len() < limit
                && let Some(item) = queue.items.pop_front_if(|item| wanted(item))
            {
                taken.push(*item);
            }
        }
        taken
    }

    /// True when nothing waits in memory, and more is to be read back from the store.
    pub(crate) fn has_spilled(&self) -> bool {
        self.shared
            .lock()
            .get(&self.key)
            .is_some_and(|queue| queue.spilled && queue.items.is_empty())
    }

    /// Number of items that wait in memory.
    pub(crate) fn len(&self) -> usize {
        self.shared.lock().get(&self.key).map_or(0, |queue| queue.items.len())
    }

    /// Completes when an item was pushed after this was called, or one is waiting unnoticed.
    pub(crate) async fn arrived(&self) {
        self.arrival.notified().await;
    }
}

impl<K: Eq + Hash, T> Drop for Lane<K, T> {
    fn drop(&mut self) {
        if !self.closed.load(Ordering::Relaxed) {
            self.shared.lock().remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests;
