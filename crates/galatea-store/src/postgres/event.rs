//! Events for other processes: a table that is read behind all running transactions, so that
//! nothing which commits late is skipped.

use async_trait::async_trait;
use galatea_core::{
    Error, Event, MemberId, Result,
    store::{EventPosition, EventStore},
};
use uuid::Uuid;

use super::Postgres;
use crate::{
    convert::to_json,
    dialect::{Statement, Value, values},
};

/// Kept for so long, in milliseconds. Who was away longer has missed some.
const KEPT: i64 = 10 * 60 * 1000;

/// The time of the statement, since an index is not asked for a time that runs on.
pub(crate) const PUBLISH: &str = "WITH old AS (DELETE FROM events WHERE at < (extract(epoch FROM statement_timestamp()) * 1000)::bigint - $3) \
     INSERT INTO events (member_id, event) SELECT $1, unnest($2::text[])::json RETURNING seq";
/// The oldest transaction that still runs: what is older is complete.
pub(crate) const END: &str =
    "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint, 0::bigint";
pub(crate) const AFTER: &str = "SELECT tx::text::bigint, seq, member_id, event::text FROM events \
     WHERE (tx, seq) > ($1::text::xid8, $2) AND tx < pg_snapshot_xmin(pg_current_snapshot()) ORDER BY tx, seq LIMIT $3";

fn number(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

#[async_trait]
impl EventStore for Postgres {
    async fn publish_events(&self, member: MemberId, events: &[Event]) -> Result<()> {
        let texts = events.iter().map(to_json).collect::<Result<Vec<_>>>()?;
        if texts.is_empty() {
            return Ok(());
        }
        let values = vec![member.0.into(), Value::Texts(texts), KEPT.into()];
        self.all::<(i64,)>(Statement::for_postgres(PUBLISH, values)).await.map(drop)
    }

    async fn events_after(
        &self,
        member: MemberId,
        after: Option<EventPosition>,
        limit: u32,
    ) -> Result<(EventPosition, Vec<Event>)> {
        let Some(after) = after else {
            let end = self.fetch_one::<(i64, i64)>(Statement::for_postgres(END, values![])).await?;
            let (tx, seq) =
                end.ok_or_else(|| Error::unexpected("the database did not name its transaction"))?;
            return Ok((EventPosition(number(tx), number(seq)), Vec::new()));
        };
        let seq = i64::try_from(after.1).unwrap_or(i64::MAX);
        let read = Statement::for_postgres(AFTER, values![after.0.to_string(), seq, limit]);
        let rows = self.all::<(i64, i64, Uuid, String)>(read).await?;
        let end =
            rows.last().map_or(after, |(tx, seq, ..)| EventPosition(number(*tx), number(*seq)));
        // Events of a newer version that this one does not know are skipped.
        let others = rows
            .into_iter()
            .filter(|(_, _, from, _)| *from != member.0)
            .filter_map(|(.., text)| serde_json::from_str(&text).ok());
        Ok((end, others.collect()))
    }
}
