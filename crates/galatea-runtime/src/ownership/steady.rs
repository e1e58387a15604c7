//! Time that cannot be set and that passes while the machine sleeps, as the database's does. The
//! clock behind [`std::time::Instant`] stands still then: a machine that wakes would think for a
//! moment that what it had is still its own.

use std::time::Duration;

/// Since some moment before the program began.
#[cfg(target_os = "linux")]
pub(super) fn steady() -> Duration {
    use nix::time::{ClockId, clock_gettime};
    // Without that clock every term is over at once, and nothing is done twice.
    clock_gettime(ClockId::CLOCK_BOOTTIME).map_or(Duration::MAX, Duration::from)
}

/// Since some moment after the program began.
#[cfg(not(target_os = "linux"))]
pub(super) fn steady() -> Duration {
    use std::{sync::OnceLock, time::Instant};
    static BEGUN: OnceLock<Instant> = OnceLock::new();
    BEGUN.get_or_init(Instant::now).elapsed()
}
