//! Open choices: tasks of this room that wait for somebody to pick an option (elizaOS tag `AWAITING_CHOICE`).

use galatea_core::{Result, Task, Turn};

const TAG: &str = "AWAITING_CHOICE";

/// Choices open in this room, oldest first.
pub(crate) async fn open(turn: &Turn<'_>) -> Result<Vec<Task>> {
    let mut tasks = turn.store.tasks(turn.agent.identity.id(), &[TAG.to_owned()]).await?;
    tasks.retain(|task| task.room_id == Some(turn.room.id) && !options(task).is_empty());
    Ok(tasks)
}

/// Names of a task's options: `metadata.options`, texts or objects with a `name`.
pub(crate) fn options(task: &Task) -> Vec<String> {
    let list = task.metadata.get("options").and_then(|o| o.as_array());
    list.into_iter().flatten().filter_map(|o| o.as_str().or_else(|| o.get("name").and_then(|n| n.as_str()))).map(crate::words::name).collect()
}
