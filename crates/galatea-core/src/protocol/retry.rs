//! Decides what follows a failed attempt. Pure.

use std::time::Duration;

use crate::{
    Backoff,
    clock::Timestamp,
    error::{Error, ErrorKind, Retry, Sent},
};

/// Attempts before a delivery is given up; floods do not count.
pub const ATTEMPTS: u32 = 8;
const BASE: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(300);
/// Before a send that was not answered in time is looked for: the platform may still be at it, and
/// a look that comes first would say that it is not there. The longest settle time of the design
/// (reliability, read-back).
const AFTER_TIMEOUT: Duration = Duration::from_secs(10);

/// Next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Try again after this long; `look` first when the outcome is unknown.
    Again { delay: Duration, look: bool, counts: bool },
    /// Give up; the row becomes `dead`.
    Dead,
    /// Too old by then.
    Expired,
}

/// Decides. `jitter` is a random number in 0..1 (full jitter).
pub(super) fn decide(
    error: &Error,
    attempt: u32,
    now: Timestamp,
    expires: Option<Timestamp>,
    jitter: f64,
) -> Next {
    // Neither a platform's wish to wait nor what this machine lacks is a failure of the message.
    let flood = matches!(error.kind(), ErrorKind::RateLimited | ErrorKind::Exhausted);
    if error.sent() == Sent::Maybe {
        // However often and however late: whether it arrived has to be looked at before it is given
        // up.
        let delay =
            if let Retry::After(delay) = error.retry() { delay } else { backoff(attempt, jitter) };
        let delay =
            if error.kind() == ErrorKind::Timeout { delay.max(AFTER_TIMEOUT) } else { delay };
        let delay =
            if expires.is_some_and(|end| now.plus(delay) > end) { Duration::ZERO } else { delay };
        return Next::Again { delay, look: true, counts: !flood };
    }
    let delay = match error.retry() {
        Retry::Never => return Next::Dead,
        Retry::After(delay) => delay,
        Retry::Soon => backoff(attempt, jitter),
    };
    if !flood && attempt >= ATTEMPTS {
        return Next::Dead;
    }
    if expires.is_some_and(|end| now.plus(delay) > end) {
        return Next::Expired;
    }
    Next::Again { delay, look: false, counts: !flood }
}

/// Wait of a send that one of our own layers held back; none when it may not go out at all
/// or would be too late.
pub(super) fn held(error: &Error, now: Timestamp, expires: Option<Timestamp>) -> Next {
    let delay = match error.retry() {
        Retry::Never => return Next::Dead,
        Retry::After(delay) => delay,
        Retry::Soon => BASE,
    };
    if expires.is_some_and(|end| now.plus(delay) > end) {
        Next::Expired
    } else {
        Next::Again { delay, look: false, counts: false }
    }
}

fn backoff(attempt: u32, jitter: f64) -> Duration {
    Backoff::pause_after(BASE, LONGEST, attempt).mul_f64(jitter.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(0);

    #[test]
    fn rate_limits_are_obeyed_and_do_not_count() {
        let error = Error::new(ErrorKind::RateLimited, "x")
            .with_retry(Retry::After(Duration::from_secs(40)));
        let next = decide(&error, 99, NOW, None, 0.5);
        assert_eq!(
            next,
            Next::Again { delay: Duration::from_secs(40), look: false, counts: false }
        );
    }

    #[test]
    fn what_this_machine_lacks_is_waited_for_and_does_not_count() {
        let error = Error::new(ErrorKind::Exhausted, "no open files left");
        assert_eq!(
            decide(&error, 99, NOW, None, 0.0),
            Next::Again { delay: Duration::ZERO, look: false, counts: false }
        );
    }

    #[test]
    fn permanent_failures_die_at_once_and_attempts_end() {
        assert_eq!(decide(&Error::invalid("x"), 1, NOW, None, 0.5), Next::Dead);
        assert_eq!(
            decide(&Error::new(ErrorKind::Unavailable, "x"), ATTEMPTS, NOW, None, 0.5),
            Next::Dead
        );
    }

    #[test]
    fn backoff_grows_under_full_jitter_and_is_capped() {
        let error = Error::new(ErrorKind::Unavailable, "x");
        assert_eq!(
            decide(&error, 1, NOW, None, 1.0),
            Next::Again { delay: Duration::from_secs(1), look: false, counts: true }
        );
        assert_eq!(
            decide(&error, 1, NOW, None, 0.0),
            Next::Again { delay: Duration::ZERO, look: false, counts: true }
        );
        assert!(backoff(30, 1.0) <= LONGEST);
    }

    #[test]
    fn what_would_be_too_old_expires_unless_it_may_have_arrived() {
        let flood = Error::new(ErrorKind::RateLimited, "x")
            .with_retry(Retry::After(Duration::from_secs(40)));
        assert_eq!(decide(&flood, 1, NOW, Some(Timestamp(39_000)), 0.5), Next::Expired);
        let lost =
            Error::new(ErrorKind::Timeout, "x").with_retry(Retry::After(Duration::from_secs(40)));
        assert_eq!(
            decide(&lost, ATTEMPTS, NOW, None, 0.5),
            Next::Again { delay: Duration::from_secs(40), look: true, counts: true }
        );
        assert_eq!(
            decide(&lost, 1, NOW, Some(Timestamp(39_000)), 0.5),
            Next::Again { delay: Duration::ZERO, look: true, counts: true }
        );
        let slow = Error::new(ErrorKind::Timeout, "x");
        assert_eq!(
            decide(&slow, 1, NOW, None, 0.0),
            Next::Again { delay: AFTER_TIMEOUT, look: true, counts: true }
        );
        let cut = Error::new(ErrorKind::Unavailable, "x").with_sent(Sent::Maybe);
        assert_eq!(
            decide(&cut, 1, NOW, None, 0.0),
            Next::Again { delay: Duration::ZERO, look: true, counts: true }
        );
    }

    #[test]
    fn what_our_own_layers_hold_back_is_no_attempt() {
        let paused = Error::new(ErrorKind::Unavailable, "x")
            .with_retry(Retry::After(Duration::from_secs(5)));
        assert_eq!(
            held(&paused, NOW, None),
            Next::Again { delay: Duration::from_secs(5), look: false, counts: false }
        );
        assert_eq!(held(&paused, NOW, Some(Timestamp(4_000))), Next::Expired);
        assert_eq!(held(&Error::new(ErrorKind::Unauthorized, "x"), NOW, None), Next::Dead);
    }
}
