//! One agent, assembled: the parts that the orchestrator starts, watches and stops.

use galatea_core::{
    Account, AgentIdentity, Clock, Connector, EventBus, Outbound, PluginContext, ServiceContext,
    Source, service::ServiceEntry,
};
use std::sync::Arc;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{company::Company, plugins::AgentPlugins, service_runner::ServiceRunner};
use crate::{
    budget::Budget,
    directory::Directory,
    inbox::Inbox,
    intake::Intake,
    outbox::Outbox,
    ownership::Ownership,
    profile::CurrentProfile,
    tasks::TaskRunner,
    trace::{TraceCounts, Tracer},
    turn::{Failures, Windows},
};

/// One assembled agent, running or not.
pub(super) struct Agent {
    pub(super) identity: AgentIdentity,
    /// Its character and settings, which may be replaced while it runs.
    pub(super) profile: CurrentProfile,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) events: EventBus,
    pub(super) connectors: Vec<Arc<dyn Connector>>,
    /// Its plugins, which may be replaced while it runs.
    pub(super) plugins: AgentPlugins,
    /// Its services at work.
    pub(super) services: ServiceRunner,
    /// Accounts whose login other processes have.
    pub(super) company: Company,
    pub(super) directory: Arc<Directory>,
    pub(super) ownership: Arc<Ownership>,
    pub(super) intake: Arc<Intake>,
    pub(super) inbox: Arc<Inbox>,
    pub(super) outbox: Arc<Outbox>,
    pub(super) budget: Arc<Budget>,
    /// Runs its tasks at their time.
    pub(super) task_runner: Arc<TaskRunner>,
    /// How much its models take.
    pub(super) windows: Arc<Windows>,
    /// Its turns in a row without an answer.
    pub(super) failures: Arc<Failures>,
    pub(super) outbound: Arc<dyn Outbound>,
    /// Keeps what its turns did.
    pub(super) tracer: Tracer,
    /// Numbers of these traces.
    pub(super) trace_counts: Arc<TraceCounts>,
    /// Turns, sends and evaluators; stopping waits for them.
    pub(super) tasks: TaskTracker,
    /// Connectors and services at work.
    pub(super) connections: TaskTracker,
    /// Ends connectors and services.
    pub(super) stop: CancellationToken,
    /// Ends turns and sends where they are, when stopping took too long. The store knows how to go
    /// on.
    pub(super) halt: CancellationToken,
}

impl Agent {
    /// What a run of a service may use. It sees the agent as it is when the run begins.
    pub(super) fn service_context(&self, entry: &ServiceEntry) -> ServiceContext {
        let profile = self.profile.get();
        let meter = self.budget.background(&profile.services, entry.service.name());
        let PluginContext {
            agent, settings, store, cache, services, outbound, events, clock, ..
        } = self.plugins.context_for(&entry.plugin);
        let models = meter.models(self.plugins.models());
        ServiceContext {
            agent,
            settings,
            store,
            cache,
            services,
            outbound,
            embedding: models.embedding.clone(),
            models,
            usage: meter,
            clock,
            events,
        }
    }

    /// The logins of this process that processes take turns with.
    pub(super) fn leased_accounts(&self) -> Vec<(Source, Account)> {
        let infos = self.shared_connectors().filter(|connector| connector.login_needed().is_none());
        infos
            .map(|connector| connector.info())
            .map(|info| (info.source.clone(), info.account.clone()))
            .collect()
    }

    /// Connectors of platforms that processes take turns with.
    pub(super) fn shared_connectors(&self) -> impl Iterator<Item = &Arc<dyn Connector>> {
        self.connectors
            .iter()
            .filter(|connector| self.ownership.is_leased(&connector.info().source))
    }

    /// The connector of an account.
    pub(super) fn connector(
        &self,
        source: &Source,
        account: &Account,
    ) -> Option<&Arc<dyn Connector>> {
        self.connectors.iter().find(|connector| {
            let info = connector.info();
            info.source == *source && info.account == *account
        })
    }
}
