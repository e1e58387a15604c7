//! Converts between post ids and times. An id holds the milliseconds since X's epoch above 22 bits
//! of machine and sequence number.

use galatea_core::Timestamp;
use std::time::Duration;

/// X's epoch in Unix milliseconds (X, "Snowflake").
const EPOCH: i64 = 1_288_834_974_657;
const SHIFT: u32 = 22;

/// Time of a post.
pub(crate) fn made_at(id: u64) -> Timestamp {
    // 42 bits of milliseconds always fit.
    Timestamp(EPOCH + i64::try_from(id >> SHIFT).unwrap_or(i64::MAX - EPOCH))
}

/// The smallest id that a post made at `at` can have.
pub(crate) fn first_at(at: Timestamp) -> u64 {
    u64::try_from(at.0.saturating_sub(EPOCH)).unwrap_or(0).checked_shl(SHIFT).unwrap_or(u64::MAX)
}

/// The smallest id of a post made `by` before post `id`.
pub(crate) fn earlier(id: u64, by: Duration) -> u64 {
    let by = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
    first_at(Timestamp(made_at(id).0.saturating_sub(by)))
}

/// Parses a number as X writes ids: digits only, at most 19 (X API, id pattern).
pub(crate) fn number(text: &str) -> Option<u64> {
    (!text.is_empty() && text.len() <= 19 && text.bytes().all(|b| b.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_known_post_has_its_known_time() {
        // X's documentation of snowflakes: post 1541815603606036480 was made on
        // 2022-06-28T16:07:40.105Z.
        assert_eq!(made_at(1_541_815_603_606_036_480), Timestamp(1_656_432_460_105));
        assert_eq!(
            first_at(Timestamp(1_656_432_460_105)) >> SHIFT,
            1_541_815_603_606_036_480 >> SHIFT
        );
        assert_eq!(first_at(Timestamp(0)), 0);
    }

    proptest! {
        #[test]
        fn sixty_seconds_are_sixty_seconds(id in (1_u64 << 50)..(1 << 62)) {
            let before = earlier(id, Duration::from_secs(60));
            prop_assert_eq!(made_at(id).0 - made_at(before).0, 60_000);
            prop_assert!(before < id);
        }

        #[test]
        fn no_number_panics(id: u64, at: i64) {
            let _ = (made_at(id), first_at(Timestamp(at)), earlier(id, Duration::MAX));
        }
    }
}
