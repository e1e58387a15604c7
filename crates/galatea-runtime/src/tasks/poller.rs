//! Looks for due tasks: one query of the store for all agents of a process.

use galatea_core::{AgentId, Clock, Result, Store, Timestamp, kill_point};
use parking_lot::Mutex;
use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{claim::LEASE, run::TaskRunner};

/// Pause after a failed look.
const RETRY: Duration = Duration::from_secs(1);
/// Tasks of one look.
const BATCH: u32 = 64;
/// Runs at once in a process.
const AT_ONCE: usize = 16;

/// The agents of a process whose tasks are run; none once there is no orchestrator any more.
type Running = dyn Fn() -> Option<Vec<Arc<TaskRunner>>> + Send + Sync;

/// Runs the due tasks of all agents of a process.
pub(crate) struct TaskPoller {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    /// Longest pause between two looks: another process may have stored a task.
    every: Duration,
    /// No other process shares the store.
    alone: bool,
    /// Agents whose claims of an earlier process were released.
    released: Mutex<BTreeSet<AgentId>>,
    wake: Arc<Notify>,
    slots: Arc<Semaphore>,
    stop: Mutex<Option<CancellationToken>>,
}

impl TaskPoller {
    /// Looks at least this often. `alone`: no other process shares the store.
    pub(crate) fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        every: Duration,
        alone: bool,
    ) -> Arc<Self> {
        Arc::new(Self {
            store,
            clock,
            every,
            alone,
            released: Mutex::default(),
            wake: Arc::default(),
            slots: Arc::new(Semaphore::new(AT_ONCE)),
            stop: Mutex::default(),
        })
    }

    /// Wakes the poller when a task was stored.
    pub(crate) fn waker(&self) -> Arc<Notify> {
        Arc::clone(&self.wake)
    }

    /// Starts the poller, or has a running one look at once. Called at the start of each agent, inside
    /// of a runtime.
    pub(crate) fn start(
        self: &Arc<Self>,
        running: impl Fn() -> Option<Vec<Arc<TaskRunner>>> + Send + Sync + 'static,
    ) {
        let mut stop = self.stop.lock();
        if stop.as_ref().is_some_and(|stop| !stop.is_cancelled()) {
            self.wake.notify_one();
            return;
        }
        let token = CancellationToken::new();
        *stop = Some(token.clone());
        let poller = Arc::clone(self);
        tokio::spawn(async move {
            token.run_until_cancelled(poller.poll(&running)).await;
        });
    }

    /// Ends the search. Runs that have begun go on.
    pub(crate) fn stop(&self) {
        if let Some(stop) = self.stop.lock().take() {
            stop.cancel();
        }
    }

    async fn poll(&self, running: &Running) {
        loop {
            let Some(runners) = running() else { return };
            let next = match self.look(&runners).await {
                Ok(next) => next,
                Err(error) => {
                    tracing::warn!(error = %error.report(), retry_in = ?RETRY, "failed to look for due tasks; retrying");
                    Next::In(RETRY)
                }
            };
            // Agents must be able to end during the pause.
            drop(runners);
            let due = async {
                match next {
                    Next::In(pause) => self.clock.sleep(pause).await,
                    // Time has passed since it was read.
                    Next::At(due) => self.clock.sleep(due.since(self.clock.now())).await,
                    Next::Unknown => std::future::pending().await,
                }
            };
            tokio::select! {
                () = due => {}
                () = self.wake.notified() => {}
                // By the machine's time: the clock may be set meanwhile.
                () = tokio::time::sleep(self.every) => {}
            }
        }
    }

    /// Claims and starts what is due.
    async fn look(&self, runners: &[Arc<TaskRunner>]) -> Result<Next> {
        let by_agent: HashMap<AgentId, &Arc<TaskRunner>> =
            runners.iter().map(|runner| (runner.agent(), runner)).collect();
        if by_agent.is_empty() {
            return Ok(Next::Unknown);
        }
        let agents: Vec<AgentId> = by_agent.keys().copied().collect();
        if self.alone {
            self.release(&agents).await?;
        }
        let now = self.clock.now();
        let found = self.store.next_tasks(&agents, now, BATCH).await?;
        let is_full = found.len() >= BATCH as usize;
        for task in found {
            if task.due > now {
                return Ok(Next::At(task.due));
            }
            let Some(runner) = by_agent.get(&task.agent_id) else { continue };
            let Ok(slot) = Arc::clone(&self.slots).acquire_owned().await else { break };
            let claim = Uuid::now_v7();
            let now = self.clock.now();
            if !self.store.claim_task(task.id, claim, now, now.plus(LEASE)).await? {
                continue;
            }
            kill_point("task.claimed");
            runner.spawn(task, claim, slot);
        }
        Ok(if is_full { Next::In(Duration::ZERO) } else { Next::Unknown })
    }
}

impl TaskPoller {
    /// Ends claims that an earlier process left, once for each agent.
    async fn release(&self, agents: &[AgentId]) -> Result<()> {
        let new: Vec<AgentId> = {
            let released = self.released.lock();
            agents.iter().copied().filter(|agent| !released.contains(agent)).collect()
        };
        if !new.is_empty() {
            self.store.release_tasks(&new).await?;
            self.released.lock().extend(new);
        }
        Ok(())
    }
}

/// When to look again.
enum Next {
    /// At this time.
    At(Timestamp),
    /// After this time: a task is due then.
    In(Duration),
    /// When a task is stored.
    Unknown,
}
