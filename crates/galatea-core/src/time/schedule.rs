//! Rules that say when a task runs. The next run follows from the rule and its time zone, never from
//! the run before.

mod cron;
mod fault;
mod missed;

pub use missed::{Decided, GRACE, Missed};

use serde::{Deserialize, Serialize};
use std::time::Duration;

use self::{cron::Pattern, fault::invalid};
use crate::{clock::Timestamp, error::Result};

/// Shortest period of a repeated task.
pub const SHORTEST: Duration = Duration::from_secs(60);
/// Longest period of a repeated task, and the furthest a task may lie ahead: ten years.
pub const LONGEST: Duration = Duration::from_secs(10 * 366 * 86_400);

/// When a task runs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Schedule {
    /// Once, at the time at which the task is due.
    #[default]
    Once,
    /// At multiples of a period after a moment.
    Every {
        /// The period in milliseconds, at least [`SHORTEST`].
        millis: u64,
        /// The moment from which the multiples are counted.
        anchor: Timestamp,
    },
    /// As a cron rule says, by the clocks of a time zone. A time that clocks skip in spring counts as
    /// the end of the gap; a time that clocks show twice in autumn counts once.
    Cron {
        /// Five fields: minute, hour, day of the month, month, day of the week.
        rule: String,
        /// IANA name of the zone, or an offset ([`Zone::named`]).
        zone: String,
    },
}

impl Schedule {
    /// A cron rule in a zone.
    ///
    /// # Errors
    /// `Invalid` (`GAL-TASK-RULE`) for a malformed rule or an unknown zone.
    pub fn cron(rule: &str, zone: &str) -> Result<Self> {
        let schedule = Self::Cron { rule: rule.trim().to_owned(), zone: zone.trim().to_owned() };
        schedule.check()?;
        Ok(schedule)
    }

    /// A period that begins at a moment.
    ///
    /// # Errors
    /// `Invalid` (`GAL-TASK-RULE`) for a period shorter than [`SHORTEST`] or longer than [`LONGEST`].
    pub fn every(period: Duration, anchor: Timestamp) -> Result<Self> {
        let millis = u64::try_from(period.as_millis()).unwrap_or(u64::MAX);
        let schedule = Self::Every { millis, anchor };
        schedule.check()?;
        Ok(schedule)
    }

    /// Checks the rule.
    ///
    /// # Errors
    /// `Invalid` (`GAL-TASK-RULE`) with what is wrong.
    pub fn check(&self) -> Result<()> {
        match self {
            Self::Once => Ok(()),
            Self::Every { millis, .. } => {
                let period = Duration::from_millis(*millis);
                if (SHORTEST..=LONGEST).contains(&period) {
                    return Ok(());
                }
                Err(invalid("the period of a task is from one minute to ten years")
                    .with("seconds", period.as_secs()))
            }
            Self::Cron { rule, zone } => Pattern::read(rule, zone).map(drop),
        }
    }

    /// True if the task runs more than once.
    pub fn repeats(&self) -> bool {
        *self != Self::Once
    }

    /// The first run later than a moment; none for a task that runs once, and for a rule that ends.
    ///
    /// # Errors
    /// `Invalid` for a rule that cannot be read.
    pub fn next(&self, after: Timestamp) -> Result<Option<Timestamp>> {
        match self {
            Self::Once => Ok(None),
            Self::Every { millis, anchor } => {
                Ok(multiple(*millis, *anchor, after).map(|at| at.max(*anchor)))
            }
            Self::Cron { rule, zone } => Pattern::read(rule, zone)?.next(after),
        }
    }

    /// The last run that is not later than a moment; none before the first one.
    ///
    /// # Errors
    /// `Invalid` for a rule that cannot be read.
    pub fn latest(&self, at: Timestamp) -> Result<Option<Timestamp>> {
        match self {
            Self::Once => Ok(None),
            Self::Every { millis, anchor } => {
                let before = Timestamp(at.0.saturating_sub(period(*millis)));
                Ok(multiple(*millis, *anchor, before).filter(|at| at >= anchor))
            }
            Self::Cron { rule, zone } => Pattern::read(rule, zone)?.latest(at),
        }
    }

    /// The rule in words, for lists.
    pub fn describe(&self) -> String {
        match self {
            Self::Once => "once".to_owned(),
            Self::Every { millis, .. } => format!("every {}", in_words(*millis)),
            Self::Cron { rule, zone } => {
                let about = Pattern::read(rule, zone).map_or_else(|_| rule.clone(), |p| p.words());
                format!("{about} ({zone})")
            }
        }
    }
}

fn period(millis: u64) -> i64 {
    i64::try_from(millis.max(1)).unwrap_or(i64::MAX)
}

/// The first multiple of a period after `anchor` that is later than `after`.
fn multiple(millis: u64, anchor: Timestamp, after: Timestamp) -> Option<Timestamp> {
    let (period, gone) = (i128::from(period(millis)), i128::from(after.0) - i128::from(anchor.0));
    let steps = gone.div_euclid(period) + 1;
    i64::try_from(i128::from(anchor.0) + steps * period).ok().map(Timestamp)
}

/// A period as people say it, such as `2 hours`.
pub fn in_words(millis: u64) -> String {
    let seconds = millis / 1_000;
    for (size, unit) in [(7 * 86_400, "week"), (86_400, "day"), (3_600, "hour"), (60, "minute")] {
        if seconds >= size && seconds.is_multiple_of(size) {
            return counted(seconds / size, unit);
        }
    }
    counted(seconds, "second")
}

fn counted(count: u64, unit: &str) -> String {
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests;
