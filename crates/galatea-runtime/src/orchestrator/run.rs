//! Starts and stops agents, one by one or all of them, and with them this process's part of what
//! several share.

use galatea_core::{AgentId, Error, ErrorKind, Event, Result};
use std::{sync::Arc, time::Duration};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{
    state::{Keeping, Lifecycle, Orchestrator, unknown},
    supervise,
};
use crate::{
    ownership::{Keeper, LeaseGuard, SharedAgent},
    retention,
};

/// How long evaluators and the last settlements may take after turns and sends have ended.
const LAST: Duration = Duration::from_secs(2);

impl Orchestrator {
    /// Starts an agent's connectors and services. Starting a running one does nothing.
    ///
    /// # Errors
    /// `NotFound` for an unknown id, `Conflict` for one that was stopped.
    pub fn start_agent(&self, id: AgentId) -> Result<()> {
        let mut agents = self.lock();
        let entry = agents.get_mut(&id).ok_or_else(|| unknown(id))?;
        match entry.state {
            Lifecycle::Created => {}
            Lifecycle::Running => return Ok(()),
            Lifecycle::Stopped => {
                return Err(Error::new(ErrorKind::Conflict, "the agent was stopped for good")
                    .with("agent", id)
                    .with_fix("remove it and create it again"));
            }
        }
        let agent = &entry.agent;
        for connector in &agent.connectors {
            if agent.ownership.is_leased(&connector.info().source) {
                // The keeper connects it once it has the account.
                supervise::idle(agent, connector.as_ref());
                if !self.role().connects() {
                    supervise::elsewhere(agent, connector.as_ref());
                } else if let Some(error) = connector.login_needed() {
                    supervise::down(agent, connector.as_ref(), &error);
                }
            } else if !self.leaves_out(agent, connector.info()) {
                agent.connections.spawn(supervise::connector(
                    Arc::clone(agent),
                    Arc::clone(connector),
                    LeaseGuard::always(),
                ));
            }
        }
        if self.options.cluster.is_none() {
            supervise::services(agent, &LeaseGuard::always());
        } else if self.role().answers() {
            agent.connections.spawn(Arc::clone(&agent.inbox).watch());
        }
        if self.options.cluster.is_none() || self.role().answers() {
            agent.connections.spawn(retention::run(
                Arc::clone(&self.options.store),
                Arc::clone(&agent.clock),
                id,
                self.options.reconcile_every,
                agent.stop.clone(),
            ));
        }
        agent.connections.spawn(
            Arc::clone(&agent.outbox)
                .expire_unserved(self.options.reconcile_every, agent.stop.clone()),
        );
        entry.state = Lifecycle::Running;
        supervise::announce(&entry.agent, |agent| Event::AgentStarted { agent });
        Ok(())
    }

    /// Stops an agent for good: intake ends first, then turns and sends get until `within` to
    /// finish. What is not finished is in the store and goes on at the next start. True when
    /// everything ended in time.
    ///
    /// # Errors
    /// `NotFound` for an unknown id.
    pub async fn stop_agent(&self, id: AgentId, within: Duration) -> Result<bool> {
        let (agent, running) = {
            let mut agents = self.lock();
            let entry = agents.get_mut(&id).ok_or_else(|| unknown(id))?;
            let before = entry.state;
            if before == Lifecycle::Running {
                entry.state = Lifecycle::Stopped;
            }
            (Arc::clone(&entry.agent), before == Lifecycle::Running)
        };
        if !running {
            return Ok(true);
        }
        agent.ownership.hand_over();
        agent.stop.cancel();
        if let Some(keeping) = &*self.keeper.lock() {
            keeping.nudge.notify_one();
        }
        agent.connections.close();
        let drained = async {
            agent.connections.wait().await;
            agent.tasks.close();
            agent.tasks.wait().await;
        };
        let ended = tokio::time::timeout(within, drained).await.is_ok();
        // What is still at work must not go on beside a new agent of the same id.
        agent.halt.cancel();
        // Outcomes of sends are stored even when the rest ran out of time.
        let _ = tokio::time::timeout(LAST, agent.outbox.flush()).await;
        let _ = tokio::time::timeout(LAST, agent.budget.flush()).await;
        agent.events.publish(Event::AgentStopped { agent: id });
        Ok(ended)
    }

    /// Stops an agent and forgets it; what is stored stays.
    ///
    /// # Errors
    /// `NotFound` for an unknown id.
    pub async fn remove_agent(&self, id: AgentId) -> Result<()> {
        self.stop_agent(id, LAST).await?;
        self.lock().remove(&id);
        Ok(())
    }

    /// Starts every agent, and takes this process's part of what is shared with others.
    ///
    /// # Errors
    /// The first failure.
    pub fn start(self: &Arc<Self>) -> Result<()> {
        let ids: Vec<AgentId> = self.lock().keys().copied().collect();
        ids.into_iter().try_for_each(|id| self.start_agent(id))?;
        let mut keeper = self.keeper.lock();
        if let Some(cluster) = self.options.cluster.clone().filter(|_| keeper.is_none()) {
            let (stop, weak) = (CancellationToken::new(), Arc::downgrade(self));
            let running = move || weak.upgrade().map(|all| all.started()).unwrap_or_default();
            let nudge = Arc::new(Notify::new());
            let keeping = Keeper::new(Arc::clone(&self.options.store), cluster, Arc::clone(&nudge))
                .run(running, self.options.events.clone(), stop.clone());
            *keeper = Some(Keeping { stop, task: tokio::spawn(keeping), nudge });
        }
        Ok(())
    }

    /// Agents that were started, also those that are stopping.
    fn started(&self) -> Vec<Arc<dyn SharedAgent>> {
        self.lock()
            .values()
            .filter(|entry| entry.state != Lifecycle::Created)
            .map(|entry| Arc::clone(&entry.agent) as _)
            .collect()
    }

    /// Stops every agent, side by side, and gives what this process had to others. True when
    /// everything ended in time.
    pub async fn stop(&self, within: Duration) -> bool {
        let ids: Vec<AgentId> = self.lock().keys().copied().collect();
        let ended =
            futures::future::join_all(ids.into_iter().map(|id| self.stop_agent(id, within))).await;
        let keeping = self.keeper.lock().take();
        if let Some(Keeping { stop, task, .. }) = keeping {
            stop.cancel();
            let _ = tokio::time::timeout(LAST, task).await;
        }
        ended.into_iter().all(|outcome| outcome.unwrap_or(true))
    }
}
