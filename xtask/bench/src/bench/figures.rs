//! The measured figures, and how they are computed from lists of times.

use std::time::Duration;

/// Median and 99th percentile of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spread {
    /// Half of the times are at most this long.
    pub(super) p50: Duration,
    /// 99 of 100 times are at most this long.
    pub(super) p99: Duration,
}

impl Spread {
    /// From times in any order. `None` if the list is empty.
    pub(super) fn of(mut times: Vec<Duration>) -> Option<Self> {
        times.sort_unstable();
        Some(Self { p50: percentile(&times, 50)?, p99: percentile(&times, 99)? })
    }
}

/// Nearest-rank percentile: the smallest time that is not exceeded by at least `percent` of a
/// hundred. `sorted` must be ascending.
pub(super) fn percentile(sorted: &[Duration], percent: usize) -> Option<Duration> {
    let rank = (percent * sorted.len()).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied()
}

/// Result of one load.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Load {
    /// Number of answers.
    pub(super) answers: usize,
    /// Answers per second, from the first question to the last answer.
    pub(super) per_second: f64,
    /// Time from a message being handed out to the call that answers it (`sendMessage`, `POST
    /// …/messages`).
    pub(super) wait: Spread,
    /// Processor time of Galatea per answer, in ms.
    pub(super) cpu: f64,
    /// Work that Galatea left for the quiet time afterwards, in ms of processor time per answer.
    pub(super) cpu_afterwards: f64,
    /// Processor time of the loopback servers per answer, in ms. They share the machine.
    pub(super) servers_cpu: f64,
    /// SQL statements per answer; `None` if the program does not report them.
    pub(super) statements: Option<f64>,
    /// Rows written per answer; `None` if the program does not report them.
    pub(super) rows: Option<f64>,
    /// Bytes that the program wrote to storage per answer, in KiB.
    pub(super) written: f64,
    /// Rate of the last third of the time relative to the first third; 1 if the load is too short
    /// to compare.
    pub(super) lasting: f64,
    /// Time from a message being handed out to its confirmation by the next poll, which follows its
    /// commit. `None` on platforms without confirmation.
    pub(super) ack: Option<Spread>,
    /// Answers that were out of order, repeated, or to no question.
    pub(super) misplaced: usize,
}

/// Median times of one kind of start, from the start of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Start {
    /// Until the line that reports readiness.
    pub(super) line: Duration,
    /// Until `/readyz` answers 200, when every connector is connected.
    pub(super) readyz: Duration,
}

/// Resident memory in MiB.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Memory {
    /// An agent without connectors.
    pub(super) one: f64,
    /// [`Memory::MANY`] agents without connectors.
    pub(super) many: f64,
}

impl Memory {
    /// Number of agents in `many`.
    pub(super) const MANY: usize = 50;

    /// Memory of each further agent, in MiB.
    pub(super) fn further(&self) -> f64 {
        (self.many - self.one) / (Self::MANY - 1) as f64
    }
}

/// Results of one agent on one platform with SQLite.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OnSqlite {
    /// A room, one question at a time.
    pub(super) one_room: Load,
    /// A room, with a model that takes [`Figures::THINKING`] for each answer.
    pub(super) thinking: Load,
    /// Median time that this model took, by its own clock.
    pub(super) thought: Duration,
    /// [`Figures::ROOMS`] rooms, each with one question at a time.
    pub(super) rooms: Load,
    /// The same rooms, with questions as fast as they are fetched.
    pub(super) flood: Load,
    /// The same rooms, at half the rate of the flood. The wait counts from when each question was
    /// due.
    pub(super) half: Load,
    /// [`Figures::LARGE`] rooms at once.
    pub(super) large: Load,
    /// Start with the filled database.
    pub(super) filled: Start,
    /// Resident memory in MiB while idle, with the filled database.
    pub(super) idle: f64,
    /// Resident memory in MiB right after all loads.
    pub(super) after_load: f64,
    /// Resident memory in MiB half a minute later.
    pub(super) rested: f64,
}

/// Results of one agent on one platform with PostgreSQL.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OnPostgres {
    /// [`Figures::ROOMS`] rooms, with questions as fast as they are fetched. Rows are those that the
    /// server counts, with what the program does in the quiet time afterwards.
    pub(super) flood: Load,
    /// Write-ahead log per answer of that flood, in KiB.
    pub(super) log: f64,
}

/// Results of one agent on one platform.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OnPlatform {
    pub(super) sqlite: OnSqlite,
    pub(super) postgres: OnPostgres,
    /// Start with a new data folder.
    pub(super) first_start: Start,
    /// Start with an existing data folder, whose database holds no message.
    pub(super) restart: Start,
}

/// Everything a run measures.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Figures {
    pub(super) telegram: OnPlatform,
    pub(super) discord: OnPlatform,
    /// Memory without connectors.
    pub(super) memory: Memory,
    /// Size of the program's file in MiB.
    pub(super) size: f64,
}

impl Figures {
    /// Number of rooms in most loads.
    pub(super) const ROOMS: usize = 100;
    /// Number of rooms in the largest load.
    pub(super) const LARGE: usize = 1_000;
    /// Time that a slow model takes for an answer.
    pub(super) const THINKING: Duration = Duration::from_millis(200);

    /// Every load of the run.
    pub(super) fn loads(&self) -> impl Iterator<Item = &Load> {
        [&self.telegram, &self.discord].into_iter().flat_map(
            |OnPlatform { sqlite, postgres, .. }| {
                let OnSqlite { one_room, thinking, rooms, flood, half, large, .. } = sqlite;
                [one_room, thinking, rooms, flood, half, large, &postgres.flood]
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(times: impl IntoIterator<Item = u64>) -> Vec<Duration> {
        times.into_iter().map(Duration::from_millis).collect()
    }

    #[test]
    fn percentiles_are_times_that_occurred() {
        let spread = Spread::of(millis((1..=200).rev())).unwrap();
        assert_eq!([spread.p50, spread.p99], [100, 198].map(Duration::from_millis));
        let few = millis([3, 9]);
        assert_eq!(
            [0, 50, 51, 100].map(|p| percentile(&few, p).unwrap().as_millis()),
            [3, 3, 9, 9]
        );
        assert_eq!(
            Spread::of(millis([5])).unwrap(),
            Spread { p50: Duration::from_millis(5), p99: Duration::from_millis(5) }
        );
        assert_eq!(Spread::of(Vec::new()), None);
    }

    #[test]
    fn a_further_agent_is_the_slope() {
        let memory = Memory { one: 10.0, many: 14.9 };
        assert!((memory.further() - 0.1).abs() < 1e-9);
    }
}
