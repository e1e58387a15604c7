//! Time: clocks and deadlines, time zones, rules of tasks, and pauses between attempts.

pub(crate) mod backoff;
pub mod clock;
pub mod quiet_hours;
pub mod schedule;
pub mod when;
pub mod zone;
