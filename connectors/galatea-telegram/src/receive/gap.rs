//! Gaps: updates that Telegram dropped before they were asked for. They can be told by their numbers, and not be had back.

use galatea_core::{Gap, Timestamp};
use std::time::Duration;

/// How long Telegram keeps updates (Bot API, "Getting updates").
const KEPT: Duration = Duration::from_secs(24 * 3600);
/// A larger step is no count: after a week without updates the next number is chosen at random (Bot API, Update.update_id).
/// Telegram keeps 100,000 updates (tdlib, TQueue.cpp), and nobody misses ten times as many in a day.
const LARGEST_STEP: i64 = 1_000_000;

/// What is missing before the first update of an answer. `offset` was asked for; `polled` is when Telegram was last known to be asked,
/// within an hour. Pure.
pub(super) fn before(offset: i64, first: i64, polled: Option<Timestamp>, to: Option<Timestamp>, now: Timestamp) -> Option<Gap> {
    let away = polled.map_or(Duration::ZERO, |polled| now.since(polled));
    let step = first.saturating_sub(offset);
    if step == 0 {
        return None;
    }
    let gap = |reason: &str, count| Gap { from: polled, to, count, ..Gap::new(now, reason) };
    if (1..=LARGEST_STEP).contains(&step) {
        return Some(gap("Telegram keeps updates for 24 hours and dropped these before they were read", u64::try_from(step).ok()));
    }
    // Another row of numbers: whether anything lay between cannot be told, and after a day something may.
    (away > KEPT).then(|| gap("it was away for longer than the 24 hours that Telegram keeps updates; what came before may be lost", None))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000_000);

    fn before_now(hours: u64) -> Option<Timestamp> {
        Some(Timestamp(NOW.0 - i64::try_from(hours * 3_600_000).unwrap()))
    }

    #[test]
    fn a_step_in_the_numbers_is_a_gap_with_its_count() {
        assert_eq!(before(7, 7, before_now(100), None, NOW), None, "nothing was dropped, however long it was away");
        let gap = before(7, 10, before_now(30), Some(NOW), NOW).unwrap();
        assert_eq!((gap.count, gap.from, gap.to), (Some(3), before_now(30), Some(NOW)));
    }

    #[test]
    fn numbers_chosen_at_random_are_a_gap_only_after_a_day_away() {
        for first in [5, 900_000_000] {
            assert_eq!(before(7_000_000, first, before_now(2), None, NOW), None);
            assert_eq!(before(7_000_000, first, None, None, NOW), None);
            assert_eq!(before(7_000_000, first, before_now(30), None, NOW).unwrap().count, None);
        }
    }
}
