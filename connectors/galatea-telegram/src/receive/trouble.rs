//! Decides how long to wait after a poll or its storing failed, and what to report.

use galatea_core::{Backoff, Error, Health, Retry};
use std::time::Duration;

use super::UpdateIntake;
use crate::error::{CONFLICT_WAIT, codes};

/// First pause; it doubles with each failure.
const FIRST: Duration = Duration::from_millis(500);
/// Longest pause while no server answers. Such an attempt costs Telegram nothing, and a short pause
/// notices at once when the network comes back.
const UNREACHABLE: Duration = Duration::from_secs(2);
/// Longest pause after a server error; after [`MANY`] failures in a row, which is about a minute,
/// it is [`LASTING`].
const FAULTY: Duration = Duration::from_secs(3);
const LASTING: Duration = Duration::from_secs(15);
const MANY: u32 = 20;

/// The pause after this many failures in a row, before jitter. Pure.
fn pause(failures: u32, reached: bool) -> Duration {
    let longest = match (reached, failures) {
        (false, _) => UNREACHABLE,
        (true, ..MANY) => FAULTY,
        (true, _) => LASTING,
    };
    Backoff::pause_after(FIRST, longest, failures.saturating_sub(1))
}

/// Varies a pause by up to a quarter, so that many bots do not retry at the same moment.
fn jitter(pause: Duration) -> Duration {
    use rand::RngExt as _;
    pause.mul_f64(rand::rng().random_range(0.75..=1.25))
}

/// Failures in a row. Reports each kind once and makes the pauses grow.
pub(super) struct Troubles<'a> {
    detail: &'a str,
    /// Failures in a row of one sort: with a server that answers, or without.
    failures: u32,
    reached: bool,
    reported: Option<&'static str>,
}

impl<'a> Troubles<'a> {
    /// `detail` is the health detail to report once polling works again.
    pub(super) fn new(detail: &'a str) -> Self {
        Self { detail, failures: 0, reached: false, reported: None }
    }

    /// Counts and reports a failure, and returns how long to wait. `reached` says whether a server
    /// answered.
    pub(super) fn meet(&mut self, intake: &UpdateIntake, error: &Error, reached: bool) -> Duration {
        self.failures = if reached == self.reached { self.failures.saturating_add(1) } else { 1 };
        self.reached = reached;
        let pause = match (error.code(), error.retry()) {
            (Some(codes::CONFLICT), _) => CONFLICT_WAIT,
            (_, Retry::After(wait)) => wait,
            _ => jitter(pause(self.failures, reached)),
        };
        let code = error.code().unwrap_or("GAL-UNEXPECTED");
        if self.reported != Some(code) {
            self.reported = Some(code);
            tracing::debug!(code, error = %error.report(), seconds = pause.as_secs_f32(), "failed to receive updates from Telegram; retrying");
            let reason = format!("{error}; next try in {} s", pause.as_secs().max(1));
            intake
                .gateway
                .report(Health::Retrying { reason, code: error.code().map(str::to_owned) });
        }
        pause
    }

    /// Called after updates were received and stored; reports the recovery.
    pub(super) fn over(&mut self, intake: &UpdateIntake) {
        self.failures = 0;
        if self.reported.take().is_some() {
            tracing::debug!("receiving updates from Telegram again");
            intake.gateway.report(intake.health(self.detail));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_that_comes_back_is_noticed_within_two_seconds() {
        let first_five: Duration = (1..=5).map(|n| pause(n, false)).sum();
        assert!(first_five <= Duration::from_secs(8), "{first_five:?}");
        assert!(
            (1..10_000)
                .all(|n| pause(n, false) <= Duration::from_secs(2) && pause(n, false) >= FIRST)
        );
        assert!((0..1_000).all(|_| {
            (Duration::from_millis(1_500)..=Duration::from_millis(2_500))
                .contains(&jitter(UNREACHABLE))
        }));
    }

    #[test]
    fn a_server_that_is_faulty_for_long_is_left_alone() {
        let first_five: Duration = (1..=5).map(|n| pause(n, true)).sum();
        assert!(first_five <= Duration::from_secs(10), "{first_five:?}");
        assert_eq!(
            (pause(19, true), pause(20, true), pause(u32::MAX, true)),
            (FAULTY, LASTING, LASTING)
        );
    }
}
