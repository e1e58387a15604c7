//! Changes that operators made, and answers that are kept for repeated requests.

use async_trait::async_trait;
use galatea_core::{
    Result, Timestamp,
    store::{KeptAnswer, RecordStore, RecordedChange, SecretDigest},
};
use sqlx::FromRow;

use crate::{
    Database,
    change::{Change, Write},
    convert::{from_json, to_json},
    dialect::{Dialects, Value, values},
};

pub(crate) const ADD: Dialects = Dialects::same(
    "INSERT INTO recorded_changes (at, actor, operation, target, before, after, origin) VALUES ($1, $2, $3, $4, $5, $6, $7)",
);
pub(crate) const LIST: Dialects = Dialects::same(
    "SELECT seq, at, actor, operation, target, CAST(before AS text) AS before, CAST(after AS text) AS after, origin \
     FROM recorded_changes WHERE seq < $1 ORDER BY seq DESC LIMIT +$2",
);
pub(crate) const EXPIRE: Dialects = Dialects::same("DELETE FROM kept_answers WHERE until <= $1");
pub(crate) const TAKE: Dialects = Dialects::same(
    "INSERT INTO kept_answers (key, request, until) VALUES ($1, $2, $3) ON CONFLICT (key) DO NOTHING",
);
pub(crate) const KEPT: Dialects =
    Dialects::same("SELECT request, status, body FROM kept_answers WHERE key = $1");
pub(crate) const KEEP: Dialects =
    Dialects::same("UPDATE kept_answers SET status = $2, body = $3 WHERE key = $1");
/// Empties kept answers, which may show what people wrote. A repeated request is still known, and gets its
/// status.
pub(crate) const BLANK: Dialects =
    Dialects::same("UPDATE kept_answers SET body = '{}' WHERE body IS NOT NULL AND body <> '{}'");
pub(crate) const FREE: Dialects =
    Dialects::same("DELETE FROM kept_answers WHERE key = $1 AND status IS NULL");

#[derive(FromRow)]
struct Stored {
    seq: i64,
    at: i64,
    actor: String,
    operation: String,
    target: String,
    before: Option<String>,
    after: Option<String>,
    origin: String,
}

impl Stored {
    fn decode(self) -> Result<RecordedChange> {
        let read =
            |text: Option<String>| text.map(|text| from_json("recorded change", &text)).transpose();
        Ok(RecordedChange {
            seq: self.seq,
            at: Timestamp(self.at),
            actor: self.actor,
            operation: self.operation,
            target: self.target,
            before: read(self.before)?,
            after: read(self.after)?,
            origin: self.origin,
        })
    }
}

#[async_trait]
impl RecordStore for Database {
    async fn record_change(&self, change: &RecordedChange) -> Result<()> {
        let json = |value: &Option<serde_json::Value>| {
            Ok::<_, galatea_core::Error>(Value::Json(value.as_ref().map(to_json).transpose()?))
        };
        let RecordedChange { at, actor, operation, target, before, after, origin, .. } = change;
        let mut values = values![at.0, actor.as_str(), operation.as_str(), target.as_str()];
        values.extend([json(before)?, json(after)?, origin.as_str().into()]);
        self.write_one(ADD.with(values)).await.map(drop)
    }

    async fn recorded_changes(
        &self,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<RecordedChange>> {
        let rows = self.all(LIST.with(values![before.unwrap_or(i64::MAX), limit])).await?;
        rows.into_iter().map(Stored::decode).collect()
    }

    async fn take_key(
        &self,
        key: &SecretDigest,
        request: &SecretDigest,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Option<KeptAnswer>> {
        let take = TAKE.with(values![key.0.as_str(), request.0.as_str(), until.0]);
        let statements = vec![EXPIRE.with(values![now.0]), take];
        let mut change = Change::default();
        change.push(Write::Other { statements, counted: Some(1) })?;
        if self.write(change).await?.first().is_some_and(|hits| *hits > 0) {
            return Ok(None);
        }
        let kept = self
            .fetch_one::<(String, Option<i64>, Option<String>)>(KEPT.with(values![key.0.as_str()]))
            .await?;
        // A key that was given back in between: the client is told to wait, and asks again.
        let kept = kept.unwrap_or_else(|| (request.0.clone(), None, None));
        Ok(Some(KeptAnswer {
            request: SecretDigest(kept.0),
            status: kept.1.and_then(|status| u16::try_from(status).ok()),
            body: kept.2,
        }))
    }

    async fn keep_answer(&self, key: &SecretDigest, status: u16, body: &str) -> Result<()> {
        let values = values![key.0.as_str(), i64::from(status), body];
        self.write_one(KEEP.with(values)).await.map(drop)
    }

    async fn free_key(&self, key: &SecretDigest) -> Result<()> {
        self.write_one(FREE.with(values![key.0.as_str()])).await.map(drop)
    }
}
