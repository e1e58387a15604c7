//! Open choices: tasks of this room that wait for a person to pick an option (elizaOS tag
//! `AWAITING_CHOICE`).
//!
//! Code that opens a choice must also set `awaitingChoice` in the room's metadata. Without that
//! mark, a turn makes no query.

use galatea_core::{Result, Task, Turn};

pub(crate) const TAG: &str = "AWAITING_CHOICE";
/// Key in a room's metadata that marks an open choice.
pub(crate) const MARK: &str = "awaitingChoice";
/// Maximum number of options shown per choice.
const MOST: usize = 20;

/// True if a choice may be open in this room. Makes no query.
pub(crate) fn are_open(turn: &Turn<'_>) -> bool {
    turn.room.metadata.get(MARK).is_some_and(|mark| !mark.is_null() && mark != false)
}

/// Open choices of this room, oldest first.
pub(crate) async fn open(turn: &Turn<'_>) -> Result<Vec<Task>> {
    let mut tasks = turn.store.tasks(turn.agent.identity.id(), &[TAG.to_owned()]).await?;
    tasks.retain(|task| task.room_id == Some(turn.room.id) && !options(task).is_empty());
    Ok(tasks)
}

/// Names of a task's options, from `metadata.options`: strings, or objects with a `name`.
pub(crate) fn options(task: &Task) -> Vec<String> {
    let list = task.metadata.get("options").and_then(|o| o.as_array());
    list.into_iter()
        .flatten()
        .filter_map(|o| o.as_str().or_else(|| o.get("name").and_then(|n| n.as_str())))
        .map(crate::words::name)
        .take(MOST)
        .collect()
}
