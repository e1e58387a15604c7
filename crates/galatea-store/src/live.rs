//! Events for dashboards.

use async_trait::async_trait;
use galatea_core::{
    AgentId, Result, Timestamp,
    store::{LIVE_KEPT, LiveEvent, LiveStore, MESSAGE_SENT, NewDelivery},
};
use serde_json::json;
use sqlx::FromRow;
use uuid::Uuid;

use crate::{
    Database,
    change::{Change, Write},
    convert::{from_json, to_json},
    dialect::{Dialects, Statement, Value, values},
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

/// The statements that add events.
fn added(events: &[LiveEvent]) -> Result<[Statement; 2]> {
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
    Ok([LOCK.with(values![]), ADD.with(vec![Value::Jsonb(to_json(&rows)?)])])
}

/// Adds the events that appear with a commit: those of parts which it delivers, then `told`. Called last: the
/// lock that keeps their order lasts until the commit.
pub(crate) fn push_told(
    change: &mut Change,
    deliveries: &[NewDelivery],
    told: &[LiveEvent],
) -> Result<()> {
    let sent = deliveries.iter().filter(|row| row.delivered).map(|row| {
        let delivery = &row.delivery;
        LiveEvent {
            seq: 0,
            at: delivery.created_at,
            agent: Some(delivery.agent),
            kind: MESSAGE_SENT.to_owned(),
            data: json!({
                "room": delivery.address.room,
                "turn": delivery.turn,
                "delivery": delivery.id,
                "memory": row.memory,
            }),
        }
    });
    let events: Vec<LiveEvent> = sent.chain(told.iter().cloned()).collect();
    if events.is_empty() {
        return Ok(());
    }
    let statements = added(&events)?.into();
    change.push(Write::Other { statements, counted: Some(1) }).map(drop)
}

#[async_trait]
impl LiveStore for Database {
    async fn add_live(&self, events: &[LiveEvent]) -> Result<()> {
        if events.is_empty() {
            return Ok(());
        }
        let [lock, add] = added(events)?;
        let statements = vec![lock, add, PRUNE.with(values![LIVE_KEPT])];
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
