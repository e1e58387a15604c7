//! Counts the turns in a row that ended without an answer. An agent whose every answer fails is not
//! healthy, however well its connectors do.

use galatea_core::{Error, ErrorKind, model::WITHHELD_CODE};
use parking_lot::{Mutex, MutexGuard};

/// Failures in a row after which an agent counts as failing. A single bad request, or an outage of
/// seconds, is over by then.
const IN_A_ROW: u32 = 3;
/// Limit for failures that one person's questions may cause, such as those that a filter
/// withholds.
const BY_A_PERSON: u32 = 5;

/// The turns in a row that ended without an answer.
#[derive(Debug, Default)]
pub(crate) struct Failures(Mutex<FailureState>);

#[derive(Debug, Default)]
struct FailureState {
    count: u32,
    /// True if one of the failures does not depend on the person who asked.
    ours: bool,
    reason: String,
}

/// An agent whose turns fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failing {
    /// Failures since the last answer.
    pub count: u32,
    /// The text of the last error.
    pub reason: String,
}

impl Failures {
    /// A turn ended without an answer, because of this error.
    pub(crate) fn failed(&self, error: &Error) {
        let mut state = self.lock();
        state.count = state.count.saturating_add(1);
        state.ours |= !(error.code() == Some(WITHHELD_CODE) || error.kind() == ErrorKind::TooLong);
        state.reason = error.fix().map_or_else(|| error.to_string(), |fix| with_fix(error, fix));
    }

    /// A turn ended with an answer.
    pub(crate) fn answered(&self) {
        *self.lock() = FailureState::default();
    }

    /// The failures, if there are enough of them in a row.
    pub(crate) fn failing(&self) -> Option<Failing> {
        let state = self.lock();
        let enough = if state.ours { IN_A_ROW } else { BY_A_PERSON };
        (state.count >= enough)
            .then(|| Failing { count: state.count, reason: state.reason.clone() })
    }

    fn lock(&self) -> MutexGuard<'_, FailureState> {
        self.0.lock()
    }
}

/// The error's text with its code and fix among the context.
fn with_fix(error: &Error, fix: &str) -> String {
    let mut whole = error.duplicate();
    if let Some(code) = error.code() {
        whole = whole.with("code", code);
    }
    whole.with("fix", fix).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_fails_after_a_few_in_a_row_and_recovers_with_an_answer() {
        let invalid = Error::invalid("no").with_code("GAL-MODEL-400").with_fix("mend it");
        let withheld = Error::unexpected("no").with_code(WITHHELD_CODE);
        for (error, enough) in [(invalid, 3), (withheld, 5)] {
            let failures = Failures::default();
            for n in 1..=6 {
                failures.failed(&error);
                assert_eq!(failures.failing().map(|f| f.count), (n >= enough).then_some(n));
            }
            failures.answered();
            assert_eq!(failures.failing(), None);
        }
        let failures = Failures::default();
        (0..3).for_each(|_| failures.failed(&Error::invalid("no").with_code("A").with_fix("b")));
        assert_eq!(failures.failing().unwrap().reason, "no (code=A, fix=b)");
    }
}
