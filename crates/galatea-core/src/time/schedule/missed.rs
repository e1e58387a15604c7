//! Decides which run of a due task is made, and when the task runs next. A pure function.

use serde::{Deserialize, Serialize};
use std::time::Duration;

use super::Schedule;
use crate::{clock::Timestamp, error::Result};

/// A run that begins this much after its time is on time: the process was busy.
pub const GRACE: Duration = Duration::from_secs(60);

/// What happens to runs whose time has passed while no process ran the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Missed {
    /// They are left out.
    Skip,
    /// The newest of them is made up for, unless it is older than the task allows.
    #[default]
    Once,
    /// Each of them is made up for, one after another.
    All,
}

/// The run to make now, and the one after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decided {
    /// The time for which the task runs now; none if the run is left out.
    pub slot: Option<Timestamp>,
    /// The time at which the task is due again; none if it ends.
    pub next: Option<Timestamp>,
}

impl Schedule {
    /// Decides about a task that is due since `due` and runs for `slot`, which lies before `due` where
    /// a failed run is tried again. `within` is how old a missed run may be that is made up for.
    ///
    /// # Errors
    /// `Invalid` for a rule that cannot be read.
    pub fn decide(
        &self,
        missed: Missed,
        within: Duration,
        (slot, due): (Timestamp, Timestamp),
        now: Timestamp,
    ) -> Result<Decided> {
        let late = now.since(due);
        if !self.repeats() {
            let made = late <= GRACE || missed == Missed::All;
            let made = made || (missed == Missed::Once && late <= within);
            return Ok(Decided { slot: made.then_some(slot), next: None });
        }
        if missed == Missed::All {
            return Ok(Decided { slot: Some(slot), next: self.next(slot)? });
        }
        let next = self.next(now.max(slot))?;
        if late <= GRACE {
            return Ok(Decided { slot: Some(slot), next });
        }
        let newest = match missed {
            Missed::Once => self.latest(now)?.map_or(slot, |latest| latest.max(slot)),
            _ => return Ok(Decided { slot: None, next }),
        };
        let made = now.since(newest) <= within;
        Ok(Decided { slot: made.then_some(newest), next })
    }
}
