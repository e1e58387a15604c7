//! Remembers channels in which the bot was addressed but cannot write. `status` shows them, and no
//! model is called for messages there.

use galatea_core::{Error, ErrorKind, Timestamp};
use parking_lot::{Mutex, MutexGuard};
use std::{collections::BTreeMap, time::Duration};
use tokio::sync::watch;

/// Most channels remembered; see [`first_to_go`].
const MAX: usize = 100;
/// Most channels that the health report names.
const NAMED: usize = 3;
/// Pause after a refusal that the known permissions do not explain; then the bot tries again.
const AGAIN: Duration = Duration::from_secs(600);

/// The channels, with the error for each.
pub(crate) struct Muted {
    rooms: Mutex<BTreeMap<u64, MutedRoom>>,
    changed: watch::Sender<u64>,
}

/// The parts of an error from which it can be built again.
struct MutedRoom {
    message: String,
    code: Option<&'static str>,
    fix: Option<String>,
    context: Vec<(&'static str, String)>,
    /// Until when a refusal counts without another attempt; `None` if the permissions forbid
    /// writing.
    until: Option<Timestamp>,
}

impl MutedRoom {
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
    pub(crate) fn note(&self, channel: u64, error: &Error, now: Timestamp) {
        self.put(channel, MutedRoom::of(error, None), now);
    }

    /// Records that Discord refused a message in a channel.
    pub(crate) fn refused(&self, channel: u64, error: &Error, now: Timestamp) {
        self.put(channel, MutedRoom::of(error, Some(now.plus(AGAIN))), now);
    }

    /// The error of a refusal in this channel that still counts.
    pub(crate) fn holds(&self, channel: u64, now: Timestamp) -> Option<Error> {
        self.rooms()
            .get(&channel)
            .filter(|room| room.until.is_some_and(|until| now < until))
            .map(MutedRoom::error)
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
    pub(crate) fn summary(&self) -> Option<String> {
        let rooms = self.rooms();
        let named = rooms
            .values()
            .take(NAMED)
            .map(|room| format!("{} ({})", room.message, room.code.unwrap_or("GAL-UNEXPECTED")));
        let more = rooms.len().saturating_sub(NAMED);
        let mut texts: Vec<String> = named.collect();
        if more > 0 {
            texts.push(format!("and {more} more channels"));
        }
        (!texts.is_empty()).then(|| texts.join(", "))
    }

    /// Notifies when [`Self::summary`] changes.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    fn put(&self, channel: u64, room: MutedRoom, now: Timestamp) {
        let mut rooms = self.rooms();
        if !rooms.contains_key(&channel) && rooms.len() >= MAX {
            let Some(gone) = first_to_go(&rooms, &room, now) else { return };
            rooms.remove(&gone);
        }
        let current = (room.message.clone(), room.code);
        let before = rooms.insert(channel, room);
        if before.is_none_or(|before| (before.message, before.code) != current) {
            self.changed.send_modify(|n| *n += 1);
        }
    }

    fn rooms(&self) -> MutexGuard<'_, BTreeMap<u64, MutedRoom>> {
        self.rooms.lock()
    }
}

/// The channel that makes room for a new one: a refusal that no longer counts, then, for a refusal
/// that counts, a channel whose permissions forbid writing (they are known without this entry, which
/// `status` alone needs), then the refusal that counts for the shortest time.
fn first_to_go(rooms: &BTreeMap<u64, MutedRoom>, new: &MutedRoom, now: Timestamp) -> Option<u64> {
    let rank = |room: &MutedRoom| match room.until {
        Some(until) if until <= now => (0, until),
        None => (1, now),
        Some(until) => (2, until),
    };
    let (channel, room) = rooms.iter().min_by_key(|(_, room)| rank(room))?;
    (new.until.is_some() || rank(room).0 == 0).then_some(*channel)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000);

    fn error(of: u64) -> Error {
        Error::new(ErrorKind::Forbidden, format!("cannot write in {of}"))
    }

    /// Whether a change was reported since the last call.
    fn changed(changes: &mut watch::Receiver<u64>) -> bool {
        let changed = changes.has_changed().unwrap();
        changes.mark_unchanged();
        changed
    }

    #[test]
    fn a_channel_that_is_not_recorded_is_no_change() {
        let muted = Muted::default();
        let mut changes = muted.changes();
        (1..=100).for_each(|channel| muted.note(channel, &error(channel), NOW));
        assert!(changed(&mut changes));
        muted.note(101, &error(101), NOW);
        assert!(!changed(&mut changes), "it is not recorded");
        muted.note(100, &error(100), NOW);
        assert!(!changed(&mut changes), "the same again");
        muted.note(100, &error(7), NOW);
        assert!(changed(&mut changes), "another reason");
        assert!(muted.summary().unwrap().ends_with("and 97 more channels"));
    }

    #[test]
    fn a_refusal_that_counts_is_recorded_and_kept_longest() {
        let muted = Muted::default();
        let (later, after) = (NOW.plus(Duration::from_secs(60)), NOW.plus(AGAIN));
        muted.refused(1, &error(1), NOW);
        muted.refused(2, &error(2), later);
        (3..=100).for_each(|channel| muted.note(channel, &error(channel), NOW));
        let kept = || muted.rooms().keys().copied().collect::<Vec<_>>();
        // The refusal in 1 no longer counts.
        muted.note(101, &error(101), after);
        assert_eq!(kept(), (2..=101).collect::<Vec<_>>());
        for channel in 200..299 {
            muted.refused(channel, &error(channel), after);
            assert!(muted.holds(channel, after).is_some());
        }
        assert_eq!(kept(), std::iter::once(2).chain(200..299).collect::<Vec<_>>());
        muted.note(102, &error(102), after);
        muted.refused(300, &error(300), after);
        assert_eq!(kept(), (200..299).chain([300]).collect::<Vec<_>>(), "2 counts shortest");
    }
}
