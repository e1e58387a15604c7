//! Reports how agents, accounts and limits are doing.

use galatea_core::{
    Address, AgentId, ConnectorInfo, Error, ErrorKind, EventBus, Gateway, GatewayBackend, Health,
    MemberId, Models, Outgoing, Result, Retry, Source, TurnUsage, breaker::BreakerState,
    store::Partition,
};
use std::sync::Arc;

use super::state::{Entry, Lifecycle, Orchestrator, unknown};
use crate::{
    outbox::LongWait,
    turn::{Failing, Shortened},
};

/// How one connector is doing.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConnectorStatus {
    /// The agent that the connector serves.
    pub agent: AgentId,
    /// The agent's name, for people.
    pub agent_name: String,
    /// The connector's platform, account and abilities.
    pub info: ConnectorInfo,
    /// Its last reported health.
    pub health: Health,
}

/// A cap of which at least 80 % are used today.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BudgetState {
    /// Name of the agent whose setting it is.
    pub agent: String,
    /// What the cap is of, such as `the agent`.
    pub whose: String,
    /// Name of the setting.
    pub setting: String,
    /// How much of it is used.
    pub percent: u64,
}

/// The work of one agent that several processes share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedWork {
    /// The agent.
    pub agent: AgentId,
    /// Its name, for people.
    pub name: String,
    /// The accounts that this process is configured for.
    pub accounts: Vec<Partition>,
    /// Every account that a process of the database ever had the login of.
    pub known: Vec<Partition>,
}

/// How far the start or stop of an agent has come, and whether it works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub enum AgentState {
    /// Assembled, and not started.
    Created,
    /// Its parts are made anew for a restart.
    Starting,
    /// Its connectors and services run.
    Running,
    /// It runs, and at least one of its connectors does not work as it should.
    Degraded,
    /// It finishes what is under way.
    Stopping,
    /// Nothing of it runs.
    Stopped,
    /// Its parts could not be made anew; [`AgentInfo::failure`] says why.
    Failed,
}

/// One agent of this process.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentInfo {
    /// Its id.
    pub id: AgentId,
    /// The name of its character.
    pub name: String,
    /// How far its start or stop has come.
    pub state: AgentState,
    /// Why its last restart failed.
    pub failure: Option<String>,
}

/// Work of one agent right now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentWork {
    /// Messages whose turns are under way or wait in memory.
    pub turns: usize,
    /// Instances that make turns; none where there is no limit (`INSTANCES_MAX`).
    pub instances: Option<usize>,
}

impl Orchestrator {
    /// What an agent has to do; nothing for an unknown id.
    pub fn work(&self, id: AgentId) -> AgentWork {
        let agents = self.lock();
        let of = |entry: &Entry| AgentWork {
            turns: entry.agent.inbox.in_flight(),
            instances: entry
                .agent
                .profile
                .get()
                .limits
                .instances
                .map(|limits| entry.agent.inbox.instances.size(limits)),
        };
        agents.get(&id).map(of).unwrap_or_default()
    }

    /// The models of an agent for a question of an operator, and what they use. The agent pays for
    /// it.
    ///
    /// # Errors
    /// `NotFound` for an unknown id.
    pub fn models_for(&self, id: AgentId, purpose: &str) -> Result<(Models, Arc<dyn TurnUsage>)> {
        let agents = self.lock();
        let agent = &agents.get(&id).ok_or_else(|| unknown(id))?.agent;
        let meter = agent.budget.background(&agent.profile.get().services, purpose);
        Ok((meter.models(agent.plugins.models()), meter))
    }

    /// Traces of all agents that were written, were shortened under flood, and were dropped.
    pub fn trace_counts(&self) -> [u64; 3] {
        self.lock().values().fold([0; 3], |[kept, shortened, dropped], entry| {
            let counts = &entry.agent.trace_counts;
            [kept + counts.kept(), shortened + counts.shortened(), dropped + counts.dropped()]
        })
    }

    /// Waits until the traces of all agents so far are written.
    pub async fn flush_traces(&self) {
        let tracers: Vec<_> =
            self.lock().values().map(|entry| entry.agent.tracer.clone()).collect();
        for tracer in tracers {
            tracer.flush().await;
        }
    }

    /// Every agent, with how far its start or stop has come.
    pub fn infos(&self) -> Vec<AgentInfo> {
        self.lock().iter().map(|(id, entry)| info(*id, entry)).collect()
    }

    /// One agent, with how far its start or stop has come; none for an unknown id.
    pub fn info(&self, id: AgentId) -> Option<AgentInfo> {
        self.lock().get(&id).map(|entry| info(id, entry))
    }

    /// The models whose prompts are shortened because of refusals, each with its agent's name.
    pub fn shortened(&self) -> Vec<(String, Shortened)> {
        let now = self.options.clock.now();
        let of_agent = |entry: &Entry| {
            let name = entry.name.clone();
            let shortened = entry.agent.windows.shortened(now);
            shortened.into_iter().map(move |one| (name.clone(), one))
        };
        self.lock().values().flat_map(of_agent).collect()
    }

    /// Why the turns of an agent end without an answer; `None` while they do not.
    pub fn failing(&self, agent: AgentId) -> Option<Failing> {
        self.lock().get(&agent)?.agent.failures.failing()
    }

    /// Every agent's id and name.
    pub fn agents(&self) -> Vec<(AgentId, String)> {
        self.lock().iter().map(|(id, entry)| (*id, entry.name.clone())).collect()
    }

    /// What the connector of an agent on this platform may call, once it has registered its send handler.
    /// For messages that this process takes in itself: its own API, its own chats.
    ///
    /// # Errors
    /// `NotFound` for an unknown agent, `Unavailable` while it does not run or its connector starts.
    pub fn gateway(&self, agent: AgentId, source: &Source) -> Result<Gateway> {
        let agents = self.lock();
        let entry = agents.get(&agent).ok_or_else(|| unknown(agent))?;
        let of = &entry.agent;
        let connector = of.connectors.iter().find(|one| one.info().source == *source);
        let info = connector.map(|connector| connector.info()).filter(|info| {
            entry.state == Lifecycle::Running
                && of.outbox.routes.any(&info.source, &info.account).is_some()
        });
        let Some(info) = info else {
            return Err(Error::new(ErrorKind::Unavailable, "the agent takes in no messages now")
                .with("agent", &entry.name)
                .with_retry(Retry::Soon)
                .with_fix("start it, or wait until it has started"));
        };
        let intake: Arc<dyn GatewayBackend> = Arc::clone(&of.intake) as _;
        Ok(Gateway::new(info.clone(), of.identity.clone(), intake, Arc::clone(&of.clock)))
    }

    /// How every connector is doing.
    pub fn statuses(&self) -> Vec<ConnectorStatus> {
        let agents = self.lock();
        let mut all = Vec::new();
        for (id, entry) in agents.iter() {
            for connector in &entry.agent.connectors {
                let info = connector.info();
                if self.leaves_out(&entry.agent, connector.as_ref()) {
                    continue;
                }
                let health = entry.agent.intake.health(&info.source, &info.account);
                // Before a login on this machine its own name says nothing.
                let info = connector
                    .login_needed()
                    .and_then(|_| entry.agent.account_of(info))
                    .unwrap_or_else(|| info.clone());
                all.push(ConnectorStatus {
                    agent: *id,
                    agent_name: entry.name.clone(),
                    info,
                    health,
                });
            }
        }
        all
    }

    /// The work of each agent that several processes share.
    pub fn shared_work(&self) -> Vec<SharedWork> {
        let agents = self.lock();
        let work = agents.iter().map(|(id, entry)| {
            let agent = &entry.agent;
            let waiting = agent.shared_connectors().filter(|c| c.login_needed().is_some());
            let accounts = agent
                .leased_accounts()
                .into_iter()
                .chain(waiting.filter_map(|connector| {
                    let info = agent.account_of(connector.info())?;
                    Some((info.source, info.account))
                }))
                .map(|(source, account)| Partition::account(&source, *id, &account));
            SharedWork {
                agent: *id,
                name: entry.name.clone(),
                accounts: accounts.collect(),
                known: agent.company.all(*id),
            }
        });
        work.collect()
    }

    /// Who this process is among those that share the store.
    pub fn member(&self) -> Option<MemberId> {
        self.options.cluster.as_ref().map(|cluster| cluster.member)
    }

    /// How far the store's clock is ahead of this machine's, in milliseconds; none where no other
    /// process shares the store.
    pub fn skew_millis(&self) -> Option<i64> {
        self.options.cluster.as_ref().map(|cluster| cluster.skew.millis())
    }

    /// How long the store has not answered this process's heartbeats; none before the first one, and
    /// where no other process shares the store.
    pub fn store_silence(&self) -> Option<std::time::Duration> {
        self.options.cluster.as_ref()?.beats.silence()
    }

    /// How the circuit breaker of every account stands through which this process sends.
    pub fn breakers(&self) -> Vec<BreakerState> {
        let agents = self.lock();
        let routes = agents.values().flat_map(|entry| entry.agent.outbox.routes.all());
        let mut all: Vec<BreakerState> = routes
            .filter(|route| route.is_connected())
            .map(|route| route.stack.breaker())
            .collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// Accounts on which a platform asks to wait longer than an answer may, each with its agent's name.
    pub fn long_waits(&self) -> Vec<(String, LongWait)> {
        let agents = self.lock();
        let of = |entry: &Entry| {
            let name = entry.name.clone();
            let waits = entry.agent.outbox.long_waits().into_iter();
            waits.map(move |wait| (name.clone(), wait)).collect::<Vec<_>>()
        };
        agents.values().flat_map(of).collect()
    }

    /// Caps of money or tokens that are nearly used up today.
    pub fn budgets(&self) -> Vec<BudgetState> {
        let agents = self.lock();
        let near = |entry: &Entry| {
            let name = entry.name.clone();
            entry.agent.budget.near().into_iter().map(move |(whose, setting, percent)| {
                BudgetState { agent: name.clone(), whose: whose.to_owned(), setting, percent }
            })
        };
        agents.values().flat_map(near).collect()
    }

    /// Lanes with work right now: turns, then sends.
    pub fn active_lanes(&self) -> (usize, usize) {
        self.lock().values().fold((0, 0), |(turns, sends), entry| {
            (turns + entry.agent.inbox.active(), sends + entry.agent.outbox.active())
        })
    }

    /// Events of all agents, for subscribers.
    pub fn events(&self) -> &EventBus {
        &self.options.events
    }

    /// elizaOS `sendMessageToTarget`: puts it into the outbox; Ok means durable.
    ///
    /// # Errors
    /// `NotFound` for an unknown agent, `Unavailable` for a platform that is not connected.
    pub async fn send_message_to_target(
        &self,
        id: AgentId,
        address: &Address,
        outgoing: Outgoing,
    ) -> Result<()> {
        let outbound = self
            .lock()
            .get(&id)
            .map(|entry| Arc::clone(&entry.agent.outbound))
            .ok_or_else(|| unknown(id))?;
        outbound.send_message_to_target(address, outgoing).await
    }
}

fn info(id: AgentId, entry: &Entry) -> AgentInfo {
    let mut failure = None;
    let state = match &entry.state {
        Lifecycle::Created => AgentState::Created,
        Lifecycle::Starting => AgentState::Starting,
        Lifecycle::Running if is_degraded(entry) => AgentState::Degraded,
        Lifecycle::Running => AgentState::Running,
        Lifecycle::Stopping => AgentState::Stopping,
        Lifecycle::Stopped => AgentState::Stopped,
        Lifecycle::Failed(why) => {
            failure = Some(why.clone());
            AgentState::Failed
        }
    };
    AgentInfo { id, name: entry.name.clone(), state, failure }
}

fn is_degraded(entry: &Entry) -> bool {
    entry.agent.connectors.iter().map(|connector| connector.info()).any(|info| {
        let health = entry.agent.intake.health(&info.source, &info.account);
        matches!(health, Health::Degraded { .. } | Health::Retrying { .. } | Health::Down { .. })
    })
}
