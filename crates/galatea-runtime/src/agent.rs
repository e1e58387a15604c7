//! The parts of one agent, assembled; no behaviour.

use dashmap::DashMap;
use galatea_core::{
    Account, AgentView, Clock, Connector, ConnectorInfo, EventBus, Health, MemoryId, Models, Outbound, Result, RoomId, Services, Source, Store, Timestamp,
    store::InboxEntry,
};
use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
    time::Duration,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    accounts::Accounts,
    config::{Limits, Policy},
    delivery::{Job, OnTheWay, Route, Settler},
    intake::KnownConnections,
    lanes::Lanes,
    leases::Shares,
    orchestrator::AccountSettings,
    registry::Registry,
    rooms::RoomCache,
    turn::Waiting,
};

/// The parts of one running agent.
pub(crate) struct Agent {
    /// Persona and settings.
    pub(crate) view: AgentView,
    /// Models.
    pub(crate) models: Models,
    /// Extensions.
    pub(crate) registry: Registry,
    /// Running services.
    pub(crate) services: Services,
    /// Timing and sizes.
    pub(crate) limits: Limits,
    /// Storage.
    pub(crate) store: Arc<dyn Store>,
    /// Time.
    pub(crate) clock: Arc<dyn Clock>,
    /// Where events go.
    pub(crate) events: EventBus,
    /// Its connectors.
    pub(crate) connectors: Vec<Arc<dyn Connector>>,
    /// What of its work is done in this process.
    pub(crate) shares: Shares,
    /// Its logins, and whose ids are whose.
    pub(crate) accounts: Accounts,
    /// Settings of accounts that have some of their own.
    pub(crate) account_settings: HashMap<(Source, Account), AccountSettings>,
    /// Connections known to be stored.
    pub(crate) known: KnownConnections,
    /// Rooms in use.
    pub(crate) rooms: RoomCache,
    /// How to reach each account.
    pub(crate) routes: DashMap<(Source, Account), Arc<Route>>,
    /// When to answer, per account.
    pub(crate) policies: DashMap<(Source, Account), Arc<Policy>>,
    /// How each connector is doing.
    pub(crate) health: DashMap<(Source, Account), (ConnectorInfo, Health)>,
    /// What a room reads when no model answers; none says nothing.
    pub(crate) speechless: Option<String>,
    /// When a failure notice was last shown in a room.
    pub(crate) notices: moka::sync::Cache<RoomId, Timestamp>,
    /// Answers to bots in a row, per room.
    pub(crate) hops: moka::sync::Cache<RoomId, u32>,
    /// Messages in a turn right now, so that recovery does not start them again.
    pub(crate) in_turn: DashMap<MemoryId, ()>,
    /// Held while one is marked as such and put into its lane.
    pub(crate) handing: std::sync::Mutex<()>,
    /// Held by a turn that may end the program.
    pub(crate) suspects: tokio::sync::Mutex<()>,
    /// One look through the inbox at a time, or a later one could overtake.
    pub(crate) polling: tokio::sync::Mutex<()>,
    /// Messages handed to other processes for which the platform shows that an answer is coming.
    pub(crate) awaited: DashMap<MemoryId, InboxEntry>,
    /// Deliveries in hand.
    pub(crate) on_the_way: OnTheWay,
    /// How often the outbox is searched for what others put there.
    pub(crate) look_around: Duration,
    /// Turns; set once, right after assembly.
    pub(crate) turns: OnceLock<Lanes<RoomId, Waiting>>,
    /// Sends; set once, right after assembly.
    pub(crate) sends: OnceLock<Lanes<RoomId, Job>>,
    /// Where outcomes of sends go; set together with `sends`.
    pub(crate) settler: OnceLock<Settler>,
    /// One pairing code is made at a time: the list of codes is read, changed and written.
    pub(crate) pairing: tokio::sync::Mutex<()>,
    /// How plugin code reaches other rooms.
    pub(crate) outbound: Arc<dyn Outbound>,
    /// Work in flight: turns, sends, evaluators.
    pub(crate) tasks: TaskTracker,
    /// Connectors and services at work.
    pub(crate) connections: TaskTracker,
    /// Ends connectors and services.
    pub(crate) stop: CancellationToken,
    /// Ends turns and sends where they are, when stopping took too long. The store knows how to go on.
    pub(crate) halt: CancellationToken,
}

impl Agent {
    /// When one account answers. Settings do not change while an agent runs, so each is read once.
    pub(crate) fn policy(&self, source: &Source, account: &Account) -> Result<Arc<Policy>> {
        let key = (source.clone(), account.clone());
        if let Some(known) = self.policies.get(&key) {
            return Ok(Arc::clone(&known));
        }
        let policy = Arc::new(match self.account_settings.get(&key) {
            Some(own) => Policy::of_account(&own.settings, source, &own.suffix)?,
            None => Policy::from_settings(&self.view.settings, source)?,
        });
        self.policies.insert(key, Arc::clone(&policy));
        Ok(policy)
    }

    /// How to reach an account, once its connector has registered its send handler and what was left to send is on its way; or where
    /// another process sends.
    pub(crate) fn route(&self, source: &Source, account: &Account) -> Option<Arc<Route>> {
        self.any_route(source, account).filter(|route| route.is_ready())
    }

    /// How to reach an account, for what is on its way already.
    pub(crate) fn any_route(&self, source: &Source, account: &Account) -> Option<Arc<Route>> {
        self.routes.get(&(source.clone(), account.clone())).map(|r| Arc::clone(&r))
    }
}
