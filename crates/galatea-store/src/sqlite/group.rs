//! Carries out the changes of a group within one transaction.

use galatea_core::Result;
use tokio::sync::oneshot;

use super::{
    apply::{self, Failed},
    error,
    raw::{Raw, Refusal},
};
use crate::change::Change;

const MARK: &str = "SAVEPOINT change";
const KEEP: &str = "RELEASE change";
const UNDO: &str = "ROLLBACK TO change";

/// A change and who waits for its result.
pub(super) struct Waiting {
    pub(super) change: Change,
    pub(super) reply: oneshot::Sender<Result<Vec<u64>>>,
}

/// The result of each change of a committed group, in the order of the group.
pub(super) type Outcomes = Vec<Result<Vec<u64>, Failed>>;

/// Carries out changes up to the first that is refused. Fails when the transaction cannot go on.
pub(super) fn apply_all(db: &mut Raw<'_>, group: &[Waiting]) -> Result<Outcomes, Refusal> {
    let mut outcomes = Vec::with_capacity(group.len());
    for Waiting { change, .. } in group {
        let outcome = apply(db, change)?;
        let refused = outcome.is_err();
        outcomes.push(outcome);
        if refused {
            break;
        }
    }
    Ok(outcomes)
}

/// Carries out all changes but those that are refused. Fails when the transaction cannot go on.
pub(super) fn apply_each(db: &mut Raw<'_>, group: &[Waiting]) -> Result<Outcomes, Refusal> {
    let mut outcomes = Vec::with_capacity(group.len());
    for Waiting { change, .. } in group {
        db.execute(MARK, &[])?;
        let outcome = apply(db, change)?;
        if outcome.is_err() {
            db.execute(UNDO, &[])?;
        }
        db.execute(KEEP, &[])?;
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

/// Carries out a change. Fails when the transaction cannot go on, since the disk or the file
/// refuses.
fn apply(db: &mut Raw<'_>, change: &Change) -> Result<Result<Vec<u64>, Failed>, Refusal> {
    match apply::change(db, change) {
        Err(Failed::Refused(refusal)) if error::is_environment(&refusal) || db.is_autocommit() => {
            Err(refusal)
        }
        outcome => Ok(outcome),
    }
}
