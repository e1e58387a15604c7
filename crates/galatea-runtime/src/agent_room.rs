//! The agent's own World, Room and Entity. They share its id, as elizaOS has them.

use galatea_core::{
    Account, AgentIdentity, ChannelType, RemoteId, Result, RoomId, Source, Store, WorldId,
    store::{ConnectionChange, EntityChange, RoomChange, WorldChange},
};
use serde_json::Map;

/// elizaOS's source for what belongs to no platform.
pub(crate) const SOURCE: Source = Source::new("elizaos");

/// Stores them; known ones under the same name cost a read only.
pub(crate) async fn remember(
    store: &dyn Store,
    identity: &AgentIdentity,
    name: &str,
) -> Result<()> {
    let (agent, id) = (identity.id(), identity.id().0);
    let (world, room, entity) = (WorldId(id), RoomId(id), identity.entity());
    let world_name = format!("{name}'s World");
    if store.world(world).await?.is_some_and(|known| known.name == world_name) {
        return Ok(());
    }
    let remote = RemoteId::new(agent);
    let change = ConnectionChange {
        worlds: vec![WorldChange {
            id: world,
            agent,
            source: SOURCE,
            remote: remote.clone(),
            name: Some(world_name),
            metadata: Map::new(),
        }],
        rooms: vec![RoomChange {
            id: room,
            agent,
            world,
            parent: None,
            source: SOURCE,
            account: Account(String::new()),
            remote,
            kind: ChannelType::OneSelf,
            name: Some(name.to_owned()),
            metadata: Map::new(),
        }],
        entities: vec![EntityChange {
            id: entity,
            agent,
            names: vec![name.to_owned()],
            metadata: Map::new(),
        }],
        participants: vec![(entity, room)],
        past: false,
    };
    store.connect(change).await
}
