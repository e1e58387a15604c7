//! The processes that share the database.

use galatea_core::{
    Result,
    store::{LeaseStatus, Member, OperatorRole},
};
use galatea_runtime::BudgetState;
use std::time::Duration;

use super::{Operator, Ops};

/// The processes that share the database, and who does what.
#[derive(Debug, Clone)]
pub struct ClusterView {
    /// Several processes may share it.
    pub shared: bool,
    /// The processes.
    pub members: Vec<Member>,
    /// Their leases.
    pub leases: Vec<LeaseStatus>,
    /// How long the oldest message waits that nobody has begun.
    pub behind: Option<Duration>,
}

impl Ops {
    /// The processes that share the database, by age.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn cluster(&self, by: &Operator) -> Result<ClusterView> {
        by.need(OperatorRole::Viewer)?;
        let now = self.store.store_clock().await?.unwrap_or_else(|| self.clock.now());
        Ok(ClusterView {
            shared: self.store.is_shared(),
            members: self.store.members().await?,
            leases: self.store.leases().await?,
            behind: self.store.oldest_unstarted().await?.map(|since| now.since(since)),
        })
    }

    /// Caps of money or tokens of which at least 80 % are used today.
    ///
    /// # Errors
    /// `Unsupported` in a process without agents.
    pub fn budgets(&self, by: &Operator) -> Result<Vec<BudgetState>> {
        by.need(OperatorRole::Viewer)?;
        Ok(self.running()?.budgets())
    }
}
