//! Decides whether to answer at all. A pure function; every step it takes is recorded, so that
//! `explain` can show it.

mod addressed;
mod blocked;
mod case;
mod log;
mod name;
mod people;
mod rules;

use galatea_core::{Error, Verdict};
use std::ops::ControlFlow;

pub(super) use self::people::is_listed;
use self::{
    addressed::{direct, group},
    log::Log,
};
pub(crate) use self::{case::Case, log::Judged};

/// Decides about one message: the first rule that has an answer ends it.
pub(crate) fn evaluate(case: &Case<'_>) -> Judged {
    let passed =
        rules::IN_ORDER.iter().try_fold(Log(Verdict::default()), |log, rule| rule(case, log));
    match passed {
        ControlFlow::Break(judged) => judged,
        ControlFlow::Continue(log) if case.room_kind.is_direct() => direct(case, log),
        ControlFlow::Continue(log) => group(case, log),
    }
}

/// What was to be answered, where it is known that nothing can be said there: no model is asked for
/// it.
pub(crate) fn barred(judged: Judged, why: impl FnOnce() -> Option<Error>) -> Judged {
    let (Judged::Answer(verdict) | Judged::Ask(verdict)) = &judged else { return judged };
    let Some(error) = why() else { return judged };
    let reason = [Some(error.message()), error.code(), error.fix()]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join("; ");
    Log(verdict.clone()).skip("can-speak", reason, None)
}

#[cfg(test)]
mod tests;
