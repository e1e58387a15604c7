//! Times of messages: sentences about the pauses of a talk. Pure.

use galatea_core::{Timestamp, Zone, zone::Local};
use std::time::Duration;

use super::quoted::shortened;

/// A pause that is told.
const PAUSE: Duration = Duration::from_secs(3_600);
const DAY: u64 = 24 * 3_600;
/// Times a talk went on that are told, the newest.
const MOST: usize = 3;
/// Graphemes shown of a message that is meant.
pub(super) const BEGINNING: usize = 40;

/// Tells times as a person would, from now.
pub(super) struct Times<'a> {
    zone: &'a Zone,
    now: Local,
}

impl<'a> Times<'a> {
    pub(super) fn new(zone: &'a Zone, now: Timestamp) -> Self {
        Self { zone, now: zone.local(now) }
    }

    /// Times of the shown messages, if there was a pause between them or it was not today;
    /// `asked` is the time of the first one that waits for an answer.
    pub(super) fn told<'t>(
        &self,
        talk: impl Iterator<Item = (Timestamp, &'t str)>,
        asked: Option<Timestamp>,
    ) -> Option<String> {
        let mut last: Option<Timestamp> = None;
        let mut begun: Vec<(Timestamp, &str)> = Vec::new();
        for (at, words) in talk {
            if last.is_none_or(|last| at.since(last) >= PAUSE) {
                begun.push((at, words));
            }
            last = Some(at);
        }
        let pause = last.zip(asked).map(|(last, asked)| asked.since(last));
        let pause = pause.filter(|pause| *pause >= PAUSE);
        let (first, _) = begun.first()?;
        if begun.len() == 1 && pause.is_none() && self.zone.local(*first).days() == self.now.days()
        {
            return None;
        }
        let mut told = vec![format!("The messages shown begin {}.", self.moment(*first))];
        let later = begun.get(1..).unwrap_or_default();
        for (at, words) in &later[later.len().saturating_sub(MOST)..] {
            let words = shortened(words, BEGINNING);
            told.push(format!("From “{words}” on they are from {}.", self.of_moment(*at)));
        }
        told.extend(pause.map(|pause| format!("The newest came {} later.", length(pause))));
        Some(told.join(" "))
    }

    /// `today at 19:05`, `on Sat 28 Nov at 18:00`.
    fn moment(&self, at: Timestamp) -> String {
        let local = self.zone.local(at);
        let day = self.day(local);
        let on = if day.starts_with(|c: char| c.is_uppercase()) { "on " } else { "" };
        format!("{on}{day} at {}", local.clock())
    }

    fn of_moment(&self, at: Timestamp) -> String {
        let local = self.zone.local(at);
        format!("{}, {}", self.day(local), local.clock())
    }

    fn day(&self, local: Local) -> String {
        match self.now.days() - local.days() {
            0 => "today".to_owned(),
            1 => "yesterday".to_owned(),
            _ => {
                let date = local.date();
                match date.rsplit_once(' ') {
                    Some((day, _)) if local.year() == self.now.year() => day.to_owned(),
                    _ => date,
                }
            }
        }
    }
}

/// `3 hours`, `2 days`.
fn length(pause: Duration) -> String {
    let seconds = pause.as_secs();
    let (count, unit) =
        if seconds >= DAY { (seconds / DAY, "day") } else { (seconds / 3_600, "hour") };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_told_in_sentences_and_a_talk_without_any_needs_none() {
        let zone = Zone::named("+02:00").unwrap();
        let now = 1_795_428_000_000; // Mon 23 Nov 2026, 12:00 there
        let minute = 60_000;
        let times = Times::new(&zone, Timestamp(now));
        let told = |talk: &[(i64, &'static str)], asked: i64| {
            let talk: Vec<_> =
                talk.iter().map(|(ago, words)| (Timestamp(now - ago * minute), *words)).collect();
            times.told(talk.into_iter(), Some(Timestamp(now - asked * minute)))
        };
        assert_eq!(told(&[], 0), None);
        assert_eq!(told(&[(30, "hi"), (20, "hello")], 0), None);
        assert_eq!(
            told(&[(90, "hi"), (89, "hello")], 0).as_deref(),
            Some("The messages shown begin today at 10:30. The newest came 1 hour later.")
        );
        let long =
            told(&[(400 * 1_440, "a"), (2 * 1_440, "b"), (1_440, "is it “open”?"), (5, "d")], 0);
        assert_eq!(
            long.as_deref(),
            Some(
                "The messages shown begin on Sun 19 Oct 2025 at 12:00. From “b” on they are from Sat 21 Nov, 12:00. \
                 From “is it 'open'?” on they are from yesterday, 12:00. From “d” on they are from today, 11:55."
            )
        );
        let backwards = told(&[(5, "a"), (10, "a clock that was set back")], 7);
        assert_eq!(backwards, None);
    }
}
