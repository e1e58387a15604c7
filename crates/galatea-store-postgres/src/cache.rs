//! Small values by key, per agent.

use async_trait::async_trait;
use galatea_core::{AgentId, Result, Timestamp, store::CacheStore};
use serde::Serialize;
use serde_json::Value;
use std::sync::atomic::Ordering;
use uuid::Uuid;

use crate::{
    PostgresStore,
    apply::Step,
    change::{Text, uuid},
    convert::from_json,
    read::select,
};

pub(crate) const STEPS: &[Step] = &[
    (
        // What expired before the latest moment a reader named goes with the next write, so the table cannot grow for ever.
        "cache",
        "DELETE FROM cache WHERE expires_at <= (b ->> 'now')::bigint;
         INSERT INTO cache (agent_id, key, value, expires_at) VALUES (
            (b ->> 'agent')::uuid, b ->> 'key', (b ->> 'value')::json, (b ->> 'expires')::bigint)
         ON CONFLICT (agent_id, key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at;",
    ),
    ("forget", "DELETE FROM cache WHERE agent_id = (b ->> 'agent')::uuid AND key = b ->> 'key';"),
];

pub(crate) const CACHED: &str = "SELECT value::text FROM cache WHERE agent_id = $1 AND key = $2 AND (expires_at IS NULL OR expires_at > $3)";

#[derive(Serialize)]
struct Saved<'a> {
    agent: Uuid,
    key: &'a str,
    expires: Option<i64>,
    now: i64,
    value: Text<'a, Value>,
}

#[derive(Serialize)]
struct Forgotten<'a> {
    agent: Uuid,
    key: &'a str,
}

#[async_trait]
impl CacheStore for PostgresStore {
    async fn cached(&self, agent: AgentId, key: &str, now: Timestamp) -> Result<Option<Value>> {
        self.0.cache_now.fetch_max(now.0, Ordering::Relaxed);
        let row = self.one(select::<(String,)>(CACHED).bind(agent.0).text(key).bind(now.0)).await?;
        row.map(|(value,)| from_json("cached value", &value)).transpose()
    }

    async fn cache(&self, agent: AgentId, key: &str, value: &Value, expires: Option<Timestamp>) -> Result<()> {
        let mut change = self.change();
        let now = self.0.cache_now.load(Ordering::Relaxed);
        change.push("cache", &Saved { agent: uuid(agent), key, expires: expires.map(|at| at.0), now, value: Text(value) })?;
        self.write(change).await.map(drop)
    }

    async fn forget(&self, agent: AgentId, key: &str) -> Result<()> {
        let mut change = self.change();
        change.push("forget", &Forgotten { agent: uuid(agent), key })?;
        self.write(change).await.map(drop)
    }
}
