//! Instances of an agent: each makes one turn at a time. One is added when the oldest waiting turn has
//! waited long, and removed when none has waited for some time. Nothing runs while none is needed.

use parking_lot::{Mutex, MutexGuard};
use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::config::InstanceLimits;

/// Waits without a waiting turn, in multiples of the wait that adds an instance, after which one is
/// removed: adding is worth a wait, removing is not worth adding it again at once.
const QUIET: u32 = 10;

/// The instances of one agent.
pub(crate) struct Instances {
    free: Arc<Semaphore>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Instances there are; none before the first turn under a limit.
    size: u32,
    /// When each waiting turn began to wait.
    waiting: BTreeMap<u64, Instant>,
    next: u64,
    /// When an instance was added last.
    grown: Option<Instant>,
    /// When a turn waited last.
    waited: Option<Instant>,
    /// A task removes instances.
    shrinking: bool,
}

impl Default for Instances {
    fn default() -> Self {
        Self { free: Arc::new(Semaphore::new(0)), state: Mutex::default() }
    }
}

/// An instance at work. It is free again when this is dropped.
pub(crate) struct Busy {
    permit: Option<OwnedSemaphorePermit>,
    of: Arc<Instances>,
    limits: InstanceLimits,
}

impl Drop for Busy {
    fn drop(&mut self) {
        drop(self.permit.take());
        self.of.shrink_later(self.limits);
    }
}

/// A turn that waits. It does not count any more when this is dropped.
struct Waits<'a> {
    number: u64,
    of: &'a Instances,
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        let mut state = self.of.lock();
        state.waiting.remove(&self.number);
        state.waited = Some(Instant::now());
    }
}

impl Instances {
    /// Waits for a free instance, in the order of the calls. Without limits there is always one.
    pub(crate) async fn enter(self: &Arc<Self>, limits: Option<InstanceLimits>) -> Option<Busy> {
        let limits = limits?;
        self.fit(limits);
        let busy = |permit| Some(Busy { permit: Some(permit), of: Arc::clone(self), limits });
        let waits = self.waits();
        let free = Arc::clone(&self.free).acquire_owned();
        tokio::pin!(free);
        loop {
            // Waits by the machine's clock: no decision about a message depends on it.
            match tokio::time::timeout(limits.wait, &mut free).await {
                Ok(permit) => {
                    drop(waits);
                    // The semaphore is never closed.
                    return permit.ok().and_then(busy);
                }
                Err(_) => self.grow(limits),
            }
        }
    }

    /// Instances there are.
    pub(crate) fn size(&self, limits: InstanceLimits) -> usize {
        let size = self.lock().size.max(limits.min);
        usize::try_from(size).unwrap_or(usize::MAX)
    }

    fn waits(&self) -> Waits<'_> {
        let mut state = self.lock();
        let number = state.next;
        state.next += 1;
        state.waiting.insert(number, Instant::now());
        Waits { number, of: self }
    }

    /// Adds instances up to the fewest.
    fn fit(&self, limits: InstanceLimits) {
        let mut state = self.lock();
        while state.size < limits.min {
            state.size += 1;
            self.free.add_permits(1);
        }
    }

    /// Adds an instance if the oldest turn has waited long enough, and the last one had time to help.
    fn grow(&self, limits: InstanceLimits) {
        let mut state = self.lock();
        let long = |at: &Instant, wait: Duration| at.elapsed() >= wait;
        let oldest = state.waiting.values().next();
        if state.size >= limits.max
            || !oldest.is_some_and(|at| long(at, limits.wait))
            || state.grown.is_some_and(|at| !long(&at, limits.wait / 2))
        {
            return;
        }
        state.size += 1;
        state.grown = Some(Instant::now());
        self.free.add_permits(1);
        tracing::info!(
            instances = state.size,
            waiting = state.waiting.len(),
            "an instance was added: the oldest turn has waited long"
        );
    }

    /// Removes free instances one after another while no turn waits, down to the fewest.
    fn shrink_later(self: &Arc<Self>, limits: InstanceLimits) {
        {
            let mut state = self.lock();
            if state.shrinking || state.size <= limits.min {
                return;
            }
            state.shrinking = true;
        }
        let weak = Arc::downgrade(self);
        let quiet = limits.wait * QUIET;
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(quiet).await;
                let Some(instances) = weak.upgrade() else { return };
                if instances.shrink(limits, quiet) {
                    return;
                }
            }
        });
    }

    /// Removes an instance if it is free and no turn has waited for so long. True at the fewest.
    fn shrink(&self, limits: InstanceLimits, quiet: Duration) -> bool {
        let mut state = self.lock();
        let is_quiet =
            state.waiting.is_empty() && state.waited.is_none_or(|at| at.elapsed() >= quiet / 2);
        if is_quiet && state.size > limits.min && self.free.forget_permits(1) == 1 {
            state.size -= 1;
            tracing::info!(instances = state.size, "an instance was removed: no turn waits");
        }
        state.shrinking = state.size > limits.min;
        !state.shrinking
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::poll;
    use std::pin::pin;

    fn limits(min: u32, max: u32) -> Option<InstanceLimits> {
        Some(InstanceLimits { min, max, wait: Duration::from_millis(5) })
    }

    #[tokio::test]
    async fn turns_beyond_the_most_wait_in_their_order() {
        let instances = Arc::new(Instances::default());
        let first = instances.enter(limits(1, 1)).await;
        let (mut second, mut third) =
            (pin!(instances.enter(limits(1, 1))), pin!(instances.enter(limits(1, 1))));
        assert!(poll!(&mut second).is_pending() && poll!(&mut third).is_pending());
        drop(first);
        let second = second.await;
        assert!(poll!(&mut third).is_pending(), "the second has the instance");
        drop(second);
        assert!(third.await.is_some());
        assert!(instances.enter(None).await.is_none(), "no limit, nothing to count");
    }

    #[tokio::test]
    async fn instances_come_while_turns_wait_and_go_when_none_does() {
        let instances = Arc::new(Instances::default());
        let limits = limits(1, 3);
        let mut busy = Vec::new();
        for _ in 0..3 {
            busy.push(instances.enter(limits).await);
        }
        assert_eq!(instances.size(limits.unwrap()), 3);
        drop(busy);
        while instances.size(limits.unwrap()) > 1 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(instances.free.available_permits(), 1);
    }
}
