//! Run: agents start and stop, one by one or all of them, and with them this process's part of what several share.

use galatea_core::{AgentId, ConnectorInfo, Error, ErrorKind, Event, Result, store::Role};
use std::{
    sync::{Arc, PoisonError},
    time::Duration,
};
use tokio_util::sync::CancellationToken;

use super::{Orchestrator, unknown};
use crate::{
    agent::Agent,
    delivery,
    lanes::Lanes,
    leases::{Keeper, Tenure},
    supervise, turn,
};

/// The keeper of what this process holds, at work.
pub(super) struct Keeping {
    stop: CancellationToken,
    task: tokio::task::JoinHandle<()>,
}

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
        if entry.running {
            return Ok(());
        }
        if entry.agent.stop.is_cancelled() {
            return Err(Error::new(ErrorKind::Conflict, "the agent was stopped for good").with("agent", id).with_fix("remove it and create it again"));
        }
        let agent = &entry.agent;
        assemble_lanes(agent);
        for connector in &agent.connectors {
            if agent.shares.is_leased(&connector.info().source) {
                // The keeper connects it once it has the account.
                supervise::idle(agent, connector.as_ref());
                if !self.role().connects() {
                    supervise::elsewhere(agent, connector.as_ref());
                }
            } else if !self.leaves_out(agent, connector.info()) {
                agent.connections.spawn(supervise::connector(Arc::clone(agent), Arc::clone(connector), Tenure::always()));
            }
        }
        if self.options.cluster.is_none() {
            supervise::services(agent, &Tenure::always());
        } else if self.role().answers() {
            agent.connections.spawn(turn::watch_rooms(Arc::clone(agent)));
        }
        entry.running = true;
        supervise::announce(&entry.agent, |agent| Event::AgentStarted { agent });
        Ok(())
    }

    /// Stops an agent for good: intake ends first, then turns and sends get until `within` to finish. What is not finished
    /// is in the store and goes on at the next start. True when everything ended in time.
    ///
    /// # Errors
    /// `NotFound` for an unknown id.
    pub async fn stop_agent(&self, id: AgentId, within: Duration) -> Result<bool> {
        let (agent, running) = {
            let mut agents = self.lock();
            let entry = agents.get_mut(&id).ok_or_else(|| unknown(id))?;
            (Arc::clone(&entry.agent), std::mem::take(&mut entry.running))
        };
        if !running {
            return Ok(true);
        }
        agent.shares.hand_over();
        agent.stop.cancel();
        agent.connections.close();
        let drained = async {
            agent.connections.wait().await;
            agent.tasks.close();
            agent.tasks.wait().await;
        };
        let ended = tokio::time::timeout(within, drained).await.is_ok();
        // What is still at work must not go on beside a new agent of the same id.
        agent.halt.cancel();
        if let Some(settler) = agent.settler.get() {
            // What was sent is written down even when the rest ran out of time.
            let _ = tokio::time::timeout(LAST, settler.flush()).await;
        }
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
        let mut keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cluster) = self.options.cluster.clone().filter(|_| keeper.is_none()) {
            let (stop, weak) = (CancellationToken::new(), Arc::downgrade(self));
            let running = move || weak.upgrade().map(|all| all.running()).unwrap_or_default();
            let keeping = Keeper::new(Arc::clone(&self.options.store), cluster).run(running, self.options.events.clone(), stop.clone());
            *keeper = Some(Keeping { stop, task: tokio::spawn(keeping) });
        }
        Ok(())
    }

    fn role(&self) -> Role {
        self.options.cluster.as_ref().map_or(Role::All, |cluster| cluster.role)
    }

    /// What is this machine's own, such as its terminal, needs a process that connects and answers.
    pub(super) fn leaves_out(&self, agent: &Agent, info: &ConnectorInfo) -> bool {
        self.role() != Role::All && !agent.shares.is_leased(&info.source)
    }

    fn running(&self) -> Vec<Arc<Agent>> {
        self.lock().values().filter(|entry| entry.agent.turns.get().is_some()).map(|entry| Arc::clone(&entry.agent)).collect()
    }

    /// Stops every agent, side by side, and gives what this process had to others. True when everything ended in time.
    pub async fn stop(&self, within: Duration) -> bool {
        let ids: Vec<AgentId> = self.lock().keys().copied().collect();
        let ended = futures::future::join_all(ids.into_iter().map(|id| self.stop_agent(id, within))).await;
        let keeping = self.keeper.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Keeping { stop, task }) = keeping {
            stop.cancel();
            let _ = tokio::time::timeout(LAST, task).await;
        }
        ended.into_iter().all(|outcome| outcome.unwrap_or(true))
    }
}

/// The lanes' work holds the agent weakly, or neither would ever end.
fn assemble_lanes(agent: &Arc<Agent>) {
    if agent.turns.get().is_some() {
        return;
    }
    let (settler, writing) = delivery::settler(Arc::clone(&agent.store), Arc::clone(&agent.clock));
    // Not among the agent's tasks: it ends after the last of them.
    tokio::spawn(writing);
    let _ = agent.settler.set(settler.clone());
    let weak = Arc::downgrade(agent);
    let _ = agent.sends.set(Lanes::new(usize::MAX, agent.tasks.clone(), move |lane| {
        let (agent, settler) = (weak.upgrade(), settler.clone());
        async move {
            if let Some(agent) = agent {
                let halt = agent.halt.clone();
                halt.run_until_cancelled(delivery::work(agent, settler, lane)).await;
            }
        }
    }));
    let weak = Arc::downgrade(agent);
    let _ = agent.turns.set(Lanes::new(turn::IN_MEMORY, agent.tasks.clone(), move |lane| {
        let agent = weak.upgrade();
        async move {
            if let Some(agent) = agent {
                let halt = agent.halt.clone();
                halt.run_until_cancelled(turn::work(agent, lane)).await;
            }
        }
    }));
}
