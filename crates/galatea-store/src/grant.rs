//! Grants of tools.

use async_trait::async_trait;
use galatea_core::{
    AgentId, EntityId, Result, RoomId, Timestamp, WorldId,
    rights::{Grant, GrantAsk, GrantKind, least_as_str, parse_least},
    store::GrantStore,
};
use sqlx::FromRow;
use uuid::Uuid;

use crate::{
    Database,
    dialect::{Dialects, values},
    error,
};

// A place or a person that a grant does not name is the nil id: a key cannot hold NULL.
pub(crate) const SAVE: Dialects = Dialects::same(
    "INSERT INTO grants (agent_id, kind, tools, world_id, room_id, entity_id, least, ask, pin, at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) \
     ON CONFLICT (agent_id, kind, tools, world_id, room_id, entity_id) DO UPDATE SET least = excluded.least, ask = excluded.ask, \
        pin = excluded.pin, at = excluded.at",
);
pub(crate) const REMOVE: Dialects = Dialects::same(
    "DELETE FROM grants WHERE agent_id = $1 AND kind = $2 AND tools = $3 AND world_id = $4 AND room_id = $5 AND entity_id = $6",
);
pub(crate) const GRANTS: Dialects = Dialects::same(
    "SELECT kind, tools, world_id, room_id, entity_id, least, ask, pin, at FROM grants WHERE agent_id = $1 \
     ORDER BY kind, tools, world_id, room_id, entity_id",
);

#[derive(FromRow)]
struct Stored {
    kind: String,
    tools: String,
    world_id: Uuid,
    room_id: Uuid,
    entity_id: Uuid,
    least: String,
    ask: String,
    pin: Option<String>,
    at: i64,
}

impl Stored {
    fn decode(self, agent: AgentId) -> Result<Grant> {
        let named = |id: Uuid| (!id.is_nil()).then_some(id);
        Ok(Grant {
            agent,
            kind: GrantKind::parse(&self.kind)
                .ok_or_else(|| error::unreadable("grant", self.kind))?,
            tools: self.tools.parse()?,
            world: named(self.world_id).map(WorldId),
            room: named(self.room_id).map(RoomId),
            person: named(self.entity_id).map(EntityId),
            from: parse_least(&self.least).ok_or_else(|| error::unreadable("grant", self.least))?,
            ask: GrantAsk::parse(&self.ask).ok_or_else(|| error::unreadable("grant", self.ask))?,
            pin: self.pin,
            at: Timestamp(self.at),
        })
    }
}

/// The values of the key, in its order.
fn key(grant: &Grant) -> Vec<crate::dialect::Value> {
    values![
        grant.agent.0,
        grant.kind.as_str(),
        grant.tools.to_string().to_ascii_lowercase(),
        grant.world.map_or(Uuid::nil(), |id| id.0),
        grant.room.map_or(Uuid::nil(), |id| id.0),
        grant.person.map_or(Uuid::nil(), |id| id.0)
    ]
}

#[async_trait]
impl GrantStore for Database {
    async fn save_grant(&self, grant: &Grant) -> Result<()> {
        let mut values = key(grant);
        values.extend(values![
            least_as_str(grant.from),
            grant.ask.as_str(),
            grant.pin.clone(),
            grant.at.0
        ]);
        self.write_one(SAVE.with(values)).await.map(drop)
    }

    async fn remove_grant(&self, grant: &Grant) -> Result<bool> {
        Ok(self.write_one(REMOVE.with(key(grant))).await? > 0)
    }

    async fn grants(&self, agent: AgentId) -> Result<Vec<Grant>> {
        let rows: Vec<Stored> = self.all(GRANTS.with(values![agent.0])).await?;
        rows.into_iter().map(|row| row.decode(agent)).collect()
    }
}
