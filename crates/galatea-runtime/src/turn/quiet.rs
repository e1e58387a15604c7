//! Work on a Room's newest turn that waits until nothing was answered there for some seconds. One
//! task per waiting Room; after a restart the next turn of the Room starts a new wait.

use futures::future::BoxFuture;
use galatea_core::{Clock, Deadline, RoomId, Timestamp};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;

/// Rooms that wait at once, at most: each keeps a turn's context, some 20 KiB. One more is left
/// out, and waits with its next turn: reflection reads back what it has missed.
const ROOMS: usize = 512;
/// Rooms whose work runs at once: what an agent learns must not take the model from its answers.
const AT_ONCE: usize = 4;
/// Turns, and time, after which a Room that is never quiet has its turn. Reflection reads the last
/// 96 messages, and a turn in a conversation of several people is often of three or four. More
/// turns than these in half a minute are not a conversation of people.
const BUSY: (u32, Duration) = (24, Duration::from_secs(30));

/// Work on one turn, not begun.
pub(super) type Work = BoxFuture<'static, ()>;

/// The Rooms that wait.
pub(crate) struct Quiet {
    rooms: Mutex<HashMap<RoomId, Pending>>,
    permits: Semaphore,
    stop: CancellationToken,
}

struct Pending {
    /// None while the work runs and nothing new was answered.
    newest: Option<Work>,
    turns: u32,
    since: Timestamp,
    /// When the Room is quiet, if nothing more is answered.
    quiet: Deadline,
    busy: Arc<Notify>,
}

impl Pending {
    fn is_busy(&self, now: Timestamp) -> bool {
        self.turns >= BUSY.0 && now.since(self.since) >= BUSY.1
    }
}

/// What tells the task of a Room that the Room is too busy to wait any longer. Other turns do not wake
/// it.
pub(super) struct Waiting(Arc<Notify>);

impl Quiet {
    /// No Room waits. After `stop` none waits any more.
    pub(super) fn new(stop: CancellationToken) -> Self {
        Self { rooms: Mutex::default(), permits: Semaphore::new(AT_ONCE), stop }
    }

    /// Waits until the Room is quiet or busy, and does the newest work of it, until nothing
    /// new was answered.
    pub(super) async fn wait(&self, clock: &dyn Clock, room: RoomId, Waiting(busy): Waiting) {
        loop {
            while let Some(left) = self.left(room, clock.now()) {
                tokio::select! {
                    () = self.stop.cancelled() => return self.forget(room),
                    () = clock.sleep(left) => {}
                    () = busy.notified() => {}
                }
            }
            let Some(Ok(_permit)) = self.stop.run_until_cancelled(self.permits.acquire()).await
            else {
                return self.forget(room);
            };
            if let Some(newest) = self.take(room, clock.now()) {
                newest.await;
            }
            if self.is_done(room) {
                return;
            }
        }
    }

    /// Notes the work of a turn; the Room is quiet `pause` later. Returns what [`Quiet::wait`] needs, if
    /// no task waits for the Room yet and not too many Rooms wait.
    pub(super) fn offer(
        &self,
        room: RoomId,
        work: Work,
        now: Timestamp,
        pause: Duration,
    ) -> Option<Waiting> {
        let quiet = Deadline::after(now, pause);
        let mut rooms = self.lock();
        if let Some(pending) = rooms.get_mut(&room) {
            let before = pending.newest.replace(work);
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
        let (busy, newest) = (Arc::new(Notify::new()), Some(work));
        let waiting = Waiting(Arc::clone(&busy));
        rooms.insert(room, Pending { newest, turns: 1, since: now, quiet, busy });
        Some(waiting)
    }

    /// How long the Room has to be quiet yet. None if it was long enough, or if the Room is busy.
    fn left(&self, room: RoomId, now: Timestamp) -> Option<Duration> {
        let rooms = self.lock();
        let pending = rooms.get(&room).filter(|pending| !pending.is_busy(now))?;
        pending.quiet.left(now)
    }

    fn take(&self, room: RoomId, now: Timestamp) -> Option<Work> {
        let mut rooms = self.lock();
        let pending = rooms.get_mut(&room)?;
        (pending.turns, pending.since) = (0, now);
        pending.newest.take()
    }

    /// Whether nothing was answered since the work was taken; then the Room waits no more.
    fn is_done(&self, room: RoomId) -> bool {
        let mut rooms = self.lock();
        let done = rooms.get(&room).is_none_or(|pending| pending.newest.is_none());
        if done {
            rooms.remove(&room);
        }
        done
    }

    fn forget(&self, room: RoomId) {
        self.lock().remove(&room);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RoomId, Pending>> {
        // Every change is whole before anything in it could panic.
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
