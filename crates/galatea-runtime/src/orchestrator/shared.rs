//! An agent as the keeper of leases sees it.

use galatea_core::{Account, AgentId, KnownAccount, Source, store::Partition};
use std::sync::Arc;

use super::{agent::Agent, services, supervise};
use crate::ownership::{LeaseGuard, Ownership, RoomPartition, SharedAgent};

impl SharedAgent for Agent {
    fn id(&self) -> AgentId {
        self.identity.id()
    }

    fn name(&self) -> String {
        self.profile.get().view.character.name.clone()
    }

    fn ownership(&self) -> &Ownership {
        &self.ownership
    }

    fn accounts(&self) -> Vec<(Source, Account)> {
        self.leased_accounts()
    }

    fn known_accounts(&self) -> Vec<KnownAccount> {
        Self::known_accounts(self)
    }

    fn learn(&self, accounts: Vec<KnownAccount>) {
        Self::learn(self, accounts);
    }

    fn unserved(&self) -> Vec<Partition> {
        self.company.unserved(self.id())
    }

    fn logins_needed(&self) -> Vec<Source> {
        self.shared_connectors()
            .filter(|connector| connector.login_needed().is_some())
            .map(|connector| connector.info().source.clone())
            .collect()
    }

    fn is_stopping(&self) -> bool {
        self.stop.is_cancelled()
    }

    fn answered_by(&self, processes: usize) {
        self.budget.share_with(processes);
    }

    fn connect(self: Arc<Self>, source: &Source, account: &Account, lease: LeaseGuard) {
        let Some(connector) = self.connector(source, account).cloned() else { return };
        // Another process may have changed the stored rows of its people and places.
        self.directory.known.clear();
        let connections = self.connections.clone();
        connections.spawn(supervise::connector(self, connector, lease));
    }

    fn connected_elsewhere(&self, source: &Source, account: &Account) {
        if let Some(connector) = self.connector(source, account) {
            supervise::elsewhere(self, connector.as_ref());
        }
    }

    fn answer(self: Arc<Self>, partitions: Vec<Arc<RoomPartition>>) {
        // Services are one piece of work: they go with the first partition.
        for first in partitions.iter().filter(|partition| partition.number == 0) {
            let services = services::under(Arc::clone(&self), first.lease.clone());
            self.connections.spawn(services);
        }
        let (inbox, halt) = (Arc::clone(&self.inbox), self.halt.clone());
        self.tasks.spawn(async move {
            halt.run_until_cancelled(inbox.reconcile_partitions(&partitions)).await
        });
    }
}
