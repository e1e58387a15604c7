//! Events for dashboards.

use async_trait::async_trait;
use galatea_core::{
    AgentId, Result, Timestamp,
    store::{LIVE_KEPT, LiveEvent, LiveStore},
};
use serde_json::json;
use sqlx::FromRow;
use uuid::Uuid;

use crate::{
    Database,
    change::{Change, Write},
    convert::{from_json, to_json},
    dialect::{Dialects, Value, values},
};

/// Numbers in the order of commits: without it a reader could see a number before a smaller one. The first
/// number is ours alone.
pub(crate) const LOCK: Dialects =
    Dialects { sqlite: "", postgres: "SELECT pg_advisory_xact_lock(1271819331, 2)" };
pub(crate) const ADD: Dialects = Dialects {
    sqlite: "INSERT INTO live_events (at, agent_id, kind, data) \
             SELECT value ->> '$.at', unhex(value ->> '$.agent'), value ->> '$.kind', value -> '$.data' FROM json_each($1) ORDER BY key",
    postgres: "INSERT INTO live_events (at, agent_id, kind, data) \
               SELECT (e ->> 'at')::bigint, (e ->> 'agent')::uuid, e ->> 'kind', (e -> 'data')::json \
               FROM jsonb_array_elements($1) WITH ORDINALITY list (e, n) ORDER BY n",
};
pub(crate) const PRUNE: Dialects =
    Dialects::same("DELETE FROM live_events WHERE seq <= (SELECT max(seq) FROM live_events) - $1");
pub(crate) const AFTER: Dialects = Dialects::same(
    "SELECT seq, at, agent_id, kind, CAST(data AS text) AS data FROM live_events WHERE seq > $1 ORDER BY seq LIMIT +$2",
);
pub(crate) const BOUNDS: Dialects =
    Dialects::same("SELECT (SELECT min(seq) FROM live_events), (SELECT max(seq) FROM live_events)");

#[derive(FromRow)]
struct Stored {
    seq: i64,
    at: i64,
    agent_id: Option<Uuid>,
    kind: String,
    data: String,
}

#[async_trait]
impl LiveStore for Database {
    async fn add_live(&self, events: &[LiveEvent]) -> Result<()> {
        if events.is_empty() {
            return Ok(());
        }
        let rows: Vec<_> = events
            .iter()
            .map(|event| {
                json!({
                    "at": event.at.0,
                    "agent": event.agent.map(|id| id.0.simple().to_string()),
                    "kind": event.kind,
                    "data": event.data,
                })
            })
            .collect();
        let statements = vec![
            LOCK.with(values![]),
            ADD.with(vec![Value::Jsonb(to_json(&rows)?)]),
            PRUNE.with(values![LIVE_KEPT]),
        ];
        let mut change = Change::default();
        change.push(Write::Other { statements, counted: Some(1) })?;
        self.write(change).await.map(drop)
    }

    async fn live_after(&self, seq: i64, limit: u32) -> Result<Vec<LiveEvent>> {
        let rows = self.all::<Stored>(AFTER.with(values![seq, limit])).await?;
        let decode = |row: Stored| {
            Ok(LiveEvent {
                seq: row.seq,
                at: Timestamp(row.at),
                agent: row.agent_id.map(AgentId),
                kind: row.kind,
                data: from_json("live event", &row.data)?,
            })
        };
        rows.into_iter().map(decode).collect()
    }

    async fn live_bounds(&self) -> Result<Option<(i64, i64)>> {
        let row = self.fetch_one::<(Option<i64>, Option<i64>)>(BOUNDS.with(values![])).await?;
        Ok(row.and_then(|(first, last)| first.zip(last)))
    }
}
