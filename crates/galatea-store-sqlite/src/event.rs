//! Events for other processes: a SQLite file has one process, so there is nobody to tell.

use async_trait::async_trait;
use galatea_core::{
    Event, MemberId, Result,
    store::{EventPosition, EventStore},
};

use crate::SqliteStore;

#[async_trait]
impl EventStore for SqliteStore {
    async fn publish_events(&self, _: MemberId, _: &[Event]) -> Result<()> {
        Ok(())
    }

    async fn events_after(&self, _: MemberId, after: Option<EventPosition>, _: u32) -> Result<(EventPosition, Vec<Event>)> {
        Ok((after.unwrap_or(EventPosition(0, 0)), Vec::new()))
    }
}
