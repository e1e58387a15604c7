//! The parts of an agent, and what makes them.

use async_trait::async_trait;
use galatea_core::{
    Account, Character, Clock, Connector, EventBus, KnownAccount, Models, Plugin, Result,
    SendHandler, Settings, Source, Store,
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

/// Builds an agent's parts at each of its starts.
#[async_trait]
pub trait AgentFactory: Send + Sync {
    /// The parts, made from the settings of now. The character has the same id each time.
    ///
    /// # Errors
    /// `Invalid` for settings that cannot be read, and any failure that keeps the agent from being
    /// made. The agent is then [`AgentState::Failed`](super::AgentState::Failed).
    async fn make(&self) -> Result<AgentSpec>;

    /// The factory that takes this one's place once the agent has changed. None if this one makes
    /// the changed agent by itself.
    fn changed(&self, _change: &AgentChange) -> Option<Arc<dyn AgentFactory>> {
        None
    }
}

/// The same parts each time. A restart runs the same connectors and plugins again.
#[async_trait]
impl AgentFactory for AgentSpec {
    async fn make(&self) -> Result<AgentSpec> {
        Ok(self.clone())
    }

    fn changed(&self, change: &AgentChange) -> Option<Arc<dyn AgentFactory>> {
        let AgentChange { character, settings, account_settings } = change.clone();
        Some(Arc::new(Self { character, settings, account_settings, ..self.clone() }))
    }
}

/// The parts of an agent that may change while it runs. Each turn reads them once, so a change
/// applies from the next turn on; a service sees it when it is started again.
#[derive(Clone)]
pub struct AgentChange {
    /// The persona, with the same id as before.
    pub character: Character,
    /// The settings of the agent.
    pub settings: Settings,
    /// Settings of those accounts that have some of their own.
    pub account_settings: HashMap<(Source, Account), AccountSettings>,
}

/// The parts of one agent.
#[derive(Clone)]
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
    /// Builds the outbound side of accounts whose login other processes have.
    pub encoders: Encoders,
}

/// Builds the outbound side of accounts whose login other processes have; of none by default.
#[derive(Clone, Default)]
pub struct Encoders(Option<Arc<BuildEncoder>>);

type BuildEncoder = dyn Fn(&KnownAccount) -> Result<Option<Encoder>> + Send + Sync;

/// The outbound side of an account whose login another process has.
pub struct Encoder {
    /// Encodes, and cannot send.
    pub handler: Arc<dyn SendHandler>,
    /// The account's settings, where it has some of its own.
    pub settings: Option<AccountSettings>,
}

impl Encoders {
    /// `build` is called for each account that this process has no login of; it gives none for a
    /// platform that it does not know.
    pub fn new(
        build: impl Fn(&KnownAccount) -> Result<Option<Encoder>> + Send + Sync + 'static,
    ) -> Self {
        Self(Some(Arc::new(build)))
    }

    pub(super) fn build(&self, account: &KnownAccount) -> Result<Option<Encoder>> {
        self.0.as_ref().map_or(Ok(None), |build| build(account))
    }
}
