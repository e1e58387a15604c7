//! Code that runs tasks at their time.

use async_trait::async_trait;
use serde_json::{Map, Value};
use std::sync::Arc;

use crate::{
    clock::{Clock, Timestamp},
    content::Content,
    error::Result,
    ids::{MemoryId, RoomId},
    model::Models,
    plugin::agent_view::AgentView,
    room::Room,
    store::{PluginCache, PluginStore, RequestedChange, task::Task},
    world::World,
};

/// Runs tasks of one name ([`Task::name`]) at their time, in one process at a time. What it returns is
/// committed together with the end of the run, so it takes effect once, whenever the process dies. What
/// it does by itself (a call of another service) may happen again after a crash.
///
/// ```
/// use async_trait::async_trait;
/// use galatea_core::{Content, Plugin, Result, TaskContext, TaskOutcome, TaskWorker};
///
/// /// Says what time it is, whenever its task is due.
/// struct Cuckoo;
///
/// #[async_trait]
/// impl TaskWorker for Cuckoo {
///     fn name(&self) -> &'static str {
///         "CUCKOO"
///     }
///     async fn run(&self, context: &TaskContext<'_>) -> Result<TaskOutcome> {
///         let now = context.agent.zone.local(context.slot).clock();
///         Ok(TaskOutcome::default().say_here(context, Content::text(format!("Cuckoo! {now}"))))
///     }
/// }
///
/// let plugin = Plugin::new("clock", "1.0.0", "A cuckoo clock").task_worker(Cuckoo);
/// assert_eq!(plugin.tasks[0].name(), "CUCKOO");
/// ```
#[async_trait]
pub trait TaskWorker: Send + Sync + 'static {
    /// The name of the tasks that it runs. Called when a task is due.
    fn name(&self) -> &str;
    /// Runs a task. Called at its time, and again a little later after a failure. It has a minute.
    async fn run(&self, context: &TaskContext<'_>) -> Result<TaskOutcome>;
}

/// The run of a task, as a worker sees it.
pub struct TaskContext<'a> {
    /// The agent.
    pub agent: &'a AgentView,
    /// The task.
    pub task: &'a Task,
    /// The time for which it runs; `now` may be later.
    pub slot: Timestamp,
    /// The time.
    pub now: Timestamp,
    /// The Room that the task concerns; none for a task without one.
    pub room: Option<&'a Room>,
    /// The World of the Room.
    pub world: Option<&'a World>,
    /// Memories, people and places, relationships and tasks.
    pub store: &'a Arc<dyn PluginStore>,
    /// Small values of the plugin's own.
    pub cache: &'a PluginCache,
    /// The agent's models; each call counts towards what the agent may cost a day.
    pub models: &'a Models,
    /// The engine's clock.
    pub clock: &'a Arc<dyn Clock>,
}

/// What a run says and changes, committed with the end of the run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TaskOutcome {
    /// Messages, each for its Room.
    pub say: Vec<TaskMessage>,
    /// Changes that are stored with it.
    pub effects: Vec<RequestedChange>,
    /// The task's free keys from now on; none keeps them.
    pub metadata: Option<Map<String, Value>>,
    /// True ends a task that would run again.
    pub done: bool,
}

/// A message of a task.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskMessage {
    /// The Room in which it is said.
    pub room: RoomId,
    /// The words.
    pub content: Content,
    /// The message that it answers, for platforms that show it; none otherwise.
    pub reply_to: Option<MemoryId>,
}

impl TaskOutcome {
    /// With a message for the Room of the task; nothing for a task without a Room.
    #[must_use]
    pub fn say_here(mut self, context: &TaskContext<'_>, content: Content) -> Self {
        if let Some(room) = context.task.room_id {
            self.say.push(TaskMessage { room, content, reply_to: None });
        }
        self
    }

    /// With a message for another Room.
    #[must_use]
    pub fn say_in(mut self, room: RoomId, content: Content) -> Self {
        self.say.push(TaskMessage { room, content, reply_to: None });
        self
    }
}
