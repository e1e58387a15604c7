//! Turns and parts of answers.

use galatea_core::{
    DeliveryId, Error, ErrorKind, MemoryId, Result,
    store::{
        Counts, DeliveriesQuery, InboxItem, OperatorRole, OutboxItem, Page, Resolution, TurnsQuery,
    },
};
use serde_json::json;

use super::{Operator, Ops};

impl Ops {
    /// Messages with their decisions, newest first.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn turns(&self, by: &Operator, query: &TurnsQuery) -> Result<Page<InboxItem>> {
        by.need(OperatorRole::Viewer)?;
        self.store.list_turns(query).await
    }

    /// One message with its decision and the parts of its answer.
    ///
    /// # Errors
    /// `NotFound` for an unknown message.
    pub async fn turn(&self, by: &Operator, id: MemoryId) -> Result<(InboxItem, Vec<OutboxItem>)> {
        by.need(OperatorRole::Viewer)?;
        let item = self.store.inbox_item(id).await?;
        let item = item.ok_or_else(|| Error::not_found("no message of this id was received"))?;
        let parts = match item.turn {
            Some(turn) => self.store.deliveries_of(turn).await?,
            None => Vec::new(),
        };
        Ok((item, parts))
    }

    /// Parts of answers, newest first.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn outbox(&self, by: &Operator, query: &DeliveriesQuery) -> Result<Page<OutboxItem>> {
        by.need(OperatorRole::Viewer)?;
        self.store.list_deliveries(query).await
    }

    /// One part.
    ///
    /// # Errors
    /// `NotFound` for an unknown part.
    pub async fn delivery(&self, by: &Operator, id: DeliveryId) -> Result<OutboxItem> {
        by.need(OperatorRole::Viewer)?;
        let part = self.store.delivery(id).await?;
        part.ok_or_else(|| Error::not_found("there is no such part of an answer"))
    }

    /// Sends a part again that was ambiguous, expired or dead.
    ///
    /// # Errors
    /// `NotFound` for an unknown part, `Conflict` for one in another state.
    pub async fn retry_delivery(&self, by: &Operator, id: DeliveryId) -> Result<OutboxItem> {
        self.resolve(by, id, Resolution::Retry, "outbox.retry").await
    }

    /// Never sends a part that waits or is ambiguous.
    ///
    /// # Errors
    /// `NotFound` for an unknown part, `Conflict` for one in another state.
    pub async fn drop_delivery(&self, by: &Operator, id: DeliveryId) -> Result<OutboxItem> {
        self.resolve(by, id, Resolution::Drop, "outbox.drop").await
    }

    async fn resolve(
        &self,
        by: &Operator,
        id: DeliveryId,
        resolution: Resolution,
        operation: &str,
    ) -> Result<OutboxItem> {
        let before = self.delivery(by, id).await?;
        by.need_on(OperatorRole::Operator, before.delivery.agent)?;
        if !self.store.resolve(id, resolution, self.clock.now()).await? {
            return Err(Error::new(
                ErrorKind::Conflict,
                format!("this cannot be done with a part that is {}", before.state.as_str()),
            )
            .with_code("GAL-OUTBOX-STATE")
            .with_fix("read it again: it may have changed meanwhile"));
        }
        let after = self.delivery(by, id).await?;
        let state = |item: &OutboxItem| Some(json!({ "state": item.state }));
        self.record(by, operation, id, state(&before), state(&after)).await?;
        Ok(after)
    }

    /// What waits and what failed, counted.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn counts(&self, by: &Operator) -> Result<Counts> {
        by.need(OperatorRole::Viewer)?;
        self.store.counts().await
    }
}
