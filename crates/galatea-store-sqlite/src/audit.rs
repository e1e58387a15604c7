//! Counting what became of every message.

use async_trait::async_trait;
use galatea_core::{
    Account, Cursor, Gap, Result, Source,
    gap::GAPS,
    store::{AuditLine, AuditStore, Exceptions, Missing},
};
use sqlx::FromRow;

use crate::{
    SqliteStore, inbox, outbox,
    read::{select, select_built},
};

/// One statement, so one snapshot. `received` counts rows, the others count rows by what became of them.
const AUDIT: &str = "WITH answers AS (
        SELECT turn_id, max(state IN ('pending', 'sending')) AS open, max(state IN ('ambiguous', 'expired', 'dead')) AS failed FROM outbox GROUP BY turn_id)
     SELECT i.source, count(*) AS received,
        count(*) FILTER (WHERE i.state = 'done' AND NOT coalesce(a.open, 0) AND NOT coalesce(a.failed, 0)) AS answered,
        count(*) FILTER (WHERE i.state = 'done' AND coalesce(a.open, 0)) AS answering,
        count(*) FILTER (WHERE i.state = 'done' AND NOT coalesce(a.open, 0) AND coalesce(a.failed, 0)) AS undelivered,
        count(*) FILTER (WHERE i.state = 'skipped') AS skipped,
        count(*) FILTER (WHERE i.state = 'expired') AS expired,
        count(*) FILTER (WHERE i.state = 'dead') AS dead,
        count(*) FILTER (WHERE i.state = 'new') AS pending
     FROM inbox i LEFT JOIN answers a ON a.turn_id = i.turn_id GROUP BY i.source ORDER BY i.source";

const MESSAGES: &str = "WHERE i.state IN ('expired', 'dead') ORDER BY i.seq LIMIT +?1";
const UNEXPLAINED: &str = "WHERE i.state <> 'new' AND (i.turn_id IS NULL OR i.verdict IS NULL) ORDER BY i.seq LIMIT +?1";
const PARTS: &str = "WHERE state IN ('ambiguous', 'expired', 'dead') ORDER BY seq LIMIT +?1";

const MISSING: &str = "SELECT source, account, position FROM cursors WHERE stream = ?1 ORDER BY source, account";

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

#[async_trait]
impl AuditStore for SqliteStore {
    async fn audit(&self) -> Result<Vec<AuditLine>> {
        let count = |n: i64| u64::try_from(n).unwrap_or(0);
        let lines = self.all(select::<Line>(AUDIT)).await?.into_iter();
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
        let messages = |condition: &'static str| self.all(select_built::<inbox::Stored>(inbox::item(condition)).bind(one_more));
        let mut out = Exceptions {
            messages: messages(MESSAGES).await?.into_iter().map(inbox::Stored::decode).collect::<Result<_>>()?,
            unexplained: messages(UNEXPLAINED).await?.into_iter().map(inbox::Stored::decode).collect::<Result<_>>()?,
            parts: self
                .all(select_built::<outbox::Stored>(outbox::item(PARTS)).bind(one_more))
                .await?
                .into_iter()
                .map(outbox::Stored::decode)
                .collect::<Result<_>>()?,
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
        let rows = self.all(select::<(String, String, String)>(MISSING).bind(GAPS)).await?;
        let of_account = |(source, account, position): (String, String, String)| {
            let gaps = Gap::read(Some(&Cursor { stream: GAPS.to_owned(), position }));
            gaps.into_iter().map(move |gap| Missing { source: Source::from_name(source.clone()), account: Account(account.clone()), gap })
        };
        Ok(rows.into_iter().flat_map(of_account).collect())
    }
}
