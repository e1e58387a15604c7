//! The queue of tasks that run by themselves, as the engine uses it.

use async_trait::async_trait;
use uuid::Uuid;

use super::{NewDelivery, RequestedChange, UsageRow};
use crate::{
    clock::Timestamp,
    error::Result,
    ids::{AgentId, TaskId, TurnId},
    memory::Memory,
    store::task::Task,
};

/// Everything that a finished run of a task writes, in one commit.
#[derive(Debug, Clone)]
pub struct TaskCommit {
    /// The task.
    pub task: TaskId,
    /// The agent that ran it.
    pub agent: AgentId,
    /// The claim under which it was run. Refused (`Conflict`) if the task has another one by now, or is
    /// gone.
    pub claim: Uuid,
    /// The task as it waits for its next run; none if it ends.
    pub next: Option<Box<Task>>,
    /// Names the deliveries.
    pub turn: TurnId,
    /// What it said.
    pub memories: Vec<Memory>,
    /// Parts to send, in order.
    pub deliveries: Vec<NewDelivery>,
    /// Changes that it asked for.
    pub effects: Vec<RequestedChange>,
    /// What its model calls cost.
    pub usage: Vec<UsageRow>,
    /// Time of the commit.
    pub at: Timestamp,
}

/// The queue of tasks that run by themselves. A task is run by the process that claimed it; its effect
/// and its end are one commit, so that each run takes effect once.
#[async_trait]
pub trait TaskQueue: Send + Sync {
    /// Waiting tasks of these agents that no process has claimed at `now`, the one due first before the
    /// others; those that are not due yet among them. One call for all agents of a process.
    async fn next_tasks(&self, agents: &[AgentId], now: Timestamp, limit: u32)
    -> Result<Vec<Task>>;
    /// Claims a task that is due at `now` until a time. False if another process has it, or if it is
    /// gone or not due any more.
    async fn claim_task(
        &self,
        task: TaskId,
        claim: Uuid,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<bool>;
    /// Keeps a claim until a later time. False if another process has the task by now, or if it is
    /// changed or gone.
    async fn renew_task(&self, task: TaskId, claim: Uuid, until: Timestamp) -> Result<bool>;
    /// Ends the claims on tasks of these agents: a process that ended left them. Called at the start of
    /// a process that no other one shares the store with.
    async fn release_tasks(&self, agents: &[AgentId]) -> Result<()>;
    /// Stores a finished run. Called once for each claim; `Conflict` writes nothing.
    async fn finish_task(&self, commit: TaskCommit) -> Result<()>;
}
