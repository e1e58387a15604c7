//! Pace: what is nearer to its end goes first while much is under way.
//!
//! Receiving a message takes less time than answering it, and answering less than sending. Without
//! pauses, a flood would be received first, then answered, then sent, and each answer would wait
//! behind all of it. Every pause is short, so a platform or a model that does not work holds
//! nothing up.

use std::time::Duration;

/// Messages, and answers, in flight up to which nothing waits: what two processors answer in an
/// eighth of a second (docs/benchmarks.md).
const IN_FLIGHT: usize = 512;
/// Pause of the intake per received message beyond that. It then takes 2,000 messages per second
/// at most, half of what two processors answer, and more than any platform delivers to one account.
const PER_MESSAGE: Duration = Duration::from_micros(500);
/// Longest pause after one batch: a connector that waits longer could miss a heartbeat.
const LONGEST: Duration = Duration::from_millis(100);
/// Pause of a Room before its next turn. A model takes many times as long.
const PER_TURN: Duration = Duration::from_millis(50);

/// Pause of the intake after a batch of `received` messages, with `unanswered` messages in lanes
/// and turns.
pub(crate) fn after_batch(unanswered: usize, received: usize) -> Duration {
    if unanswered <= IN_FLIGHT {
        return Duration::ZERO;
    }
    let received = u32::try_from(received).unwrap_or(u32::MAX);
    PER_MESSAGE.saturating_mul(received).min(LONGEST)
}

/// Pause of a Room before a turn, with `unsent` answers of the agent under way.
pub(crate) fn before_turn(unsent: usize) -> Duration {
    if unsent <= IN_FLIGHT { Duration::ZERO } else { PER_TURN }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_waits_unless_much_is_under_way_and_never_long() {
        assert_eq!(after_batch(IN_FLIGHT, 100), Duration::ZERO);
        assert_eq!(after_batch(IN_FLIGHT + 1, 0), Duration::ZERO, "nothing was received");
        assert_eq!(after_batch(IN_FLIGHT + 1, 100), Duration::from_millis(50));
        assert_eq!(after_batch(usize::MAX, usize::MAX), LONGEST);
        assert_eq!((before_turn(IN_FLIGHT), before_turn(usize::MAX)), (Duration::ZERO, PER_TURN));
    }
}
