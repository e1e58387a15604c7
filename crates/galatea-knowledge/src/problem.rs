//! Why a document or source cannot be read.

use galatea_core::{Error, Retry, Timestamp};
use serde::{Deserialize, Serialize};
use std::{fmt, time::Duration};

/// Why a document or source cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// Its code for `galatea explain`. `None` in records of versions that did not note it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The problem.
    pub message: String,
    /// The remedy.
    pub fix: Option<String>,
    /// For faults that may pass although the file stays as it is: from when it is tried again, in
    /// milliseconds since 1970; 0 for each run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) retry_at: Option<i64>,
}

impl Problem {
    /// Problem of an error at `now`.
    pub(crate) fn of(error: &Error, now: Timestamp) -> Self {
        Self {
            code: error.code().map(str::to_owned),
            message: error.to_string(),
            fix: error.fix().map(str::to_owned),
            retry_at: match error.retry() {
                Retry::Never => None,
                Retry::Soon => Some(0),
                Retry::After(pause) => Some(now.plus(pause).0),
            },
        }
    }

    /// True if it holds at `now` if nothing changed.
    pub(crate) fn holds(&self, now: Timestamp) -> bool {
        self.retry_at.is_none_or(|retry_at| now.0 < retry_at)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Time for which an address that could not be read is left alone, and a document that took too
/// long.
pub(crate) const RETRY: Duration = Duration::from_secs(3600);

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_core::ErrorKind;
    use std::time::Duration;

    #[test]
    fn a_fault_that_may_pass_holds_until_the_next_try() {
        let now = Timestamp(10);
        let holds = |error: &Error| {
            let problem = Problem::of(error, now);
            [10, 1_009, 1_010].map(|at| problem.holds(Timestamp(at)))
        };
        let busy = Error::new(ErrorKind::Unavailable, "busy");
        assert_eq!(holds(&Error::invalid("damaged")), [true; 3]);
        assert_eq!(holds(&busy), [false; 3]);
        let later = busy.with_retry(Retry::After(Duration::from_secs(1)));
        assert_eq!(holds(&later), [true, true, false]);
    }
}
