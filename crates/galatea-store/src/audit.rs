//! Counting what became of every message.

use async_trait::async_trait;
use galatea_core::{
    Account, Gap, Result, Source,
    gap::GAPS,
    store::{AuditLine, AuditStore, Exceptions, InboxItem, Missing},
};
use sqlx::FromRow;

use crate::{
    Database,
    convert::count,
    dialect::{Dialects, values},
    inbox, outbox,
};

/// One statement, so one snapshot. `received` counts rows, the others count rows by what became of
/// them.
pub(crate) const AUDIT: Dialects = Dialects::same(
    "WITH answers AS ( \
        SELECT turn_id, max(CASE WHEN state IN ('pending', 'sending') THEN 1 ELSE 0 END) AS open, \
            max(CASE WHEN state IN ('ambiguous', 'expired', 'dead') THEN 1 ELSE 0 END) AS failed FROM outbox GROUP BY turn_id) \
     SELECT i.source, count(*) AS received, \
        count(*) FILTER (WHERE i.state = 'done' AND coalesce(a.open, 0) = 0 AND coalesce(a.failed, 0) = 0) AS answered, \
        count(*) FILTER (WHERE i.state = 'done' AND a.open = 1) AS answering, \
        count(*) FILTER (WHERE i.state = 'done' AND a.open = 0 AND a.failed = 1) AS undelivered, \
        count(*) FILTER (WHERE i.state = 'skipped') AS skipped, \
        count(*) FILTER (WHERE i.state = 'expired') AS expired, \
        count(*) FILTER (WHERE i.state = 'dead') AS dead, \
        count(*) FILTER (WHERE i.state = 'new') AS pending \
     FROM inbox i LEFT JOIN answers a ON a.turn_id = i.turn_id GROUP BY i.source ORDER BY i.source",
);
pub(crate) const MISSING: Dialects = Dialects::same(
    "SELECT source, account, value FROM connector_state WHERE key = $1 ORDER BY source, account",
);

#[derive(FromRow)]
struct Line {
    source: String,
    received: i64,
    answered: i64,
    answering: i64,
    undelivered: i64,
    skipped: i64,
    expired: i64,
    dead: i64,
    pending: i64,
}

impl Database {
    async fn messages(&self, which: Dialects, most: i64) -> Result<Vec<InboxItem>> {
        let rows = self.all::<inbox::Stored>(which.with(values![most])).await?;
        rows.into_iter().map(inbox::Stored::decode).collect()
    }
}

#[async_trait]
impl AuditStore for Database {
    async fn audit(&self) -> Result<Vec<AuditLine>> {
        let lines = self.all::<Line>(AUDIT.with(values![])).await?.into_iter();
        Ok(lines
            .map(|line| AuditLine {
                source: Source::from_name(line.source),
                received: count(line.received),
                answered: count(line.answered),
                answering: count(line.answering),
                undelivered: count(line.undelivered),
                skipped: count(line.skipped),
                expired: count(line.expired),
                dead: count(line.dead),
                pending: count(line.pending),
            })
            .collect())
    }

    async fn exceptions(&self, limit: u32) -> Result<Exceptions> {
        let one_more = i64::from(limit) + 1;
        let parts = self.all::<outbox::Stored>(outbox::TROUBLED.with(values![one_more])).await?;
        let mut out = Exceptions {
            messages: self.messages(inbox::TROUBLED, one_more).await?,
            unexplained: self.messages(inbox::UNEXPLAINED, one_more).await?,
            parts: parts.into_iter().map(outbox::Stored::decode).collect::<Result<_>>()?,
            more: false,
        };
        let most = usize::try_from(limit).unwrap_or(usize::MAX);
        out.more = out.messages.len().max(out.parts.len()).max(out.unexplained.len()) > most;
        out.messages.truncate(most);
        out.parts.truncate(most);
        out.unexplained.truncate(most);
        Ok(out)
    }

    async fn missing(&self) -> Result<Vec<Missing>> {
        let rows = self.all::<(String, String, String)>(MISSING.with(values![GAPS])).await?;
        let of_account = |(source, account, value): (String, String, String)| {
            let gaps = Gap::read(serde_json::from_str(&value).ok().as_ref());
            gaps.into_iter().map(move |gap| Missing {
                source: Source::from_name(source.clone()),
                account: Account(account.clone()),
                gap,
            })
        };
        Ok(rows.into_iter().flat_map(of_account).collect())
    }
}
