//! Events for other processes: a SQLite file has one process, so there are no subscribers.

use async_trait::async_trait;
use galatea_core::{
    Event, MemberId, Result,
    store::{EventPosition, EventStore},
};

use crate::{Backend, Database};

#[async_trait]
impl EventStore for Database {
    async fn publish_events(&self, member: MemberId, events: &[Event]) -> Result<()> {
        match &self.0.backend {
            Backend::Sqlite(_) => Ok(()),
            Backend::Postgres(postgres) => postgres.publish_events(member, events).await,
        }
    }

    async fn events_after(
        &self,
        member: MemberId,
        after: Option<EventPosition>,
        limit: u32,
    ) -> Result<(EventPosition, Vec<Event>)> {
        match &self.0.backend {
            Backend::Sqlite(_) => Ok((after.unwrap_or(EventPosition(0, 0)), Vec::new())),
            Backend::Postgres(postgres) => postgres.events_after(member, after, limit).await,
        }
    }
}
