//! Worlds.

use async_trait::async_trait;
use galatea_core::{AgentId, RemoteId, Result, Source, World, WorldId, store::WorldStore};
use serde::Serialize;
use sqlx::FromRow;
use uuid::Uuid;

use crate::{PostgresStore, apply::Step, change::uuid, convert::from_json, read::select};

pub(crate) const STEPS: &[Step] = &[(
    "save_world",
    "INSERT INTO worlds (id, agent_id, source, remote, name, metadata) VALUES (
        (b ->> 'id')::uuid, (b ->> 'agent')::uuid, b ->> 'source', b ->> 'remote', b ->> 'name', b -> 'metadata')
     ON CONFLICT (id) DO UPDATE SET agent_id = excluded.agent_id, source = excluded.source, remote = excluded.remote, name = excluded.name,
        metadata = excluded.metadata;",
)];

pub(crate) const WORLD: &str = "SELECT id, agent_id, source, remote, name, metadata::text FROM worlds WHERE id = $1";
pub(crate) const WORLDS: &str = "SELECT id, agent_id, source, remote, name, metadata::text FROM worlds WHERE agent_id = $1 ORDER BY name, id";

#[derive(Serialize)]
struct Saved<'a> {
    id: Uuid,
    agent: Uuid,
    source: &'a str,
    remote: &'a str,
    name: &'a str,
    metadata: &'a galatea_core::WorldMetadata,
}

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
impl WorldStore for PostgresStore {
    async fn world(&self, id: WorldId) -> Result<Option<World>> {
        self.one(select::<Stored>(WORLD).bind(id.0)).await?.map(Stored::decode).transpose()
    }

    async fn worlds(&self, agent: AgentId) -> Result<Vec<World>> {
        self.all(select::<Stored>(WORLDS).bind(agent.0)).await?.into_iter().map(Stored::decode).collect()
    }

    async fn save_world(&self, world: &World) -> Result<()> {
        let mut change = self.change();
        let (source, remote) = (world.source.as_str(), world.remote.as_str());
        change.push("save_world", &Saved { id: uuid(world.id), agent: uuid(world.agent_id), source, remote, name: &world.name, metadata: &world.metadata })?;
        self.write(change).await.map(drop)
    }
}
