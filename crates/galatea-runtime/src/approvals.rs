//! Actions that wait until a person confirms them, for operators who decide in place of the person.

use galatea_core::{
    AgentId, EntityId, Result, RoomId, Store, Task, TaskId, Timestamp, rights::ToolIdentity,
};
use serde_json::Value;

use crate::turn::{Pending, Request, WAITING};

/// Actions of one turn that wait together.
#[derive(Debug, Clone, PartialEq)]
pub struct WaitingActions {
    /// The row they wait in.
    pub id: TaskId,
    /// The agent that is to do them.
    pub agent: AgentId,
    /// The Room in which they were asked for.
    pub room: RoomId,
    /// The person who asked.
    pub person: EntityId,
    /// End of the question.
    pub until: Timestamp,
    /// What is to be done.
    pub actions: Vec<WaitingAction>,
    code: String,
}

/// An action that waits.
#[derive(Debug, Clone, PartialEq)]
pub struct WaitingAction {
    /// The tool.
    pub tool: ToolIdentity,
    /// The parameters, as the model wrote them.
    pub parameters: Value,
}

impl WaitingActions {
    fn read(task: &Task) -> Option<Self> {
        let pending = Pending::read(task)?;
        let action = |request: Request| WaitingAction {
            tool: request.tool,
            parameters: request.call.params,
        };
        Some(Self {
            id: task.id,
            agent: task.agent_id,
            room: task.room_id?,
            person: pending.owner,
            until: pending.until,
            actions: pending.requests.into_iter().map(action).collect(),
            code: pending.code,
        })
    }

    /// The press of a button that says yes or no to it.
    pub(crate) fn press(&self, yes: bool) -> String {
        format!("{}-{}", if yes { "ok" } else { "no" }, self.code)
    }
}

/// Actions of an agent that wait at `now`, the one that ends first before the others.
///
/// # Errors
/// Those of the store.
pub async fn waiting(
    store: &dyn Store,
    agent: AgentId,
    now: Timestamp,
) -> Result<Vec<WaitingActions>> {
    let tasks = store.tasks(agent, &[WAITING.to_owned()]).await?;
    Ok(tasks
        .iter()
        .filter_map(WaitingActions::read)
        .filter(|waiting| waiting.until > now)
        .collect())
}
