//! Webhooks.

use async_trait::async_trait;
use galatea_core::{
    AgentId, Result, Timestamp,
    store::{Webhook, WebhookStore},
};
use sqlx::FromRow;
use uuid::Uuid;

use crate::{
    Database,
    convert::{from_json, to_json},
    dialect::{Dialects, Value, values},
};

pub(crate) const WEBHOOKS: Dialects = Dialects::same(
    "SELECT id, url, secret, CAST(kinds AS text) AS kinds, agent_id, seq, next_at, failures, last_error, created_at, actor FROM webhooks ORDER BY id",
);
pub(crate) const ADD: Dialects = Dialects::same(
    "INSERT INTO webhooks (id, url, secret, kinds, agent_id, seq, next_at, failures, last_error, created_at, actor) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
);
pub(crate) const REMOVE: Dialects = Dialects::same("DELETE FROM webhooks WHERE id = $1");
pub(crate) const CLAIM: Dialects =
    Dialects::same("UPDATE webhooks SET next_at = $3 WHERE id = $1 AND next_at <= $2");
pub(crate) const SETTLE: Dialects = Dialects::same(
    "UPDATE webhooks SET seq = $2, next_at = $3, failures = $4, last_error = $5 WHERE id = $1",
);

#[derive(FromRow)]
struct Stored {
    id: Uuid,
    url: String,
    secret: String,
    kinds: String,
    agent_id: Option<Uuid>,
    seq: i64,
    next_at: i64,
    failures: i64,
    last_error: Option<String>,
    created_at: i64,
    actor: String,
}

impl Stored {
    fn decode(self) -> Result<Webhook> {
        Ok(Webhook {
            id: self.id,
            url: self.url,
            secret: self.secret,
            kinds: from_json("kinds of a webhook", &self.kinds)?,
            agent: self.agent_id.map(AgentId),
            seq: self.seq,
            next_at: Timestamp(self.next_at),
            failures: u32::try_from(self.failures).unwrap_or(u32::MAX),
            last_error: self.last_error,
            created_at: Timestamp(self.created_at),
            by: self.actor,
        })
    }
}

#[async_trait]
impl WebhookStore for Database {
    async fn webhooks(&self) -> Result<Vec<Webhook>> {
        let rows: Vec<Stored> = self.all(WEBHOOKS.with(values![])).await?;
        rows.into_iter().map(Stored::decode).collect()
    }

    async fn add_webhook(&self, webhook: &Webhook) -> Result<()> {
        let mut values = values![webhook.id, webhook.url.as_str(), webhook.secret.as_str()];
        values.push(Value::Json(Some(to_json(&webhook.kinds)?)));
        values.extend(values![
            webhook.agent.map(|agent| agent.0),
            webhook.seq,
            webhook.next_at.0,
            i64::from(webhook.failures),
            webhook.last_error.clone(),
            webhook.created_at.0,
            webhook.by.as_str()
        ]);
        self.write_one(ADD.with(values)).await.map(drop)
    }

    async fn remove_webhook(&self, id: Uuid) -> Result<bool> {
        Ok(self.write_one(REMOVE.with(values![id])).await? > 0)
    }

    async fn claim_webhook(&self, id: Uuid, now: Timestamp, until: Timestamp) -> Result<bool> {
        Ok(self.write_one(CLAIM.with(values![id, now.0, until.0])).await? > 0)
    }

    async fn settle_webhook(&self, webhook: &Webhook) -> Result<()> {
        let error = webhook.last_error.clone().map(|error| self.clean(error));
        let values =
            values![webhook.id, webhook.seq, webhook.next_at.0, i64::from(webhook.failures), error];
        self.write_one(SETTLE.with(values)).await.map(drop)
    }
}
