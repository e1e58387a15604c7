//! Which times messages of the past can have.

use galatea_core::Timestamp;

use crate::text::utc;

/// 1990-01-01. A missing time, and a number in another unit, are older.
const EARLIEST: i64 = 631_152_000_000;
/// A day, by which clocks may differ.
const AHEAD: i64 = 86_400_000;

/// Checks the time of a message that was sent elsewhere.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn check(at: Timestamp, now: Timestamp) -> Result<(), String> {
    let fits = |at: i64| at >= EARLIEST && at <= latest(now);
    if fits(at.0) {
        return Ok(());
    }
    let cause = if fits(at.0.saturating_mul(1000)) {
        "it seems to be in seconds where milliseconds belong"
    } else if fits(at.0 / 1000) {
        "it is a thousand times too large, as if its unit were another one"
    } else if at.0 < EARLIEST {
        "it is before 1990"
    } else {
        "it lies in the future"
    };
    Err(format!("its time is {}: {cause}", utc(at)))
}

/// Checks the time of a memory that an agent stored itself, which may be of any year: it must not stay
/// the newest of its Room.
///
/// # Errors
/// If it lies in the future.
pub(crate) fn check_stored(at: Timestamp, now: Timestamp) -> Result<(), String> {
    if at.0 <= latest(now) {
        return Ok(());
    }
    Err(format!("its time is {}: it lies in the future", utc(at)))
}

fn latest(now: Timestamp) -> i64 {
    now.0.saturating_add(AHEAD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_cannot_be_right_are_described() {
        let now = Timestamp(1_700_000_000_000);
        for at in [EARLIEST, now.0, now.0 + AHEAD] {
            assert_eq!(check(Timestamp(at), now), Ok(()));
        }
        for (at, cause) in [
            (1_690_000_000, "1970-01-20T13:26:40Z: it seems to be in seconds"),
            (1_690_000_000_000_000, "a thousand times too large"),
            (0, "before 1990"),
            (i64::MIN, "before 1990"),
            (now.0 + AHEAD + 1, "in the future"),
            (i64::MAX, "in the future"),
        ] {
            let found = check(Timestamp(at), now).unwrap_err();
            assert!(found.contains(cause), "{at}: {found}");
        }
        assert_eq!(check_stored(Timestamp(0), now), Ok(()));
        assert!(check_stored(Timestamp(i64::MAX), now).is_err());
    }
}
