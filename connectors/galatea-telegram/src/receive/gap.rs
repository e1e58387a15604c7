//! Detects lost updates by their numbers: those that Telegram dropped before they were fetched, and
//! those that cannot be read.

use galatea_core::{Gap, Timestamp};
use std::time::Duration;

/// Time for which Telegram keeps updates (Bot API, "Getting updates").
const KEPT: Duration = Duration::from_secs(24 * 3600);
/// A larger step does not count lost updates: after a week without updates Telegram chooses the
/// next number at random (Bot API, Update.update_id). Telegram keeps 100,000 updates (tdlib,
/// TQueue.cpp), and ten times as many do not get lost in a day.
const LARGEST_STEP: i64 = 1_000_000;

/// Most update numbers that a gap's reason names.
const NAMED: usize = 10;

/// The gap before the first update of an answer. `offset` is the number that was requested, `first`
/// the number that came, `to` the time of that update, and `polled` the time of the last known
/// poll, accurate to an hour. Pure.
pub(super) fn before(
    offset: i64,
    first: i64,
    polled: Option<Timestamp>,
    to: Option<Timestamp>,
    now: Timestamp,
) -> Option<Gap> {
    let away = polled.map_or(Duration::ZERO, |polled| now.since(polled));
    let step = first.saturating_sub(offset);
    if step == 0 {
        return None;
    }
    let gap = |reason: &str, count| Gap { from: polled, to, count, ..Gap::new(now, reason) };
    if (1..=LARGEST_STEP).contains(&step) {
        return Some(gap(
            "Telegram keeps updates for 24 hours and dropped these before they were read",
            u64::try_from(step).ok(),
        ));
    }
    // Telegram restarted the numbers, so they do not show whether updates were lost. After a day
    // they may have been.
    (away > KEPT).then(|| gap("it was away for longer than the 24 hours that Telegram keeps updates; what came before may be lost", None))
}

/// Distance below the offset at which an update counts as repeated: two answers of the largest size
/// (Bot API, getUpdates.limit).
const REPEATED: i64 = 200;
/// Most answers in a row with nothing but repeated updates. One more means that the numbers
/// restarted below the offset; keeping the offset would fetch the same updates forever.
const MOST_REPEATS: u8 = 3;

/// The offset to request after an answer that ends with the update `last`. Repeated updates do not
/// move the offset back, because the step to the next new update would look like a gap. `repeats`
/// counts answers in a row with nothing else. Pure.
pub(super) fn following(offset: Option<i64>, last: i64, repeats: &mut u8) -> i64 {
    let next = last.saturating_add(1);
    let repeated = offset.filter(|offset| (1..=REPEATED).contains(&offset.saturating_sub(next)));
    match repeated {
        Some(offset) if *repeats < MOST_REPEATS => {
            *repeats += 1;
            offset
        }
        _ => {
            *repeats = 0;
            next
        }
    }
}

/// The gap for updates that were skipped because they cannot be read; `None` without such updates.
/// Pure.
pub(super) fn unread(numbers: &[i64], now: Timestamp) -> Option<Gap> {
    let named = |numbers: &[i64]| numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
    let reason = match numbers {
        [] => return None,
        [one] => format!("the update with number {one} could not be read and was skipped"),
        some if some.len() <= NAMED => {
            format!("the updates with numbers {} could not be read and were skipped", named(some))
        }
        many => format!(
            "the updates with numbers {} and {} more could not be read and were skipped",
            named(&many[..NAMED]),
            many.len() - NAMED
        ),
    };
    Some(Gap { count: u64::try_from(numbers.len()).ok(), ..Gap::new(now, reason) })
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
        assert_eq!(
            before(7, 7, before_now(100), None, NOW),
            None,
            "no update was dropped, however long the outage"
        );
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

    #[test]
    fn repeated_updates_leave_the_offset_where_it_is() {
        let mut repeats = 0;
        assert_eq!(following(None, 6, &mut repeats), 7);
        assert_eq!(following(Some(7), 9, &mut repeats), 10);
        assert_eq!(following(Some(10), 4, &mut repeats), 10, "these are repeated");
        assert_eq!(following(Some(10), 12, &mut repeats), 13);
        assert_eq!(repeats, 0, "a new update resets the count");
        assert_eq!(following(Some(900_000_000), 5, &mut repeats), 6, "the numbers restarted");
    }

    #[test]
    fn numbers_that_begin_anew_just_below_the_offset_do_not_stop_the_bot() {
        let mut repeats = 0;
        let asked: Vec<i64> = (0..5).map(|_| following(Some(10), 4, &mut repeats)).collect();
        assert_eq!(asked, [10, 10, 10, 5, 10]);
    }

    #[test]
    fn what_could_not_be_read_is_named_by_its_numbers() {
        assert_eq!(unread(&[], NOW), None);
        let gap = unread(&[1 << 31], NOW).unwrap();
        assert_eq!(
            (gap.count, gap.reason.as_str()),
            (Some(1), "the update with number 2147483648 could not be read and was skipped")
        );
        assert!(unread(&[3, 4], NOW).unwrap().reason.contains("3, 4 could"));
        let many = unread(&(0..100).collect::<Vec<_>>(), NOW).unwrap();
        assert!(
            many.count == Some(100) && many.reason.contains("9 and 90 more"),
            "{}",
            many.reason
        );
    }
}
