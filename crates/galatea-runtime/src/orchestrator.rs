//! Orchestrator: many agents in one process: create, start, stop, remove, watch.

mod run;

use dashmap::DashMap;
use galatea_core::breaker::BreakerState;
use galatea_core::{
    Account, Address, AgentId, AgentView, Character, Clock, Connector, ConnectorInfo, Error, ErrorKind, EventBus, Health, Models, NoHints, Outgoing, Plugin,
    Result, Services, Settings, Source, Store,
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
    leases::{self, ClusterOptions, Shares},
    outbound::ThroughOutbox,
    registry::Registry,
    rooms::RoomCache,
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
    keeper: Mutex<Option<run::Keeping>>,
}

struct Entry {
    name: String,
    agent: Arc<Agent>,
    running: bool,
}

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
            handing: std::sync::Mutex::default(),
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
