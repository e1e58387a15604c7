//! Orchestrator: many agents in one process: create, start, stop, remove, watch.

use dashmap::DashMap;
use galatea_core::breaker::BreakerState;
use galatea_core::{
    Account, Address, AgentId, AgentView, Character, Clock, Connector, ConnectorInfo, Error, ErrorKind, Event, EventBus, Health, Models, NoHints, Outgoing,
    Plugin, Result, Services, Settings, Source, Store, store::Role,
};
use std::{
    collections::{BTreeMap, HashMap, btree_map::Entry as MapEntry},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    accounts::Accounts,
    agent::Agent,
    config::{Limits, MODEL_NOTICE, Policy},
    delivery,
    intake::KnownConnections,
    itself,
    lanes::Lanes,
    leases::{self, ClusterOptions, Keeper, Shares, Tenure},
    outbound::ThroughOutbox,
    registry::Registry,
    rooms::RoomCache,
    supervise, turn,
};

/// What all agents share.
pub struct RuntimeOptions {
    /// Storage.
    pub store: Arc<dyn Store>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Where events go.
    pub events: EventBus,
    /// How often the outbox is searched for what others put there, such as an operator who wants a part sent again.
    pub look_around: Duration,
    /// How the store is shared, where it can be: without, this process does everything.
    pub cluster: Option<ClusterOptions>,
}

/// What one agent is made of.
pub struct AgentSpec {
    /// Persona.
    pub character: Character,
    /// Settings, layered.
    pub settings: Settings,
    /// Models.
    pub models: Models,
    /// Extensions of this agent, global ones besides.
    pub plugins: Vec<Plugin>,
    /// Its connectors.
    pub connectors: Vec<Arc<dyn Connector>>,
    /// Settings of those accounts that have some of their own, in place of [`Self::settings`].
    pub account_settings: HashMap<(Source, Account), AccountSettings>,
}

/// Settings of a further account on a platform.
#[derive(Debug, Clone)]
pub struct AccountSettings {
    /// What it sees.
    pub settings: Settings,
    /// What its settings' names end in, such as `_2`.
    pub suffix: String,
}

/// How one connector is doing.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConnectorStatus {
    /// Whose.
    pub agent: AgentId,
    /// Their name.
    pub agent_name: String,
    /// Which.
    pub info: ConnectorInfo,
    /// How.
    pub health: Health,
}

/// Many agents in one process.
pub struct Orchestrator {
    options: RuntimeOptions,
    agents: Mutex<BTreeMap<AgentId, Entry>>,
    keeper: Mutex<Option<Keeping>>,
}

struct Entry {
    name: String,
    agent: Arc<Agent>,
    running: bool,
}

/// The keeper of what this process holds, at work.
struct Keeping {
    stop: CancellationToken,
    task: tokio::task::JoinHandle<()>,
}

/// How long evaluators and the last settlements may take after turns and sends have ended.
const LAST: Duration = Duration::from_secs(2);

impl Orchestrator {
    /// No agents yet.
    ///
    /// # Errors
    /// `Invalid` for a role that leaves work to others, with a store that has one process.
    pub fn new(mut options: RuntimeOptions) -> Result<Arc<Self>> {
        options.cluster = leases::shared(&options.store, options.cluster)?;
        Ok(Arc::new(Self { options, agents: Mutex::default(), keeper: Mutex::default() }))
    }

    /// elizaOS `createAgent`: assembles an agent and stores it. It is started by [`Self::start_agent`] or [`Self::start`].
    ///
    /// # Errors
    /// `Conflict` for an id in use, `Invalid` for settings or plugins that do not fit.
    pub async fn create_agent(&self, spec: AgentSpec) -> Result<AgentId> {
        let identity = spec.character.identity();
        let id = identity.id();
        if self.lock().contains_key(&id) {
            return Err(twice(&spec.character.name));
        }
        let limits = Limits::from_settings(&spec.settings)?;
        for connector in &spec.connectors {
            let ConnectorInfo { source, account, .. } = connector.info();
            let own = spec.account_settings.get(&(source.clone(), account.clone()));
            Policy::from_settings(own.map_or(&spec.settings, |own| &own.settings), source)?;
        }
        let speechless = spec.settings.text(&MODEL_NOTICE).filter(|text| !text.trim().eq_ignore_ascii_case("none"));
        let registry = Registry::load(spec.plugins)?;
        self.options.store.save_agent(id, &spec.character).await?;
        itself::remember(&*self.options.store, &identity, &spec.character.name).await?;
        let accounts = Accounts::load(&*self.options.store, identity.clone(), &spec.connectors, self.options.clock.now()).await?;
        let name = spec.character.name.clone();
        let shared = spec.connectors.iter().filter(|c| self.options.cluster.is_some() && c.send_handler().is_some());
        let hints = self.options.cluster.as_ref().map_or_else(|| Arc::new(NoHints::default()) as _, |cluster| Arc::clone(&cluster.hints));
        let shares = Shares::new(shared.map(|c| c.info().source.clone()).collect(), hints);
        let services = Services::new(registry.services.iter().cloned());
        let agent = Arc::new_cyclic(|weak| Agent {
            view: AgentView { identity, character: Arc::new(spec.character), settings: spec.settings },
            models: spec.models,
            registry,
            services,
            limits,
            store: Arc::clone(&self.options.store),
            clock: Arc::clone(&self.options.clock),
            events: self.options.events.clone(),
            connectors: spec.connectors,
            shares,
            accounts,
            account_settings: spec.account_settings,
            known: KnownConnections::new(),
            rooms: RoomCache::new(id),
            routes: DashMap::new(),
            policies: DashMap::new(),
            health: DashMap::new(),
            speechless,
            notices: moka::sync::Cache::new(4096),
            hops: moka::sync::Cache::new(4096),
            in_turn: DashMap::new(),
            suspects: tokio::sync::Mutex::default(),
            polling: tokio::sync::Mutex::default(),
            awaited: DashMap::new(),
            on_the_way: delivery::OnTheWay::default(),
            look_around: self.options.look_around,
            turns: OnceLock::new(),
            sends: OnceLock::new(),
            settler: OnceLock::new(),
            pairing: tokio::sync::Mutex::new(()),
            outbound: Arc::new(ThroughOutbox(weak.clone())),
            tasks: TaskTracker::new(),
            connections: TaskTracker::new(),
            stop: CancellationToken::new(),
            halt: CancellationToken::new(),
        });
        match self.lock().entry(id) {
            // Made by somebody else while this one was stored.
            MapEntry::Occupied(_) => Err(twice(&name)),
            MapEntry::Vacant(free) => {
                free.insert(Entry { name, agent, running: false });
                Ok(id)
            }
        }
    }

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
    fn leaves_out(&self, agent: &Agent, info: &ConnectorInfo) -> bool {
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

    /// Every agent's id and name.
    pub fn agents(&self) -> Vec<(AgentId, String)> {
        self.lock().iter().map(|(id, entry)| (*id, entry.name.clone())).collect()
    }

    /// How every connector is doing.
    pub fn statuses(&self) -> Vec<ConnectorStatus> {
        let agents = self.lock();
        let mut all = Vec::new();
        for (id, entry) in agents.iter() {
            for connector in &entry.agent.connectors {
                let info = connector.info();
                if self.leaves_out(&entry.agent, info) {
                    continue;
                }
                let health = entry.agent.health.get(&(info.source.clone(), info.account.clone())).map_or(Health::Starting, |h| h.1.clone());
                all.push(ConnectorStatus { agent: *id, agent_name: entry.name.clone(), info: info.clone(), health });
            }
        }
        all
    }

    /// How the circuit breaker of every account stands through which this process sends.
    pub fn breakers(&self) -> Vec<BreakerState> {
        let agents = self.lock();
        let routes = agents.values().flat_map(|entry| entry.agent.routes.iter().map(|route| Arc::clone(route.value())).collect::<Vec<_>>());
        let mut all: Vec<BreakerState> = routes.filter(|route| route.tenure.is_some()).map(|route| route.stack.breaker()).collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// Lanes with work right now: turns, then sends.
    pub fn active_lanes(&self) -> (usize, usize) {
        let agents = self.lock();
        let count = |lanes: Option<usize>| lanes.unwrap_or(0);
        agents.values().fold((0, 0), |(turns, sends), entry| {
            (turns + count(entry.agent.turns.get().map(Lanes::active)), sends + count(entry.agent.sends.get().map(Lanes::active)))
        })
    }

    /// Where events go.
    pub fn events(&self) -> &EventBus {
        &self.options.events
    }

    /// elizaOS `sendMessageToTarget`: puts it into the outbox; Ok means durable.
    ///
    /// # Errors
    /// `NotFound` for an unknown agent, `Unavailable` for a platform that is not connected.
    pub async fn send_message_to_target(&self, id: AgentId, address: &Address, outgoing: Outgoing) -> Result<()> {
        let outbound = self.lock().get(&id).map(|entry| Arc::clone(&entry.agent.outbound)).ok_or_else(|| unknown(id))?;
        outbound.send_message_to_target(address, outgoing).await
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<AgentId, Entry>> {
        self.agents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn twice(name: &str) -> Error {
    Error::new(ErrorKind::Conflict, "two characters have the same id")
        .with_code("GAL-AGENT-TWICE")
        .with("name", name)
        .with_fix("give one of them another name or id")
}

fn unknown(id: AgentId) -> Error {
    Error::not_found("no such agent").with("agent", id)
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
