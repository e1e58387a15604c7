//! Waits until nothing was answered in a Room for some seconds, and hands out its newest turn. One
//! task per waiting Room; after a restart the next turn of the Room starts a new wait.

use futures::future::BoxFuture;
use galatea_core::{Clock, Deadline, RoomId, Timestamp};
use parking_lot::{Mutex, MutexGuard};
use std::{collections::HashMap, sync::Arc, time::Duration};
use tokio::sync::{Notify, Semaphore, SemaphorePermit};
use tokio_util::sync::CancellationToken;

/// Rooms that wait at once, at most: each keeps a turn's context, some 20 KiB. One more is left
/// out, and waits with its next turn: reflection reads back what it has missed.
const ROOMS: usize = 512;
/// Rooms that are evaluated at once: what an agent learns must not take the model from its answers.
const AT_ONCE: usize = 4;
/// Rooms that are looked at at once. A look is a few reads of the store, which answers need, too.
const LOOKS: usize = 8;
/// Turns, and time, after which a Room that is never quiet has its turn. Reflection reads the last
/// 96 messages, and a turn in a conversation of several people is often of three or four. More
/// turns than these in half a minute are not a conversation of people.
const BUSY: (u32, Duration) = (24, Duration::from_secs(30));

/// A look whether there is something to learn from a turn, not begun. It gives what is to be done then.
pub(crate) type Look = BoxFuture<'static, Option<BoxFuture<'static, ()>>>;

/// The Rooms that wait, with what is kept of the newest turn of each.
pub(crate) struct Quiet<T> {
    shared: Arc<QuietRooms<T>>,
}

struct QuietRooms<T> {
    rooms: Mutex<HashMap<RoomId, WaitingLook<T>>>,
    looks: Semaphore,
    permits: Semaphore,
    stop: CancellationToken,
}

struct WaitingLook<T> {
    /// Absent while the Room is evaluated and nothing new was answered.
    newest: Option<T>,
    turns: u32,
    since: Timestamp,
    /// Time at which the Room is quiet, if nothing more is answered.
    quiet: Deadline,
    /// Wakes the Room's task when the Room is too busy to wait any longer. Other turns do not wake it.
    busy: Arc<Notify>,
}

impl<T> WaitingLook<T> {
    fn is_busy(&self, now: Timestamp) -> bool {
        self.turns >= BUSY.0 && now.since(self.since) >= BUSY.1
    }

    fn take(&mut self, now: Timestamp) -> Option<T> {
        (self.turns, self.since) = (0, now);
        self.newest.take()
    }
}

impl<T> Quiet<T> {
    /// No Room waits. After `stop` none waits any more.
    pub(crate) fn new(stop: CancellationToken) -> Self {
        let (looks, permits) = (Semaphore::new(LOOKS), Semaphore::new(AT_ONCE));
        Self { shared: Arc::new(QuietRooms { rooms: Mutex::default(), looks, permits, stop }) }
    }

    /// Notes a turn; the Room is quiet `pause` later. Returns the watch over the Room, for a task, if
    /// there is none yet and not too many Rooms wait.
    pub(crate) fn offer(
        &self,
        room: RoomId,
        turn: T,
        clock: &dyn Clock,
        pause: Duration,
    ) -> Option<Watch<T>> {
        let mut rooms = self.shared.lock();
        // Read under the lock: to a task that has read an earlier time, the clock would look set back.
        let now = clock.now();
        let quiet = Deadline::after(now, pause);
        if let Some(pending) = rooms.get_mut(&room) {
            let before = pending.newest.replace(turn);
            pending.turns += 1;
            pending.quiet = quiet;
            if pending.is_busy(now) {
                pending.busy.notify_one();
            }
            // Freeing a turn takes some microseconds, for which other Rooms need not wait.
            drop(rooms);
            drop(before);
            return None;
        }
        if rooms.len() >= ROOMS {
            tracing::debug!(room = %room, "too many rooms wait until they are quiet; this one waits with its next turn");
            return None;
        }
        let (busy, newest) = (Arc::new(Notify::new()), Some(turn));
        let watch = Watch { shared: Arc::clone(&self.shared), room, busy: Arc::clone(&busy) };
        rooms.insert(room, WaitingLook { newest, turns: 1, since: now, quiet, busy });
        Some(watch)
    }
}

impl<T> QuietRooms<T> {
    fn lock(&self) -> MutexGuard<'_, HashMap<RoomId, WaitingLook<T>>> {
        // Every change is whole before anything in it could panic.
        self.rooms.lock()
    }
}

/// The watch over one Room. The Room waits no more when it is dropped, also by a panic.
pub(crate) struct Watch<T> {
    shared: Arc<QuietRooms<T>>,
    room: RoomId,
    busy: Arc<Notify>,
}

impl<T> Watch<T> {
    /// Waits until the Room is quiet or busy, and takes its newest turn. `None` ends the watch: nothing
    /// was answered since the turn before was taken, or the agent stops.
    pub(crate) async fn next(&self, clock: &dyn Clock) -> Option<T> {
        loop {
            if self.shared.stop.is_cancelled() || self.is_done() {
                return None;
            }
            let Some(left) = self.left(clock) else { return self.newest(clock) };
            tokio::select! {
                () = self.shared.stop.cancelled() => {}
                () = clock.sleep(left) => {}
                () = self.busy.notified() => {}
            }
        }
    }

    /// Looks whether there is something to learn, when it has a place among the Rooms that are looked
    /// at. `None` also if the agent stops before.
    pub(crate) async fn look(&self, look: Look) -> Option<BoxFuture<'static, ()>> {
        let _permit = self.acquire(&self.shared.looks).await?;
        look.await
    }

    /// A place among the Rooms that are evaluated. `None` if the agent stops.
    pub(crate) async fn permit(&self) -> Option<SemaphorePermit<'_>> {
        self.acquire(&self.shared.permits).await
    }

    async fn acquire<'s>(&self, places: &'s Semaphore) -> Option<SemaphorePermit<'s>> {
        let permit = self.shared.stop.run_until_cancelled(places.acquire());
        permit.await.and_then(Result::ok)
    }

    /// Takes the turn that was answered since the last one was taken, without waiting.
    pub(crate) fn newest(&self, clock: &dyn Clock) -> Option<T> {
        self.shared.lock().get_mut(&self.room)?.take(clock.now())
    }

    /// Time for which the Room still has to be quiet. None if it was long enough, or if the Room is
    /// busy.
    fn left(&self, clock: &dyn Clock) -> Option<Duration> {
        let rooms = self.shared.lock();
        let now = clock.now();
        let pending = rooms.get(&self.room).filter(|pending| !pending.is_busy(now))?;
        pending.quiet.left(now)
    }

    /// True if nothing was answered since the newest turn was taken; then the Room waits no more.
    fn is_done(&self) -> bool {
        let mut rooms = self.shared.lock();
        let done = rooms.get(&self.room).is_none_or(|pending| pending.newest.is_none());
        if done {
            rooms.remove(&self.room);
        }
        done
    }
}

impl<T> Drop for Watch<T> {
    fn drop(&mut self) {
        let mut rooms = self.shared.lock();
        // Once it is done, the Room may have another watch.
        let own = rooms.get(&self.room).is_some_and(|p| Arc::ptr_eq(&p.busy, &self.busy));
        let left = own.then(|| rooms.remove(&self.room));
        drop(rooms);
        drop(left);
    }
}

#[cfg(test)]
mod tests;
