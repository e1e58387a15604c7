//! Time: clocks and deadlines, time zones, and pauses between attempts.

pub(crate) mod backoff;
pub mod clock;
pub mod zone;
