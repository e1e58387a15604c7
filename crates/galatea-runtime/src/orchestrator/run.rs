//! Starts and stops agents, one by one or all of them, and with them this process's part of what
//! several share.

use galatea_core::{AgentId, Error, ErrorKind, Event, Result};
use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{
    agent::Agent,
    chosen,
    create::{assemble, check_policies},
    plugin_changes,
    plugins::{Slot, close_all},
    services,
    spec::{AgentChange, AgentFactory},
    state::{Keeping, Lifecycle, Orchestrator, unknown},
    supervise,
};
use crate::{
    agent_room,
    ownership::{Keeper, LeaseGuard, SharedAgent},
    profile::Profile,
};

/// How long evaluators and the last settlements may take after turns and sends have ended.
const LAST: Duration = Duration::from_secs(2);

/// Choices about plugins are looked for in every fifth round of reconciliation.
const CHOSEN: u32 = 5;

/// How long the parts of an agent may take to be made anew.
const MAKING: Duration = Duration::from_secs(30);

impl Orchestrator {
    /// Starts an agent's connectors and services. Starting a running one does nothing.
    ///
    /// # Errors
    /// `NotFound` for an unknown id, `Conflict` for one that was stopped: [`Self::restart_agent`]
    /// makes it anew.
    pub fn start_agent(&self, id: AgentId) -> Result<()> {
        let mut agents = self.lock();
        let entry = agents.get_mut(&id).ok_or_else(|| unknown(id))?;
        match entry.state {
            Lifecycle::Created => {}
            Lifecycle::Running => return Ok(()),
            Lifecycle::Starting | Lifecycle::Stopping => {
                return Err(Error::new(
                    ErrorKind::Conflict,
                    "the agent is being restarted or stopped",
                )
                .with("agent", id)
                .with_fix("wait until that has ended"));
            }
            Lifecycle::Stopped | Lifecycle::Failed(_) => {
                return Err(Error::new(ErrorKind::Conflict, "the agent was stopped")
                    .with("agent", id)
                    .with_fix("restart it: its parts are made anew"));
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
            } else if !self.leaves_out(agent, connector.as_ref()) {
                agent.connections.spawn(supervise::connector(
                    Arc::clone(agent),
                    Arc::clone(connector),
                    LeaseGuard::always(),
                ));
            }
        }
        if self.options.cluster.is_none() {
            let services = services::under(Arc::clone(agent), LeaseGuard::always());
            agent.connections.spawn(services);
        } else if self.role().answers() {
            agent.connections.spawn(Arc::clone(&agent.inbox).watch());
            agent.connections.spawn(Arc::clone(&agent.inbox).watch_edits());
        }
        agent.plugins.follow_all();
        entry.state = Lifecycle::Running;
        supervise::announce(&entry.agent, |agent| Event::AgentStarted { agent });
        drop(agents);
        self.run_tasks();
        self.look_for_work();
        Ok(())
    }

    /// Stops an agent: intake ends first, then turns and sends get until `within` to finish. What is
    /// not finished is in the store and goes on at the next start. True when everything ended in
    /// time. [`Self::restart_agent`] starts it again.
    ///
    /// # Errors
    /// `NotFound` for an unknown id.
    pub async fn stop_agent(&self, id: AgentId, within: Duration) -> Result<bool> {
        let _alone = self.alone(id).await?;
        self.drain(id, within).await
    }

    /// Stops the agent, if it runs.
    async fn drain(&self, id: AgentId, within: Duration) -> Result<bool> {
        let agent = {
            let mut agents = self.lock();
            let entry = agents.get_mut(&id).ok_or_else(|| unknown(id))?;
            if entry.state != Lifecycle::Running {
                return Ok(true);
            }
            entry.state = Lifecycle::Stopping;
            Arc::clone(&entry.agent)
        };
        agent.ownership.hand_over();
        agent.stop.cancel();
        self.nudge();
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
        let _ = tokio::time::timeout(LAST, agent.tracer.flush()).await;
        close_all(&agent.plugins).await;
        self.set(id, Lifecycle::Stopped);
        agent.events.publish(Event::AgentStopped { agent: id });
        Ok(ended)
    }

    fn set(&self, id: AgentId, state: Lifecycle) {
        if let Some(entry) = self.lock().get_mut(&id) {
            entry.state = state;
        }
    }

    /// Stops an agent as [`Self::stop_agent`] does, makes its parts anew, and starts it. Other agents
    /// go on meanwhile.
    ///
    /// # Errors
    /// `NotFound` for an unknown id; `Timeout` if its parts are not made within half a minute; those
    /// of the factory. The agent is [`AgentState::Failed`](super::AgentState::Failed) then, and may
    /// be restarted.
    pub async fn restart_agent(&self, id: AgentId, within: Duration) -> Result<()> {
        let _alone = self.alone(id).await?;
        self.drain(id, within).await?;
        let (factory, added) = {
            let mut agents = self.lock();
            let entry = agents.get_mut(&id).ok_or_else(|| unknown(id))?;
            entry.state = Lifecycle::Starting;
            (Arc::clone(&entry.factory), entry.agent.plugins.added())
        };
        let made = tokio::time::timeout(MAKING, self.remake(id, &*factory, added));
        let made = self.closing.run_until_cancelled(made).await.map(|made| {
            made.unwrap_or_else(|_| {
                Err(Error::new(ErrorKind::Timeout, "the agent's parts were not made in time"))
            })
        });
        match made {
            Some(Ok((name, agent))) => {
                if let Some(entry) = self.lock().get_mut(&id) {
                    (entry.name, entry.agent) = (name, Arc::new(agent));
                    entry.state = Lifecycle::Created;
                }
                self.start_agent(id)?;
                self.nudge();
                Ok(())
            }
            Some(Err(error)) => {
                self.set(id, Lifecycle::Failed(error.to_string()));
                let reason = error.to_string();
                self.options.events.publish(Event::AgentFailed { agent: id, reason });
                Err(error.with("agent", id))
            }
            None => {
                self.set(id, Lifecycle::Stopped);
                Err(Error::new(ErrorKind::Conflict, "all agents are stopping").with("agent", id))
            }
        }
    }

    async fn remake(
        &self,
        id: AgentId,
        factory: &dyn AgentFactory,
        added: Vec<Slot>,
    ) -> Result<(String, Agent)> {
        let spec = factory.make().await?;
        if spec.character.identity().id() != id {
            return Err(another_id());
        }
        let name = spec.character.name.clone();
        Ok((name, assemble(&self.options, &self.tasks.waker(), spec, added).await?))
    }

    /// Changes the character and the settings of an agent. Each turn reads them once: those that
    /// have begun end as they began, and the next ones see the change.
    ///
    /// # Errors
    /// `NotFound` for an unknown id, `Conflict` for a character with another id, `Invalid` with the
    /// place of a setting that cannot be read. Nothing has changed then.
    pub async fn update_agent(&self, id: AgentId, change: AgentChange) -> Result<()> {
        let _alone = self.alone(id).await?;
        let (agent, factory) = {
            let agents = self.lock();
            let entry = agents.get(&id).ok_or_else(|| unknown(id))?;
            (Arc::clone(&entry.agent), entry.factory.changed(&change))
        };
        let AgentChange { character, settings, account_settings } = change;
        if character.identity() != agent.identity {
            return Err(another_id().with("agent", id));
        }
        check_policies(&agent.connectors, &settings, &account_settings)?;
        let before = agent.profile.get();
        let profile = Profile::new(&character, settings, account_settings)?;
        profile.policies.adopt(&before.policies);
        let store = &self.options.store;
        store.save_agent(id, &character).await?;
        agent_room::remember(&**store, &agent.identity, &character.name).await?;
        plugin_changes::change(&agent, Some(profile), |_| Ok(true)).await?;
        // An account that became known since.
        agent.profile.get().policies.adopt(&before.policies);
        if let Some(entry) = self.lock().get_mut(&id) {
            entry.name = character.name;
            if let Some(factory) = factory {
                entry.factory = factory;
            }
        }
        self.options.events.publish(Event::AgentUpdated { agent: id });
        Ok(())
    }

    /// Stops an agent and forgets it; what is stored stays.
    ///
    /// # Errors
    /// `NotFound` for an unknown id.
    pub async fn remove_agent(&self, id: AgentId) -> Result<()> {
        let _alone = self.alone(id).await?;
        self.drain(id, LAST).await?;
        let entry = self.lock().remove(&id);
        if let Some(entry) = entry {
            // One that never started has begun its plugins all the same.
            close_all(&entry.agent.plugins).await;
            self.options.events.publish(Event::AgentRemoved { agent: id });
        }
        Ok(())
    }

    /// Starts every agent, and takes this process's part of what is shared with others.
    ///
    /// # Errors
    /// The first failure.
    pub fn start(self: &Arc<Self>) -> Result<()> {
        let ids: Vec<AgentId> = self.lock().keys().copied().collect();
        ids.into_iter().try_for_each(|id| self.start_agent(id))?;
        if !self.watching.swap(true, Ordering::Relaxed) {
            let every = self.options.reconcile_every * CHOSEN;
            tokio::spawn(chosen::watch(Arc::downgrade(self), every));
        }
        let mut keeper = self.keeper.lock();
        if let Some(cluster) = self.options.cluster.clone().filter(|_| keeper.is_none()) {
            let (stop, weak) = (CancellationToken::new(), Arc::downgrade(self));
            let running = move || weak.upgrade().map(|all| all.started()).unwrap_or_default();
            let nudge = Arc::new(Notify::new());
            let keeping = Keeper::new(
                Arc::clone(&self.options.store),
                cluster,
                Arc::clone(&nudge),
                self.company.clone(),
            )
            .run(running, self.options.events.clone(), stop.clone());
            *keeper = Some(Keeping { stop, task: tokio::spawn(keeping), nudge });
        }
        self.options.events.publish(Event::SystemStarted);
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
        self.closing.cancel();
        self.tasks.stop();
        let ids: Vec<AgentId> = self.lock().keys().copied().collect();
        let ended =
            futures::future::join_all(ids.into_iter().map(|id| self.stop_agent(id, within))).await;
        let keeping = self.keeper.lock().take();
        if let Some(Keeping { stop, task, .. }) = keeping {
            stop.cancel();
            let _ = tokio::time::timeout(LAST, task).await;
        }
        self.options.events.publish(Event::SystemStopped);
        ended.into_iter().all(|outcome| outcome.unwrap_or(true))
    }
}

fn another_id() -> Error {
    Error::new(ErrorKind::Conflict, "the character has another id than the agent")
        .with_fix("keep its `id`, or its name if it has none; another id is another agent")
}
