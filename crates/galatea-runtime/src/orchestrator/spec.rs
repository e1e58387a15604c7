//! Agents are made of these.

use galatea_core::{
    Account, Character, Clock, Connector, EventBus, Models, Plugin, Settings, Source, Store,
};
use std::{collections::HashMap, sync::Arc, time::Duration};

use crate::{config::AccountSettings, ownership::ClusterOptions};

/// What all agents share.
pub struct RuntimeOptions {
    /// Where everything is stored; shared by all agents.
    pub store: Arc<dyn Store>,
    /// The clock of all agents, which tests set by hand.
    pub clock: Arc<dyn Clock>,
    /// Events of all agents.
    pub events: EventBus,
    /// How often the outbox is searched for what others put there, such as an operator who wants a
    /// part sent again.
    pub reconcile_every: Duration,
    /// How the store is shared, where it can be: without, this process does everything.
    pub cluster: Option<ClusterOptions>,
}

/// What one agent is made of.
pub struct AgentSpec {
    /// The persona, from which the agent's id is derived.
    pub character: Character,
    /// Settings of the agent: environment, files, character and defaults in layers.
    pub settings: Settings,
    /// The models that it asks.
    pub models: Models,
    /// Extensions of this agent, global ones besides.
    pub plugins: Vec<Plugin>,
    /// One for each account on a platform.
    pub connectors: Vec<Arc<dyn Connector>>,
    /// Settings of those accounts that have some of their own, in place of [`Self::settings`].
    pub account_settings: HashMap<(Source, Account), AccountSettings>,
}
