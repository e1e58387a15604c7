//! Keeps the people of Rooms for a while, so that few turns read them.

use galatea_core::{EntityId, Result, Room, RoomId, RoomPeople, Store};
use std::{sync::Arc, time::Duration};

use crate::recent::Recent;

/// Time for which the people of a Room are used. People who join or leave appear with this delay.
const FRESH: Duration = Duration::from_secs(300);
/// People of all Rooms together: some megabytes.
const PEOPLE: usize = 100_000;

/// The people of the Rooms of one agent.
pub(crate) struct RoomPeopleCache(Recent<RoomId, Arc<RoomPeople>>);

impl RoomPeopleCache {
    pub(crate) fn new() -> Self {
        Self(Recent::new(PEOPLE).for_at_most(FRESH))
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
        let size = people.named().count() + 1;
        self.0.insert_weighing(room.id, Arc::clone(&people), size);
        Ok(people)
    }

    /// The next turn of each Room reads its people again: one of them had their names deleted.
    pub(crate) fn forget(&self) {
        self.0.clear();
    }
}
