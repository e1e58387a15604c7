//! Tasks that run by themselves.

use galatea_core::{
    AgentId, Error, Result, Task, TaskId,
    store::{OperatorRole, TaskQuery, TaskState},
};
use serde_json::{Value, json};

use super::{Operator, Ops};

/// Most tasks of an agent in a list.
const MANY: u32 = 1_000;

/// A task with the name of its agent.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedTask {
    /// Name of the agent.
    pub agent_name: String,
    /// The task.
    pub task: Task,
}

impl Ops {
    /// Tasks that run by themselves, the one due first before the others.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn tasks(&self, by: &Operator, agent: Option<AgentId>) -> Result<Vec<ListedTask>> {
        by.need(OperatorRole::Viewer)?;
        let mut listed = Vec::new();
        for (id, name) in self.store.agents().await? {
            if agent.is_some_and(|wanted| wanted != id) {
                continue;
            }
            let tasks = self.store.scheduled(id, TaskQuery::All, MANY).await?;
            listed.extend(
                tasks.into_iter().map(|task| ListedTask { agent_name: name.clone(), task }),
            );
        }
        listed.sort_by_key(|listed| (listed.task.due, listed.task.id));
        Ok(listed)
    }

    /// Has a task run now; a paused one is tried again.
    ///
    /// # Errors
    /// `NotFound` (`GAL-TASK-UNKNOWN`) for an unknown task.
    pub async fn run_task(&self, by: &Operator, id: TaskId) -> Result<ListedTask> {
        let now = self.clock.now();
        let changed = self.change_task(by, id, "task.run", |task| {
            task.due = now;
            if let Some(run) = task.run.as_deref_mut() {
                (run.state, run.attempts) = (TaskState::Waiting, 0);
            }
        });
        let changed = changed.await?;
        if let Some(orchestrator) = &self.orchestrator {
            orchestrator.look_for_tasks();
        }
        Ok(changed)
    }

    /// Pauses a task until it is run again.
    ///
    /// # Errors
    /// As [`Ops::run_task`].
    pub async fn pause_task(&self, by: &Operator, id: TaskId) -> Result<ListedTask> {
        self.change_task(by, id, "task.pause", |task| {
            if let Some(run) = task.run.as_deref_mut() {
                run.state = TaskState::Paused;
            }
        })
        .await
    }

    /// Removes a task.
    ///
    /// # Errors
    /// As [`Ops::run_task`].
    pub async fn remove_task(&self, by: &Operator, id: TaskId) -> Result<()> {
        let ListedTask { task, .. } = self.task(by, id).await?;
        by.need_on(OperatorRole::Operator, task.agent_id)?;
        if !self.store.delete_task(task.agent_id, id).await? {
            return Err(unknown());
        }
        self.record(by, "task.remove", id, Some(shown(&task)), None).await
    }

    async fn task(&self, by: &Operator, id: TaskId) -> Result<ListedTask> {
        let all = self.tasks(by, None).await?;
        all.into_iter().find(|listed| listed.task.id == id).ok_or_else(unknown)
    }

    async fn change_task(
        &self,
        by: &Operator,
        id: TaskId,
        operation: &str,
        change: impl FnOnce(&mut Task) + Send,
    ) -> Result<ListedTask> {
        let mut listed = self.task(by, id).await?;
        by.need_on(OperatorRole::Operator, listed.task.agent_id)?;
        let before = shown(&listed.task);
        change(&mut listed.task);
        self.store.save_task(&listed.task).await?;
        self.record(by, operation, id, Some(before), Some(shown(&listed.task))).await?;
        Ok(listed)
    }
}

fn shown(task: &Task) -> Value {
    let state = task.run.as_deref().map(|run| run.state.as_str());
    json!({ "name": task.name, "due": task.due, "state": state })
}

fn unknown() -> Error {
    Error::not_found("there is no such task")
        .with_code("GAL-TASK-UNKNOWN")
        .with_fix("read the list again: it may have run for the last time")
}
