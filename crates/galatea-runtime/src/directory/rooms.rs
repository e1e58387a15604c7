//! Facts about a Room that its lane knows without asking the store: cached, and forgotten on every
//! change.

use galatea_core::{
    Address, AgentId, ParticipantState, RemoteId, Result, Room, RoomId, Store, World, WorldId,
    store::RequestedChange,
};
use std::{sync::Arc, time::Duration};

use crate::recent::Recent;

/// A Room with what decisions about it need.
#[derive(Debug, Clone)]
pub(crate) struct RoomInfo {
    pub(crate) room: Room,
    /// Absent before the platform has described it.
    pub(crate) world: Option<World>,
    /// The platform's id of the Room it is a thread of.
    pub(crate) parent: Option<RemoteId>,
    /// The agent's own state in it.
    pub(crate) own_state: Option<ParticipantState>,
}

/// Rooms of one agent. 4,096 rooms cost a few MB at most; others are read again when needed.
pub(crate) struct RoomCache {
    agent: AgentId,
    cache: Recent<RoomId, Arc<RoomInfo>>,
    moved: Recent<RoomId, (RoomId, RemoteId)>,
}

const CAPACITY: usize = 4096;
/// Time for which another process's change of a World or Room, such as a role, may go unnoticed
/// here.
const FRESH: Duration = Duration::from_secs(30);

impl RoomCache {
    pub(crate) fn new(agent: AgentId) -> Self {
        Self {
            agent,
            cache: Recent::new(CAPACITY).for_at_most(FRESH),
            moved: Recent::new(CAPACITY),
        }
    }

    /// The Room, from memory or the store; none when it does not exist.
    pub(crate) async fn load(
        &self,
        store: &dyn Store,
        id: RoomId,
    ) -> Result<Option<Arc<RoomInfo>>> {
        if let Some(info) = self.cache.get(&id) {
            return Ok(Some(info));
        }
        let Some(room) = store.room(id).await? else { return Ok(None) };
        let world = store.world(room.world_id).await?;
        let own_state = store.participant_state(id, self.agent.0.into()).await?;
        let parent = match room.parent_id {
            // A World's own id is its main room's on platforms where threads are rooms of a chat,
            // and that room may not be known.
            Some(parent) => store
                .room(parent)
                .await?
                .map(|parent| parent.remote)
                .or_else(|| world.as_ref().map(|w| w.remote.clone())),
            None => None,
        };
        let info = Arc::new(RoomInfo { room, world, parent, own_state });
        self.cache.insert(id, Arc::clone(&info));
        Ok(Some(info))
    }

    /// The World of a Room, from memory or the store; none when the Room does not exist.
    pub(crate) async fn world(&self, store: &dyn Store, id: RoomId) -> Result<Option<WorldId>> {
        if let Some(info) = self.cache.get(&id) {
            return Ok(Some(info.room.world_id));
        }
        Ok(store.room(id).await?.map(|room| room.world_id))
    }

    /// A Room goes on under another id: call after the store has moved it.
    pub(crate) fn moved(&self, from: RoomId, to: RoomId, remote: &RemoteId) {
        self.forget(from);
        self.forget(to);
        if from != to {
            self.moved.insert(from, (to, remote.clone()));
        }
    }

    /// Address of an answer whose Room moved while it was made.
    pub(crate) fn follow(&self, mut address: Address) -> Address {
        if let Some((room, remote)) = self.moved.get(&address.room) {
            (address.room, address.remote) = (room, remote);
        }
        address
    }

    /// The next turn reads the Room from the store.
    pub(crate) fn forget(&self, id: RoomId) {
        self.cache.remove(&id);
    }

    /// Forgets every Room (a World changed; rare).
    pub(crate) fn forget_all(&self) {
        self.cache.clear();
    }

    /// Forgets what these effects change.
    pub(crate) fn apply(&self, effects: &[RequestedChange]) {
        for effect in effects {
            match effect {
                RequestedChange::SaveTask { .. } | RequestedChange::DeleteTask { .. } => {}
                RequestedChange::SetParticipantState { room, .. }
                | RequestedChange::MergeRoomMetadata { room, .. } => self.forget(*room),
                RequestedChange::SetRole { .. }
                | RequestedChange::SetRetention { .. }
                | RequestedChange::SetWorldSetting { .. } => self.forget_all(),
                RequestedChange::MergeEntityMetadata { .. }
                | RequestedChange::ForgetPerson { .. }
                | RequestedChange::LinkPeople { .. }
                | RequestedChange::Unlink { .. } => {}
            }
        }
    }
}
