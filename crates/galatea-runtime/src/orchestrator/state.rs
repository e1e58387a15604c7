//! The orchestrator: its agents, each with how far its start or stop has come.

use galatea_core::{AgentId, Connector, Error, Plugin, Result, store::ProcessRole};
use parking_lot::{Mutex, MutexGuard};
use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock, Weak, atomic::AtomicBool},
};
use tokio::sync::{Notify, OwnedMutexGuard, watch};
use tokio_util::sync::CancellationToken;

use super::{
    agent::Agent,
    spec::{AgentFactory, RuntimeOptions},
};
use crate::{ownership, tasks::TaskPoller};

/// Many agents in one process.
pub struct Orchestrator {
    pub(super) options: RuntimeOptions,
    pub(super) agents: Mutex<BTreeMap<AgentId, Entry>>,
    pub(super) keeper: Mutex<Option<Keeping>>,
    /// Plugins of every agent, beside those that it is created with.
    pub(super) globals: Mutex<Vec<Plugin>>,
    /// Looks for due tasks of all agents.
    pub(super) tasks: Arc<TaskPoller>,
    /// True once choices about plugins are looked for.
    pub(super) watching: AtomicBool,
    /// Ends restarts that are under way when all agents stop.
    pub(super) closing: CancellationToken,
    /// For tasks that end with it.
    pub(super) itself: Weak<Self>,
    /// True while other processes share an agent; the keeper of leases says so.
    pub(super) company: watch::Sender<bool>,
    /// The looks for work of all agents, once the first one has started.
    pub(super) looks: OnceLock<Arc<Notify>>,
}

/// One agent, and how far its start or stop has come.
pub(super) struct Entry {
    pub(super) name: String,
    /// Makes its parts anew for a restart.
    pub(super) factory: Arc<dyn AgentFactory>,
    pub(super) agent: Arc<Agent>,
    pub(super) state: Lifecycle,
    /// Held while the agent is stopped, restarted, changed or removed: one at a time.
    pub(super) changing: Arc<tokio::sync::Mutex<()>>,
}

impl Entry {
    /// An agent that was not started yet.
    pub(super) fn new(name: String, factory: Arc<dyn AgentFactory>, agent: Arc<Agent>) -> Self {
        Self { name, factory, agent, state: Lifecycle::Created, changing: Arc::default() }
    }
}

/// How far the start or stop of an agent has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Lifecycle {
    /// Assembled, and not started.
    Created,
    /// Its parts are made anew.
    Starting,
    Running,
    /// What is under way is finished.
    Stopping,
    /// Nothing of it runs. A restart makes it anew.
    Stopped,
    /// Its parts could not be made anew.
    Failed(String),
}

/// The keeper of this process's leases, at work.
pub(super) struct Keeping {
    pub(super) stop: CancellationToken,
    pub(super) task: tokio::task::JoinHandle<()>,
    /// Wakes the keeper: other processes shall know at once of a change here.
    pub(super) nudge: Arc<Notify>,
}

impl Orchestrator {
    /// No agents yet.
    ///
    /// # Errors
    /// `Invalid` for a role that leaves work to others, with a store that has one process.
    pub fn new(mut options: RuntimeOptions) -> Result<Arc<Self>> {
        options.cluster = ownership::shared(&options.store, options.cluster)?;
        let tasks = TaskPoller::new(
            Arc::clone(&options.store),
            Arc::clone(&options.clock),
            options.reconcile_every,
            options.cluster.is_none(),
        );
        Ok(Arc::new_cyclic(|itself| Self {
            options,
            agents: Mutex::default(),
            keeper: Mutex::default(),
            globals: Mutex::default(),
            tasks,
            watching: AtomicBool::new(false),
            closing: CancellationToken::new(),
            itself: Weak::clone(itself),
            company: watch::Sender::new(false),
            looks: OnceLock::new(),
        }))
    }

    /// Looks for due tasks at once. Called after a task was stored other than by a turn.
    pub fn look_for_tasks(&self) {
        self.tasks.waker().notify_one();
    }

    /// Has the tasks of this process's running agents run at their time.
    pub(super) fn run_tasks(&self) {
        if !self.role().answers() {
            return;
        }
        let me = Weak::clone(&self.itself);
        self.tasks.start(move || {
            let all = me.upgrade()?;
            let agents = all.lock();
            let running = agents.values().filter(|entry| entry.state == Lifecycle::Running);
            Some(running.map(|entry| Arc::clone(&entry.agent.task_runner)).collect())
        });
    }

    pub(super) fn role(&self) -> ProcessRole {
        self.options.cluster.as_ref().map_or(ProcessRole::All, |cluster| cluster.role)
    }

    /// This machine's own accounts, such as its terminal, need a process that connects and answers.
    pub(super) fn leaves_out(&self, agent: &Agent, connector: &dyn Connector) -> bool {
        self.role() != ProcessRole::All
            && !connector.delivers_by_commit()
            && !agent.ownership.is_leased(&connector.info().source)
    }

    /// Waits for exclusive access: one caller at a time stops, restarts, changes or removes the agent.
    ///
    /// # Errors
    /// `NotFound` for an unknown id.
    pub(super) async fn alone(&self, id: AgentId) -> Result<OwnedMutexGuard<()>> {
        let changing = self
            .lock()
            .get(&id)
            .map(|entry| Arc::clone(&entry.changing))
            .ok_or_else(|| unknown(id))?;
        Ok(changing.lock_owned().await)
    }

    /// Wakes the keeper of leases: this process has something to release or to announce.
    pub(super) fn nudge(&self) {
        if let Some(keeping) = &*self.keeper.lock() {
            keeping.nudge.notify_one();
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, BTreeMap<AgentId, Entry>> {
        self.agents.lock()
    }
}

pub(super) fn unknown(id: AgentId) -> Error {
    Error::not_found("no such agent").with("agent", id)
}
