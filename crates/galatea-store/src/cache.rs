//! Small values by key, per agent.

use async_trait::async_trait;
use galatea_core::{AgentId, Result, Timestamp, store::CacheStore};
use serde_json::Value as Json;
use std::sync::atomic::Ordering;
use uuid::Uuid;

use crate::{
    Database,
    change::{Change, Write},
    convert::{from_json, to_json},
    dialect::{Dialects, Statement, Value, values},
};

/// What expired before the latest moment a reader named goes with the next write, so the table
/// cannot grow for ever.
pub(crate) const EXPIRE: Dialects = Dialects::same("DELETE FROM cache WHERE expires_at <= $1");
pub(crate) const SAVE: Dialects = Dialects::same(
    "INSERT INTO cache (agent_id, key, value, expires_at) VALUES ($1, $2, $3, $4) \
     ON CONFLICT (agent_id, key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at",
);
/// Stores the first value of a key.
pub(crate) const FIRST: Dialects = Dialects::same(
    "INSERT INTO cache (agent_id, key, value, expires_at) VALUES ($1, $2, $3, NULL) \
     ON CONFLICT (agent_id, key) DO NOTHING",
);
/// Replaces a value that still is what was read. Both texts are written by the same serializer.
pub(crate) const SWAP: Dialects = Dialects::same(
    "UPDATE cache SET value = $3, expires_at = NULL \
     WHERE agent_id = $1 AND key = $2 AND CAST(value AS text) = $4",
);
pub(crate) const FORGET: Dialects =
    Dialects::same("DELETE FROM cache WHERE agent_id = $1 AND key = $2");
pub(crate) const CACHED: Dialects = Dialects::same(
    "SELECT CAST(value AS text) AS value FROM cache WHERE agent_id = $1 AND key = $2 AND (expires_at IS NULL OR expires_at > $3)",
);
macro_rules! cached_of {
    ($agents:literal) => {
        concat!(
            "SELECT agent_id, CAST(value AS text) AS value FROM cache WHERE agent_id ",
            $agents,
            " AND key = $2 AND (expires_at IS NULL OR expires_at > $3)"
        )
    };
}
pub(crate) const CACHED_OF: Dialects = Dialects {
    sqlite: cached_of!("IN (SELECT unhex(value) FROM json_each($1))"),
    postgres: cached_of!("= ANY ($1)"),
};

#[async_trait]
impl CacheStore for Database {
    async fn cached(&self, agent: AgentId, key: &str, now: Timestamp) -> Result<Option<Json>> {
        self.0.cache_now.fetch_max(now.0, Ordering::Relaxed);
        let row = self.fetch_one::<(String,)>(CACHED.with(values![agent.0, key, now.0])).await?;
        row.map(|(value,)| from_json("cached value", &value)).transpose()
    }

    async fn cached_of(
        &self,
        agents: &[AgentId],
        key: &str,
        now: Timestamp,
    ) -> Result<Vec<(AgentId, Json)>> {
        let mut values = vec![Value::Ids(agents.iter().map(|id| id.0).collect())];
        values.extend(values![key, now.0]);
        let rows = self.all::<(Uuid, String)>(CACHED_OF.with(values)).await?;
        let read =
            |(id, value): (Uuid, String)| Ok((AgentId(id), from_json("cached value", &value)?));
        rows.into_iter().map(read).collect()
    }

    async fn cache(
        &self,
        agent: AgentId,
        key: &str,
        value: &Json,
        expires: Option<Timestamp>,
    ) -> Result<()> {
        let mut values = values![agent.0, key];
        values.push(Value::Json(Some(to_json(value)?)));
        values.push(expires.map(|at| at.0).into());
        self.write_cache(SAVE.with(values)).await.map(drop)
    }

    async fn swap(
        &self,
        agent: AgentId,
        key: &str,
        seen: Option<&Json>,
        value: &Json,
    ) -> Result<bool> {
        let mut values = values![agent.0, key];
        values.push(Value::Json(Some(to_json(value)?)));
        let statement = match seen {
            None => FIRST.with(values),
            Some(seen) => {
                values.push(to_json(seen)?.into());
                SWAP.with(values)
            }
        };
        Ok(self.write_cache(statement).await? > 0)
    }

    async fn forget(&self, agent: AgentId, key: &str) -> Result<()> {
        self.write_one(FORGET.with(values![agent.0, key])).await.map(drop)
    }
}

impl Database {
    /// Commits a statement, and before it removes what has expired: how many rows the statement
    /// touched.
    async fn write_cache(&self, statement: Statement) -> Result<u64> {
        let now = self.0.cache_now.load(Ordering::Relaxed);
        let statements = vec![EXPIRE.with(values![now]), statement];
        let mut change = Change::default();
        change.push(Write::Other { statements, counted: None })?;
        Ok(self.write(change).await?.first().copied().unwrap_or(0))
    }
}
