//! Rate limits: the server's word rules. A Room told to wait waits, an account told to wait waits.

use galatea_core::{Deadline, Delivery, Error, ErrorKind, Receipt, Result, Retry, RoomId, Timestamp};
use moka::sync::Cache;
use std::time::Duration;

/// Deadlines given by the platform, per Room.
pub(super) struct RateLimit {
    rooms: Cache<RoomId, Deadline>,
}

/// Telegram's flood waits have grown to hours in reports; a day bounds what we keep.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

impl RateLimit {
    pub(super) fn new() -> Self {
        Self { rooms: Cache::builder().max_capacity(16_384).time_to_live(LONGEST).build() }
    }

    /// Refuses a send to a Room whose deadline has not passed.
    pub(super) fn admit(&self, delivery: &Delivery, now: Timestamp) -> Result<()> {
        let Some(rest) = self.rooms.get(&delivery.address.room) else { return Ok(()) };
        if let Some(left) = rest.left(now) {
            return Err(wait(left));
        }
        self.rooms.invalidate(&delivery.address.room);
        Ok(())
    }

    /// Remembers what the platform said.
    pub(super) fn learn(&self, delivery: &Delivery, outcome: &Result<Receipt>, now: Timestamp) {
        if let Err(error) = outcome
            && error.kind() == ErrorKind::RateLimited
            && let Retry::After(delay) = error.retry()
        {
            self.rooms.insert(delivery.address.room, Deadline::after(now, delay.min(LONGEST)));
        }
    }
}

fn wait(delay: Duration) -> Error {
    Error::new(ErrorKind::RateLimited, "the platform asked this room to wait").with_retry(Retry::After(delay))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::worker::tests::delivery;

    #[test]
    fn a_room_waits_as_long_as_the_platform_said_and_others_do_not() {
        let limit = RateLimit::new();
        let (here, there) = (delivery(1), delivery(2));
        let flood = Err(Error::new(ErrorKind::RateLimited, "flood").with_retry(Retry::After(Duration::from_secs(7))));
        limit.learn(&here, &flood, Timestamp(1_000));
        let refused = limit.admit(&here, Timestamp(3_000)).unwrap_err();
        assert_eq!(refused.retry(), Retry::After(Duration::from_secs(5)));
        assert!(limit.admit(&there, Timestamp(3_000)).is_ok());
        assert!(limit.admit(&here, Timestamp(1_000 - 3_600_000)).is_ok(), "a clock that is set back holds nothing up");
        limit.learn(&here, &flood, Timestamp(1_000));
        assert!(limit.admit(&here, Timestamp(8_000)).is_ok());
    }
}
