//! Open choices: tasks of this room that wait for somebody to pick an option (elizaOS tag
//! `AWAITING_CHOICE`).
//!
//! Whoever opens one also sets `awaitingChoice` in the room's metadata: without that mark an
//! ordinary turn asks the store for nothing.

use galatea_core::{Result, Task, Turn};

const TAG: &str = "AWAITING_CHOICE";
/// Key of a room's metadata that says that a choice is open.
pub(crate) const MARK: &str = "awaitingChoice";
/// Options shown of one choice.
const MOST: usize = 20;

/// Whether a choice may be open in this room; no query.
pub(crate) fn are_open(turn: &Turn<'_>) -> bool {
    turn.room.metadata.get(MARK).is_some_and(|mark| !mark.is_null() && mark != false)
}

/// Choices open in this room, oldest first.
pub(crate) async fn open(turn: &Turn<'_>) -> Result<Vec<Task>> {
    let mut tasks = turn.store.tasks(turn.agent.identity.id(), &[TAG.to_owned()]).await?;
    tasks.retain(|task| task.room_id == Some(turn.room.id) && !options(task).is_empty());
    Ok(tasks)
}

/// Names of a task's options: `metadata.options`, texts or objects with a `name`.
pub(crate) fn options(task: &Task) -> Vec<String> {
    let list = task.metadata.get("options").and_then(|o| o.as_array());
    list.into_iter()
        .flatten()
        .filter_map(|o| o.as_str().or_else(|| o.get("name").and_then(|n| n.as_str())))
        .map(crate::words::name)
        .take(MOST)
        .collect()
}
