//! Worlds.

use async_trait::async_trait;
use galatea_core::{AgentId, RemoteId, Result, Source, World, WorldId, store::WorldStore};
use sqlx::FromRow;
use uuid::Uuid;

use crate::{
    Database,
    convert::from_json,
    dialect::{Dialects, values},
};

pub(crate) const WORLD: Dialects = Dialects::same(
    "SELECT id, agent_id, source, remote, name, CAST(metadata AS text) AS metadata FROM worlds WHERE id = $1",
);
pub(crate) const WORLDS: Dialects = Dialects::same(
    "SELECT id, agent_id, source, remote, name, CAST(metadata AS text) AS metadata FROM worlds WHERE agent_id = $1 ORDER BY name, id",
);

#[derive(FromRow)]
struct Stored {
    id: Uuid,
    agent_id: Uuid,
    source: String,
    remote: String,
    name: String,
    metadata: String,
}

impl Stored {
    fn decode(self) -> Result<World> {
        Ok(World {
            id: WorldId(self.id),
            agent_id: AgentId(self.agent_id),
            source: Source::from_name(self.source),
            remote: RemoteId(self.remote),
            name: self.name,
            metadata: from_json("world metadata", &self.metadata)?,
        })
    }
}

#[async_trait]
impl WorldStore for Database {
    async fn world(&self, id: WorldId) -> Result<Option<World>> {
        self.fetch_one(WORLD.with(values![id.0])).await?.map(Stored::decode).transpose()
    }

    async fn worlds(&self, agent: AgentId) -> Result<Vec<World>> {
        self.all(WORLDS.with(values![agent.0])).await?.into_iter().map(Stored::decode).collect()
    }
}
