//! Quiet: the newest turn of each Room whose evaluators wait until nothing was answered there for
//! some seconds. One task per waiting Room; after a restart the next turn of the Room waits anew.

use galatea_core::RoomId;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{
    engine::Engine,
    evaluate::{Committed, evaluate_quiet},
};

/// Rooms that wait at once, at most: each keeps a turn's context, some 20 KiB. One more is
/// evaluated at once.
const ROOMS: usize = 512;
/// Turns after which a Room that is never quiet is evaluated. Reflection reads the last 96
/// messages, and a turn in a conversation of several people is often of three or four.
const TURNS: u32 = 24;

/// The Rooms that wait.
pub(crate) struct Quiet {
    rooms: Mutex<HashMap<RoomId, Pending>>,
    stop: CancellationToken,
}

struct Pending {
    /// None while the evaluators run and nothing new was answered.
    newest: Option<Box<Committed>>,
    turns: u32,
    changed: Arc<Notify>,
}

/// What became of a turn that was to wait.
enum Offered {
    /// The first of its Room: the caller waits for the Room.
    First(Arc<Notify>),
    /// It replaces an older turn, for which another task waits.
    Replaced,
    /// Too many Rooms wait.
    Full(Box<Committed>),
}

impl Quiet {
    /// No Room waits. After `stop` none waits any more.
    pub(super) fn new(stop: CancellationToken) -> Self {
        Self { rooms: Mutex::default(), stop }
    }

    /// Waits until the Room of the turn is quiet, and runs its evaluators with its newest turn.
    /// Returns at once if another task does so.
    pub(super) async fn wait(&self, engine: &Engine, committed: Box<Committed>) {
        let room = committed.room();
        let changed = match self.offer(room, committed) {
            Offered::First(changed) => changed,
            Offered::Replaced => return,
            Offered::Full(committed) => return evaluate_quiet(engine, &committed).await,
        };
        loop {
            tokio::select! {
                () = self.stop.cancelled() => return self.forget(room),
                () = engine.clock.sleep(engine.limits.evaluation_pause) => {}
                () = changed.notified() => {
                    if self.turns(room) < TURNS {
                        continue;
                    }
                }
            }
            if let Some(newest) = self.take(room)
                && newest.is_here()
            {
                evaluate_quiet(engine, &newest).await;
            }
            if self.is_done(room) {
                return;
            }
        }
    }

    fn offer(&self, room: RoomId, committed: Box<Committed>) -> Offered {
        let mut rooms = self.lock();
        let full = rooms.len() >= ROOMS;
        if let Some(pending) = rooms.get_mut(&room) {
            pending.newest = Some(committed);
            pending.turns += 1;
            pending.changed.notify_one();
            return Offered::Replaced;
        }
        if full {
            return Offered::Full(committed);
        }
        let changed = Arc::new(Notify::new());
        let pending = Pending { newest: Some(committed), turns: 1, changed: Arc::clone(&changed) };
        rooms.insert(room, pending);
        Offered::First(changed)
    }

    fn turns(&self, room: RoomId) -> u32 {
        self.lock().get(&room).map_or(0, |pending| pending.turns)
    }

    fn take(&self, room: RoomId) -> Option<Box<Committed>> {
        let mut rooms = self.lock();
        let pending = rooms.get_mut(&room)?;
        pending.turns = 0;
        pending.newest.take()
    }

    /// Whether nothing was answered since the turn was taken; then the Room waits no more.
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
