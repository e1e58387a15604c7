//! Keeps the people of Rooms for a while, so that few turns read them.

use galatea_core::{EntityId, Result, Room, RoomId, RoomPeople, Store};
use moka::sync::Cache;
use std::{sync::Arc, time::Duration};

/// Time for which the people of a Room are used. People who join or leave appear with this delay.
const FRESH: Duration = Duration::from_secs(300);
/// People of all Rooms together: some megabytes.
const PEOPLE: u64 = 100_000;

/// The people of the Rooms of one agent.
pub(crate) struct RoomPeopleCache(Cache<RoomId, Arc<RoomPeople>>);

impl RoomPeopleCache {
    pub(crate) fn new() -> Self {
        let size = |_: &RoomId, people: &Arc<RoomPeople>| {
            u32::try_from(people.named().count() + 1).unwrap_or(u32::MAX)
        };
        Self(Cache::builder().max_capacity(PEOPLE).weigher(size).time_to_live(FRESH).build())
    }

    /// The people of a Room, from memory or the store. In a direct Room all speak, so that the
    /// conversation names them.
    pub(crate) async fn of(
        &self,
        store: &dyn Store,
        agent: EntityId,
        room: &Room,
    ) -> Result<Arc<RoomPeople>> {
        if room.kind.is_direct() {
            return Ok(Arc::default());
        }
        if let Some(people) = self.0.get(&room.id) {
            return Ok(people);
        }
        let people = Arc::new(RoomPeople::new(agent, &store.entities_in_room(room.id).await?));
        self.0.insert(room.id, Arc::clone(&people));
        Ok(people)
    }

    /// The next turn of each Room reads its people again: one of them had their names deleted.
    pub(crate) fn forget(&self) {
        self.0.invalidate_all();
    }
}
