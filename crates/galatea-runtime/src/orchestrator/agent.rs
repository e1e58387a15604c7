//! One agent, assembled: the parts that the orchestrator starts, watches and stops.

use galatea_core::{Account, AgentView, Clock, Connector, EventBus, Outbound, Services, Source};
use std::sync::Arc;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    budget::Budget, directory::Directory, inbox::Inbox, intake::Intake, outbox::Outbox,
    ownership::Ownership,
};

/// One agent.
pub(super) struct Agent {
    pub(super) view: Arc<AgentView>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) events: EventBus,
    pub(super) connectors: Vec<Arc<dyn Connector>>,
    pub(super) services: Services,
    pub(super) directory: Arc<Directory>,
    pub(super) ownership: Arc<Ownership>,
    pub(super) intake: Arc<Intake>,
    pub(super) inbox: Arc<Inbox>,
    pub(super) outbox: Arc<Outbox>,
    pub(super) budget: Arc<Budget>,
    pub(super) outbound: Arc<dyn Outbound>,
    /// Turns, sends, evaluators.
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
    /// The logins that processes take turns with.
    pub(super) fn leased_accounts(&self) -> Vec<(Source, Account)> {
        let infos = self.connectors.iter().map(|connector| connector.info());
        infos
            .filter(|info| self.ownership.is_leased(&info.source))
            .map(|info| (info.source.clone(), info.account.clone()))
            .collect()
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
