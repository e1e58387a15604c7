//! Tasks of elizaOS: those with the tag `queue` run by themselves, with `repeat` again and again, after
//! `updateInterval` milliseconds each; `immediate` has the first run at once.

use galatea_core::{
    AgentId, Schedule, Task, Timestamp,
    store::{TaskRun, TaskState},
};
use std::time::Duration;

use super::dump::Row;

/// Tag of a row that the task worker runs.
const QUEUE: &str = "queue";
const REPEAT: &str = "repeat";
const IMMEDIATE: &str = "immediate";
const INTERVAL: &str = "updateInterval";
const UPDATED: &str = "updatedAt";

/// The task of a row.
///
/// # Errors
/// Which column cannot be read.
pub(super) fn task(agent: AgentId, row: &Row, now: Timestamp) -> Result<Task, String> {
    let name = row.text("name").filter(|name| !name.is_empty());
    let name = name.ok_or("a task has no `name`")?;
    let about = row.text("description").unwrap_or(name);
    let mut task = Task::new(agent, name, about, now);
    task.id = row.needed("id")?;
    task.room_id = row.id("room_id");
    task.world_id = row.id("world_id");
    task.entity_id = row.id("entity_id");
    task.tags = row.list("tags");
    task.metadata = row.object("metadata");
    let has = |tag: &str| task.tags.iter().any(|known| known.eq_ignore_ascii_case(tag));
    if !has(QUEUE) {
        // It waits for a person, such as a choice.
        return Ok(task);
    }
    let number = |key: &str| task.metadata.get(key).and_then(serde_json::Value::as_u64);
    let schedule = match number(INTERVAL).filter(|_| has(REPEAT)) {
        Some(millis) => {
            let period = Duration::from_millis(millis)
                .clamp(galatea_core::schedule::SHORTEST, galatea_core::schedule::LONGEST);
            let last = number(UPDATED).and_then(|at| i64::try_from(at).ok()).map(Timestamp);
            let anchor = last.or_else(|| row.time("created_at")).unwrap_or(now);
            Schedule::every(period, anchor).map_err(|error| error.to_string())?
        }
        None => Schedule::Once,
    };
    if !has(IMMEDIATE) {
        let next = schedule.next(now).map_err(|error| error.to_string())?;
        task.due = next.unwrap_or(now);
    }
    // Nothing begins by itself because a file was read: a person starts it.
    let run = TaskRun {
        state: TaskState::Paused,
        last_error: Some("imported from elizaOS: `galatea task run` starts it".to_owned()),
        ..TaskRun::by(schedule)
    };
    Ok(task.runs(run))
}
