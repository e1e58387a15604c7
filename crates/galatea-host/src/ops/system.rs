//! Connectors, usage, blocks, and the record of changes.

use galatea_core::{
    AgentId, Result,
    store::{Block, Day, OperatorRole, RecordedChange, UsageRow},
};
use galatea_runtime::ConnectorStatus;

use super::{Operator, Ops};

impl Ops {
    /// Every connector of this process with its health.
    ///
    /// # Errors
    /// `Unsupported` in a process without agents.
    pub fn connectors(&self, by: &Operator) -> Result<Vec<ConnectorStatus>> {
        by.need(OperatorRole::Viewer)?;
        Ok(self.running()?.statuses())
    }

    /// Rows of the ledger of the last days, today included.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn usage(
        &self,
        by: &Operator,
        agent: Option<AgentId>,
        days: u16,
    ) -> Result<Vec<UsageRow>> {
        by.need(OperatorRole::Viewer)?;
        let today = Day::of(self.clock.now());
        let since = Day(today.0.saturating_sub(i64::from(days.max(1)) - 1));
        self.store.usage(agent, since).await
    }

    /// Who is never answered.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn blocks(&self, by: &Operator, agent: AgentId) -> Result<Vec<Block>> {
        by.need(OperatorRole::Viewer)?;
        self.store.blocks(agent).await
    }

    /// Changes that operators made, before a number, newest first.
    ///
    /// # Errors
    /// `Forbidden` for anybody but an owner.
    pub async fn changes(
        &self,
        by: &Operator,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<RecordedChange>> {
        by.need(OperatorRole::Owner)?;
        self.store.recorded_changes(before, limit).await
    }
}
