//! Remembers channels in which the bot was addressed but cannot write. `status` shows them, and no
//! model is called for messages there.

use galatea_core::{Error, ErrorKind, Timestamp};
use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::watch;

/// Most channels remembered; further ones are not recorded.
const MAX: usize = 100;
/// Most channels that the health report names.
const NAMED: usize = 3;
/// Pause after a refusal that the known permissions do not explain; then the bot tries again.
const AGAIN: Duration = Duration::from_secs(600);

/// The channels, with the error for each.
pub(crate) struct Muted {
    rooms: Mutex<BTreeMap<u64, Room>>,
    changed: watch::Sender<u64>,
}

/// The parts of an error from which it can be built again.
struct Room {
    message: String,
    code: Option<&'static str>,
    fix: Option<String>,
    context: Vec<(&'static str, String)>,
    /// Until when a refusal counts without another attempt; `None` if the permissions forbid
    /// writing.
    until: Option<Timestamp>,
}

impl Room {
    fn of(error: &Error, until: Option<Timestamp>) -> Self {
        Self {
            message: error.message().to_owned(),
            code: error.code(),
            fix: error.fix().map(str::to_owned),
            context: error.context().to_vec(),
            until,
        }
    }

    fn error(&self) -> Error {
        let mut error = Error::new(ErrorKind::Forbidden, self.message.clone());
        if let Some(code) = self.code {
            error = error.with_code(code);
        }
        for (key, value) in &self.context {
            error = error.with(key, value);
        }
        match &self.fix {
            Some(fix) => error.with_fix(fix.clone()),
            None => error,
        }
    }
}

impl Default for Muted {
    fn default() -> Self {
        Self { rooms: Mutex::default(), changed: watch::Sender::new(0) }
    }
}

impl Muted {
    /// Records that the bot was addressed in a channel and its permissions forbid writing.
    pub(crate) fn note(&self, channel: u64, error: &Error) {
        self.put(channel, Room::of(error, None));
    }

    /// Records that Discord refused a message in a channel.
    pub(crate) fn refused(&self, channel: u64, error: &Error, now: Timestamp) {
        self.put(channel, Room::of(error, Some(now.plus(AGAIN))));
    }

    /// The error of a refusal in this channel that still counts.
    pub(crate) fn holds(&self, channel: u64, now: Timestamp) -> Option<Error> {
        self.rooms()
            .get(&channel)
            .filter(|room| room.until.is_some_and(|until| now < until))
            .map(Room::error)
    }

    /// Called when permissions changed. Keeps the channels for which `holds` returns true.
    pub(crate) fn recheck(&self, holds: impl Fn(u64) -> bool) {
        let mut rooms = self.rooms();
        let before = rooms.len();
        rooms.retain(|channel, _| holds(*channel));
        if rooms.len() != before {
            self.changed.send_modify(|n| *n += 1);
        }
    }

    /// The channels for the health report; `None` if there are none.
    pub(crate) fn told(&self) -> Option<String> {
        let rooms = self.rooms();
        let named = rooms
            .values()
            .take(NAMED)
            .map(|room| format!("{} ({})", room.message, room.code.unwrap_or("GAL-UNEXPECTED")));
        let more = rooms.len().saturating_sub(NAMED);
        let mut told: Vec<String> = named.collect();
        if more > 0 {
            told.push(format!("and {more} more channels"));
        }
        (!told.is_empty()).then(|| told.join(", "))
    }

    /// Notifies when [`Self::told`] changes.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    fn put(&self, channel: u64, room: Room) {
        let mut rooms = self.rooms();
        let known = rooms.contains_key(&channel);
        if known || rooms.len() < MAX {
            rooms.insert(channel, room);
        }
        if !known {
            self.changed.send_modify(|n| *n += 1);
        }
    }

    fn rooms(&self) -> MutexGuard<'_, BTreeMap<u64, Room>> {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
