//! Work to be done later or again and again.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::time::Duration;

use crate::{
    clock::Timestamp,
    error::Result,
    ids::{AgentId, EntityId, RoomId, TaskId, TurnId, WorldId},
    schedule::{Decided, Missed, Schedule},
};

/// How old a missed run of a repeated task may be that is made up for.
const WITHIN: Duration = Duration::from_secs(3_600);
/// The same of a task that runs once, such as a reminder: a person waits for it.
const WITHIN_ONCE: Duration = Duration::from_secs(7 * 86_400);
/// Failed runs in a row after which a task pauses.
pub const ATTEMPTS: u32 = 3;

/// A row that waits for a person's choice (a pairing code, a confirmation), or that a
/// [`crate::TaskWorker`] runs at its time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Id of the row.
    pub id: TaskId,
    /// The agent that has to do it.
    pub agent_id: AgentId,
    /// Worker that runs it.
    pub name: String,
    /// The work, in words for people.
    pub description: String,
    /// The Room it concerns; none for a task without a place.
    pub room_id: Option<RoomId>,
    /// The World it concerns; none for a task without a place.
    pub world_id: Option<WorldId>,
    /// The person it concerns; none for a task without one.
    pub entity_id: Option<EntityId>,
    /// Labels by which plugins find their tasks.
    pub tags: Vec<String>,
    /// Free keys of the plugin.
    pub metadata: Map<String, Value>,
    /// Earliest time at which it is done.
    pub due: Timestamp,
    /// How it runs; none for a row that only waits for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Box<TaskRun>>,
}

/// How a task runs by itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TaskRun {
    /// When it runs.
    pub schedule: Schedule,
    /// What happens to runs that no process made at their time.
    pub missed: Missed,
    /// How old a missed run may be that is made up for, in milliseconds; none is an hour, and a week for
    /// a task that runs once.
    pub within: Option<u64>,
    /// True if it waits while its World has quiet hours ([`crate::QuietHours`]).
    pub quiet: bool,
    /// Whether it waits for its time.
    pub state: TaskState,
    /// Failed runs in a row.
    pub attempts: u32,
    /// Why the last run failed, for people.
    pub last_error: Option<String>,
    /// The time for which it ran last.
    pub last_run: Option<Timestamp>,
    /// The time for which a failed run is tried again; [`Task::due`] is when.
    pub slot: Option<Timestamp>,
    /// The turn in which a person asked for it: what it says goes when that person is forgotten.
    pub turn: Option<TurnId>,
    /// End of the lease of the process that runs it now. Read from the store, never written.
    #[serde(skip)]
    pub leased_until: Option<Timestamp>,
}

/// Whether a task waits for its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TaskState {
    /// It runs when it is due.
    #[default]
    Waiting,
    /// It failed [`ATTEMPTS`] times in a row, and waits until a person runs it again.
    Paused,
}

impl TaskState {
    /// The spelling in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Paused => "paused",
        }
    }
}

impl TaskRun {
    /// Runs by this rule.
    pub fn by(schedule: Schedule) -> Self {
        Self { schedule, ..Self::default() }
    }

    /// How old a missed run may be that is made up for.
    pub fn within(&self) -> Duration {
        let usual = if self.schedule.repeats() { WITHIN } else { WITHIN_ONCE };
        self.within.map_or(usual, Duration::from_millis)
    }

    /// The run to make of a task that is due since `due`, and when it is due again.
    ///
    /// # Errors
    /// `Invalid` for a rule that cannot be read.
    pub fn decide(&self, due: Timestamp, now: Timestamp) -> Result<Decided> {
        let slot = self.slot.unwrap_or(due);
        self.schedule.decide(self.missed, self.within(), (slot, due), now)
    }
}

impl Task {
    /// A task without a place, a person or tags. `name` is that of its worker, `description` its work in
    /// words for people.
    pub fn new(agent: AgentId, name: &str, description: impl Into<String>, due: Timestamp) -> Self {
        Self {
            id: TaskId::fresh(),
            agent_id: agent,
            name: name.to_owned(),
            description: description.into(),
            room_id: None,
            world_id: None,
            entity_id: None,
            tags: Vec::new(),
            metadata: Map::new(),
            due,
            run: None,
        }
    }

    /// With a rule by which it runs by itself.
    #[must_use]
    pub fn runs(mut self, run: TaskRun) -> Self {
        self.run = Some(Box::new(run));
        self
    }

    /// The task as it waits for its next run; none if it ends.
    #[must_use]
    pub fn after_run(mut self, slot: Timestamp, next: Option<Timestamp>) -> Option<Self> {
        self.due = next?;
        if let Some(run) = self.run.as_deref_mut() {
            run.attempts = 0;
            run.last_error = None;
            run.last_run = Some(slot);
            run.slot = None;
        }
        Some(self)
    }

    /// The task after a failed run: it is tried again after `pause`, or pauses after [`ATTEMPTS`].
    #[must_use]
    pub fn after_failure(
        mut self,
        slot: Timestamp,
        error: String,
        pause: Duration,
        now: Timestamp,
    ) -> Self {
        self.due = now.plus(pause);
        if let Some(run) = self.run.as_deref_mut() {
            run.attempts += 1;
            run.last_error = Some(error);
            run.slot = Some(slot);
            if run.attempts >= ATTEMPTS {
                run.state = TaskState::Paused;
            }
        }
        self
    }

    /// True while it waits for its time.
    pub fn is_waiting(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.state == TaskState::Waiting)
    }
}

/// Selects tasks that run by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskQuery {
    /// Every one of the agent.
    All,
    /// Those that concern a person.
    Person(EntityId),
    /// Those that concern a Room.
    Room(RoomId),
}

impl TaskQuery {
    /// True if it selects a task.
    pub fn selects(self, task: &Task) -> bool {
        match self {
            Self::All => true,
            Self::Person(person) => task.entity_id == Some(person),
            Self::Room(room) => task.room_id == Some(room),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_pauses_after_three_failures_and_keeps_its_time() {
        let run = TaskRun::by(Schedule::cron("0 9 * * *", "UTC").unwrap());
        let mut task = Task::new(AgentId::fresh(), "REPORT", "", Timestamp(1_000)).runs(run);
        for attempt in 1..=ATTEMPTS {
            let (pause, now) = (Duration::from_secs(60), Timestamp(2_000));
            task = task.after_failure(Timestamp(1_000), "no model".to_owned(), pause, now);
            let run = task.run.as_deref().unwrap();
            assert_eq!((run.attempts, run.slot), (attempt, Some(Timestamp(1_000))));
            assert_eq!(run.state == TaskState::Paused, attempt == ATTEMPTS);
            assert_eq!(task.due, Timestamp(62_000));
        }
        assert!(!task.is_waiting());
        let again = task.after_run(Timestamp(1_000), Some(Timestamp(9_000))).unwrap();
        let run = again.run.as_deref().unwrap();
        assert_eq!((run.attempts, run.slot, again.due), (0, None, Timestamp(9_000)));
    }

    #[test]
    fn rows_of_old_have_no_rule() {
        let task = Task::new(AgentId::fresh(), "CONFIRM", "", Timestamp(0));
        let text = serde_json::to_string(&task).unwrap();
        assert!(!text.contains("run"), "{text}");
        assert_eq!(serde_json::from_str::<Task>(&text).unwrap(), task);
    }
}
