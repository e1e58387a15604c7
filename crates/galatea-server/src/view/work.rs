//! Tasks, and actions that wait for a person.

use galatea_host::ops::{ListedTask, WaitingAction, WaitingActions};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use super::list;

/// A task that runs by itself.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TaskView {
    id: Uuid,
    agent: Uuid,
    agent_name: String,
    /// The worker that runs it, such as `REMINDER`.
    name: String,
    /// The work, for people.
    description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    room: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    person: Option<Uuid>,
    due: i64,
    /// When it runs, in words.
    repeat: String,
    /// `waiting` or `paused`.
    state: String,
    /// Failed runs in a row.
    attempts: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_run: Option<i64>,
}

impl From<ListedTask> for TaskView {
    fn from(listed: ListedTask) -> Self {
        let ListedTask { agent_name, task } = listed;
        let run = task.run.as_deref();
        Self {
            id: task.id.0,
            agent: task.agent_id.0,
            agent_name,
            repeat: run.map(|run| run.schedule.describe()).unwrap_or_default(),
            state: run.map(|run| run.state.as_str()).unwrap_or_default().to_owned(),
            attempts: run.map(|run| run.attempts).unwrap_or_default(),
            last_error: run.and_then(|run| run.last_error.clone()),
            last_run: run.and_then(|run| run.last_run).map(|at| at.0),
            name: task.name,
            description: task.description,
            room: task.room_id.map(|id| id.0),
            person: task.entity_id.map(|id| id.0),
            due: task.due.0,
        }
    }
}

list!(/// Tasks.
    TaskList of TaskView);

/// An action that waits.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WaitingActionView {
    /// The tool, as `owner/name`.
    tool: String,
    /// Its parameters, as the model wrote them.
    #[schema(value_type = Object)]
    parameters: Value,
}

impl From<WaitingAction> for WaitingActionView {
    fn from(action: WaitingAction) -> Self {
        let parameters = match action.parameters {
            map @ Value::Object(_) => map,
            other => serde_json::json!({ "value": other }),
        };
        Self { tool: action.tool.to_string(), parameters }
    }
}

/// Actions that wait for a person, or for an operator in their place.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ApprovalView {
    id: Uuid,
    agent: Uuid,
    room: Uuid,
    /// The person who asked.
    person: Uuid,
    /// End of the question.
    until: i64,
    actions: Vec<WaitingActionView>,
}

impl From<WaitingActions> for ApprovalView {
    fn from(waiting: WaitingActions) -> Self {
        Self {
            id: waiting.id.0,
            agent: waiting.agent.0,
            room: waiting.room.0,
            person: waiting.person.0,
            until: waiting.until.0,
            actions: waiting.actions.into_iter().map(WaitingActionView::from).collect(),
        }
    }
}

list!(/// Actions that wait.
    ApprovalList of ApprovalView);
