//! Merges the pictures of an album, which Telegram delivers as separate updates, into one message.
//! An album at the end of a fetched batch may still grow, so it is not stored yet. The cursor does
//! not pass it either, so a crash loses nothing.

use galatea_core::{Incoming, IncomingEvent, Timestamp};
use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

/// Identifies an album of the account: chat id and `media_group_id`.
pub(super) type Key = (i64, String);

/// An album that did not grow for this long is complete.
const QUIET: Duration = Duration::from_millis(400);
/// Longest wait for an album.
const LONGEST: Duration = Duration::from_secs(1);
/// An album has at most ten items (Bot API, sendMediaGroup).
const FULL: usize = 10;

/// Albums that may still grow.
#[derive(Debug, Default)]
pub(super) struct WaitingAlbum(HashMap<Key, Growth>);

#[derive(Debug, Clone, Copy)]
struct Growth {
    first: Timestamp,
    grown: Timestamp,
    count: usize,
}

impl WaitingAlbum {
    /// Returns how many of the fetched updates may be stored now and, if not all, how long to wait
    /// before fetching again. `fetched` has one entry per update: its album and its chat.
    pub(super) fn ready(
        &mut self,
        fetched: &[(Option<Key>, Option<i64>)],
        now: Timestamp,
    ) -> (usize, Option<Duration>) {
        if self.0.is_empty() && fetched.iter().all(|(key, _)| key.is_none()) {
            return (fetched.len(), None);
        }
        let mut counts: HashMap<&Key, usize> = HashMap::new();
        for key in fetched.iter().filter_map(|(key, _)| key.as_ref()) {
            *counts.entry(key).or_default() += 1;
        }
        self.0.retain(|key, _| counts.contains_key(key));
        let mut closed: HashSet<&Key> = HashSet::new();
        // An album is complete if another update of the same chat follows, because Telegram sends a
        // chat's updates in order.
        for (at, (key, chat)) in fetched.iter().enumerate() {
            for (earlier, _) in &fetched[..at] {
                if let Some(earlier) = earlier
                    && *chat == Some(earlier.0)
                    && key.as_ref() != Some(earlier)
                {
                    closed.insert(earlier);
                }
            }
        }
        let mut wait = None;
        let mut ready = fetched.len();
        for (key, count) in counts {
            let growth =
                self.0.entry(key.clone()).or_insert(Growth { first: now, grown: now, count });
            if growth.count < count {
                (growth.count, growth.grown) = (count, now);
            }
            let quiet = QUIET.saturating_sub(now.since(growth.grown));
            let left = LONGEST.saturating_sub(now.since(growth.first)).min(quiet);
            if closed.contains(key) || count >= FULL || left.is_zero() {
                continue;
            }
            if let Some(start) = fetched.iter().position(|(k, _)| k.as_ref() == Some(key)) {
                ready = ready.min(start);
                wait = Some(wait.map_or(left, |w: Duration| w.min(left)));
            }
        }
        (ready, wait)
    }
}

/// Moves the pictures of each album into its first message, in order.
pub(super) fn merge(decoded: Vec<(Option<Key>, Vec<Incoming>)>) -> Vec<Incoming> {
    let mut out: Vec<Incoming> = Vec::with_capacity(decoded.len());
    let mut heads: HashMap<Key, usize> = HashMap::new();
    for (key, events) in decoded {
        for event in events {
            let head = key.as_ref().and_then(|key| heads.get(key)).copied();
            match head.and_then(|at| out.get_mut(at)) {
                Some(Incoming { event: IncomingEvent::Message(first), .. }) => {
                    let IncomingEvent::Message(more) = event.event else { continue };
                    first.content.attachments.extend(more.content.attachments);
                    if !more.content.text.is_empty() {
                        if !first.content.text.is_empty() {
                            first.content.text.push('\n');
                        }
                        first.content.text.push_str(&more.content.text);
                    }
                    first.addressed.mention |= more.addressed.mention;
                    first.addressed.reply |= more.addressed.reply;
                    first.reply_to = first.reply_to.take().or(more.reply_to);
                    first.command = first.command.take().or(more.command);
                }
                _ => {
                    if let Some(key) = &key {
                        heads.insert(key.clone(), out.len());
                    }
                    out.push(event);
                }
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn album(name: &str) -> (Option<Key>, Option<i64>) {
        (Some((7, name.to_owned())), Some(7))
    }

    #[test]
    fn without_albums_everything_is_ready() {
        assert_eq!(
            WaitingAlbum::default().ready(&[(None, Some(7)), (None, None)], Timestamp(0)),
            (2, None)
        );
    }

    #[test]
    fn an_album_at_the_end_waits_for_quiet() {
        let mut waiting = WaitingAlbum::default();
        let batch = [(None, Some(8)), album("a")];
        assert_eq!(waiting.ready(&batch, Timestamp(0)), (1, Some(QUIET)));
        let grown = [album("a"), album("a")];
        assert_eq!(
            waiting.ready(&grown, Timestamp(300)),
            (0, Some(QUIET)),
            "it grew, so the wait starts again"
        );
        assert_eq!(waiting.ready(&grown, Timestamp(700)), (2, None));
    }

    #[test]
    fn nothing_waits_longer_than_a_second() {
        let mut waiting = WaitingAlbum::default();
        let mut batch = vec![album("a")];
        for step in 0..4 {
            let (ready, wait) = waiting.ready(&batch, Timestamp(step * 300));
            assert_eq!(ready, 0);
            assert!(wait.unwrap() <= QUIET);
            batch.push(album("a"));
        }
        assert_eq!(waiting.ready(&batch, Timestamp(1_000)), (5, None));
    }

    #[test]
    fn a_full_or_overtaken_album_is_complete() {
        assert_eq!(WaitingAlbum::default().ready(&vec![album("a"); 10], Timestamp(0)), (10, None));
        assert_eq!(
            WaitingAlbum::default().ready(&[album("a"), (None, Some(7))], Timestamp(0)),
            (2, None)
        );
        assert_eq!(
            WaitingAlbum::default().ready(&[album("a"), (None, Some(8))], Timestamp(0)).0,
            0,
            "an update of another chat does not complete it"
        );
        assert_eq!(
            WaitingAlbum::default().ready(&[album("a"), album("b")], Timestamp(0)).0,
            1,
            "the first is complete, the second is not"
        );
    }
}
