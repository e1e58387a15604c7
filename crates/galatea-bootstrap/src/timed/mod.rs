//! Actions that have something done later, and the workers that do it: reminders, scheduled posts,
//! and topics that the agent comes back to.

mod follow_up;
mod post;
mod remind;
mod timing;
mod zone;

pub(crate) use follow_up::{FollowUp, FollowUpWorker};
pub(crate) use post::{PostWorker, SchedulePost};
pub(crate) use remind::{RemindMe, ReminderWorker};

use galatea_core::{
    Result, Schedule, Task, TaskId, Timestamp, Turn,
    ids::uuid_of,
    store::{TaskQuery, TaskRun},
};

/// Most tasks of one person that wait.
const OF_PERSON: usize = 20;
/// Most tasks of one Room that wait.
const OF_ROOM: usize = 50;
/// Longest text of a task, in graphemes.
const LONGEST: usize = 1_000;

/// Why no further task may be stored for the person or the Room; none if one may.
async fn too_many(turn: &Turn<'_>) -> Result<Option<String>> {
    let agent = turn.agent.identity.id();
    let count = async |query, most: usize| -> Result<bool> {
        let limit = u32::try_from(most).unwrap_or(u32::MAX);
        Ok(turn.store.scheduled(agent, query, limit).await?.len() >= most)
    };
    if count(TaskQuery::Person(turn.message.entity_id), OF_PERSON).await? {
        return Ok(Some(format!(
            "the person has {OF_PERSON} waiting reminders already; /reminders lists them, and some have to be removed first"
        )));
    }
    if count(TaskQuery::Room(turn.room.id), OF_ROOM).await? {
        return Ok(Some(format!("{OF_ROOM} tasks wait in this room already")));
    }
    Ok(None)
}

/// A task of the speaker in this Room. A second one of the same turn with the same words and time is
/// the same task.
fn task(turn: &Turn<'_>, name: &str, text: &str, due: Timestamp, schedule: Schedule) -> Task {
    let (agent, message) = (turn.agent.identity.id(), turn.message);
    let run = TaskRun { turn: Some(turn.id), ..TaskRun::by(schedule) };
    let id = uuid_of(&format!("task:{agent}:{name}:{}:{}:{text}", message.id, due.0));
    let mut task = Task::new(agent, name, text, due).runs(run);
    task.id = TaskId(id);
    task.room_id = Some(turn.room.id);
    task.world_id = Some(turn.room.world_id);
    task.entity_id = Some(message.entity_id);
    task.metadata.insert("message".to_owned(), serde_json::json!(message.id));
    task
}
