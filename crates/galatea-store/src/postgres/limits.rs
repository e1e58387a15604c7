//! What all processes together use and reserve of their limits.

use galatea_core::{
    AgentId, Error, Result, Timestamp,
    store::{Day, SharedSum, SharedTotal, SharedUse},
};
use std::collections::HashMap;
use uuid::Uuid;

use super::Postgres;
use crate::dialect::{Statement, Value, values};

/// One statement, so that a row is locked only while it is changed. The rows come in the order of
/// their holders, so that two processes never wait for each other. The commit waits for no disk:
/// after a crash of the server a limit may have been passed by the calls of its last moment.
///
/// A day that has begun is not changed back by a process whose clock is behind.
pub(crate) const SHARE_LIMITS: &str = "INSERT INTO shared_limits AS known (holder, day, answers, micros, tokens, until, last_answers, last_micros, last_tokens, last_pace) \
     SELECT holder, $2, greatest(0, least_answers + answers), greatest(0, least_micros + micros), greatest(0, least_tokens + tokens), \
        CASE WHEN pace > 0 THEN $3 + pace ELSE 0 END, answers, micros, tokens, pace \
     FROM (SELECT set_config('synchronous_commit', 'off', true)) AS quick, \
        unnest($1::uuid[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[]) \
        AS asked (holder, answers, micros, tokens, least_answers, least_micros, least_tokens, pace) \
     ORDER BY holder ON CONFLICT (holder) DO UPDATE SET \
        day = greatest(known.day, excluded.day), \
        answers = CASE WHEN known.day > excluded.day THEN known.answers WHEN known.day < excluded.day THEN excluded.answers \
            ELSE greatest(0, known.answers + excluded.last_answers, excluded.answers) END, \
        micros = CASE WHEN known.day > excluded.day THEN known.micros WHEN known.day < excluded.day THEN excluded.micros \
            ELSE greatest(0, known.micros + excluded.last_micros, excluded.micros) END, \
        tokens = CASE WHEN known.day > excluded.day THEN known.tokens WHEN known.day < excluded.day THEN excluded.tokens \
            ELSE greatest(0, known.tokens + excluded.last_tokens, excluded.tokens) END, \
        until = CASE WHEN excluded.last_pace > 0 THEN greatest(known.until, $3) ELSE known.until END + excluded.last_pace, \
        last_answers = excluded.last_answers, last_micros = excluded.last_micros, last_tokens = excluded.last_tokens, \
        last_pace = excluded.last_pace \
     RETURNING holder, answers, micros, tokens, until";
/// A limit is of one day. One more is kept, for a process whose clock is behind.
pub(crate) const PRUNE_LIMITS: &str = "DELETE FROM shared_limits \
     WHERE day < extract(epoch FROM clock_timestamp())::bigint / 86400 - 1 RETURNING holder";

type Row = (Uuid, i64, i64, i64, i64);

impl Postgres {
    pub(crate) async fn share_limits(
        &self,
        agent: AgentId,
        now: Timestamp,
        uses: &[SharedUse],
    ) -> Result<Vec<SharedTotal>> {
        let holders: Vec<Uuid> = uses.iter().map(|used| used.holder.digest(agent)).collect();
        let mut asked: Vec<(Uuid, &SharedUse)> = holders.iter().copied().zip(uses).collect();
        asked.sort_unstable_by_key(|(holder, _)| *holder);
        let numbers = |of: fn(&SharedUse) -> i64| {
            Value::Ints(asked.iter().map(|(_, used)| of(used)).collect())
        };
        let mut values = vec![Value::Ids(asked.iter().map(|(holder, _)| *holder).collect())];
        values.extend(values![Day::of(now).0, now.0.saturating_mul(1000)]);
        values.extend([
            numbers(|used| used.added.answers),
            numbers(|used| used.added.micros),
            numbers(|used| used.added.tokens),
            numbers(|used| used.least.answers),
            numbers(|used| used.least.micros),
            numbers(|used| used.least.tokens),
            numbers(|used| used.pace),
        ]);
        let rows: Vec<Row> = self.all(Statement::for_postgres(SHARE_LIMITS, values)).await?;
        let total = |(holder, answers, micros, tokens, until): Row| {
            (holder, SharedTotal { sum: SharedSum { answers, micros, tokens }, until })
        };
        let totals: HashMap<Uuid, SharedTotal> = rows.into_iter().map(total).collect();
        let missing = || Error::unexpected("the database left out a limit");
        holders.iter().map(|holder| totals.get(holder).copied().ok_or_else(missing)).collect()
    }

    /// Deletes the rows of days that are over.
    pub(crate) async fn prune_limits(&self) -> Result<()> {
        let statement = Statement::for_postgres(PRUNE_LIMITS, values![]);
        self.all::<(Uuid,)>(statement).await.map(drop)
    }
}
