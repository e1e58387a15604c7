//! Remembers groups and topics in which Telegram refused a message of the bot: no model is asked for
//! an answer that cannot be said, and `status` names them.

use galatea_core::{Error, ErrorKind, Timestamp};
use parking_lot::{Mutex, MutexGuard};
use std::{collections::BTreeMap, time::Duration};
use tokio::sync::watch;

use crate::decode::place::{ChatTarget, room_id};

/// Most places remembered; the one that is tried again first makes room.
const MAX: usize = 100;
/// Most places that the health report names.
const NAMED: usize = 3;
/// Pause after a refusal. Telegram does not report every change that ends it, so the bot tries again.
const AGAIN: Duration = Duration::from_secs(600);

/// The places, with the error for each.
#[derive(Debug)]
pub(crate) struct Closed {
    places: Mutex<BTreeMap<(i64, Option<i32>), ClosedRoom>>,
    changed: watch::Sender<u64>,
}

#[derive(Debug)]
struct ClosedRoom {
    message: String,
    code: Option<&'static str>,
    fix: Option<String>,
    until: Timestamp,
}

impl Default for Closed {
    fn default() -> Self {
        Self { places: Mutex::default(), changed: watch::Sender::new(0) }
    }
}

impl Closed {
    /// Records that Telegram refused a message. Only in groups: a person who blocked the bot and
    /// writes again has unblocked it.
    pub(crate) fn refused(&self, target: ChatTarget, error: &Error, now: Timestamp) {
        if error.kind() != ErrorKind::Forbidden || target.chat > 0 {
            return;
        }
        let place = ClosedRoom {
            message: error.message().to_owned(),
            code: error.code(),
            fix: error.fix().map(str::to_owned),
            until: now.plus(AGAIN),
        };
        let mut places = self.places();
        let key = (target.chat, target.thread);
        if !places.contains_key(&key)
            && places.len() >= MAX
            && let Some(first) = places.iter().min_by_key(|(_, place)| place.until).map(|(k, _)| *k)
        {
            places.remove(&first);
        }
        let before = places.insert(key, place);
        drop(places);
        if before.is_none() {
            self.changed.send_modify(|n| *n += 1);
        }
    }

    /// Why nothing can be said there, as far as is known.
    pub(crate) fn holds(&self, target: ChatTarget, now: Timestamp) -> Option<Error> {
        let places = self.places();
        let place = places.get(&(target.chat, target.thread)).filter(|place| now < place.until)?;
        let mut error = Error::new(ErrorKind::Forbidden, place.message.clone())
            .with("where", room_id(target.chat, target.thread));
        if let Some(code) = place.code {
            error = error.with_code(code);
        }
        Some(match &place.fix {
            Some(fix) => error.with_fix(fix.clone()),
            None => error,
        })
    }

    /// A message of the bot arrived there, or the topic was opened again.
    pub(crate) fn opened(&self, target: ChatTarget) {
        if self.places().remove(&(target.chat, target.thread)).is_some() {
            self.changed.send_modify(|n| *n += 1);
        }
    }

    /// The bot's rights in a chat changed: all its topics are tried again.
    pub(crate) fn recheck(&self, chat: i64) {
        let mut places = self.places();
        let before = places.len();
        places.retain(|(of, _), _| *of != chat);
        let changed = places.len() != before;
        drop(places);
        if changed {
            self.changed.send_modify(|n| *n += 1);
        }
    }

    /// The places for the health report; `None` if there are none.
    pub(crate) fn summary(&self) -> Option<String> {
        let places = self.places();
        let named = places.iter().take(NAMED).map(|((chat, thread), place)| {
            format!("{} ({})", place.message, room_id(*chat, *thread))
        });
        let mut texts: Vec<String> = named.collect();
        if places.len() > NAMED {
            texts.push(format!("and {} more", places.len() - NAMED));
        }
        (!texts.is_empty()).then(|| texts.join(", "))
    }

    /// Notifies when [`Self::summary`] changes.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    fn places(&self) -> MutexGuard<'_, BTreeMap<(i64, Option<i32>), ClosedRoom>> {
        self.places.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000);

    fn topic(chat: i64, thread: i32) -> ChatTarget {
        ChatTarget { chat, thread: Some(thread) }
    }

    fn refusal() -> Error {
        Error::new(ErrorKind::Forbidden, "this topic is closed").with_fix("reopen it")
    }

    #[test]
    fn a_refusal_holds_in_its_topic_for_ten_minutes_or_until_it_is_opened() {
        let closed = Closed::default();
        closed.refused(topic(-100, 7), &refusal(), NOW);
        let held = closed.holds(topic(-100, 7), NOW).unwrap();
        assert_eq!((held.kind(), held.fix()), (ErrorKind::Forbidden, Some("reopen it")));
        assert!(closed.holds(topic(-100, 8), NOW).is_none(), "another topic");
        assert!(closed.holds(ChatTarget { chat: -100, thread: None }, NOW).is_none(), "General");
        assert!(closed.holds(topic(-100, 7), NOW.plus(AGAIN)).is_none(), "it is tried again");
        assert!(closed.summary().unwrap().contains("-100-7"));
        closed.opened(topic(-100, 7));
        assert_eq!((closed.holds(topic(-100, 7), NOW).is_none(), closed.summary()), (true, None));
        closed.refused(topic(-100, 7), &refusal(), NOW);
        closed.refused(topic(-200, 1), &refusal(), NOW);
        closed.recheck(-100);
        assert!(closed.holds(topic(-100, 7), NOW).is_none());
        assert!(closed.holds(topic(-200, 1), NOW).is_some());
    }

    #[test]
    fn private_chats_and_other_failures_are_not_recorded_and_the_number_is_bounded() {
        let closed = Closed::default();
        closed.refused(ChatTarget { chat: 5, thread: None }, &refusal(), NOW);
        closed.refused(topic(-100, 7), &Error::new(ErrorKind::Unavailable, "x"), NOW);
        assert_eq!(closed.summary(), None);
        for n in 0..200 {
            closed.refused(
                topic(-100, n),
                &refusal(),
                NOW.plus(Duration::from_millis(n.unsigned_abs().into())),
            );
        }
        assert_eq!(closed.places().len(), MAX);
        assert!(closed.summary().unwrap().ends_with("and 97 more"));
        assert!(closed.holds(topic(-100, 199), NOW).is_some(), "the newest");
    }
}
