//! Rows with a holder, an epoch and an end by this database's clock. Advisory locks would not do: a
//! busy session keeps them after its process died, and poolers break them.

use async_trait::async_trait;
use galatea_core::{
    MemberId, Result, Timestamp,
    store::{Group, Lease, LeaseStatus, LeaseStore, Member, Membership, Partition, Pulse},
};
use sqlx::{FromRow, postgres::PgRow};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use uuid::Uuid;

use super::Postgres;
use crate::{
    convert::to_json,
    dialect::{Statement, Value, values},
};

/// Members overdue for so long are forgotten.
const FORGET: Duration = Duration::from_secs(24 * 60 * 60);
macro_rules! now {
    () => {
        "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
    };
}

pub(crate) const BEAT: &str = concat!(
    "WITH old AS (DELETE FROM members WHERE expires_at < ",
    now!(),
    " - $4), \
     beat AS (INSERT INTO members (id, name, joined_at, expires_at, role, groups, about) VALUES ($1, $2, ",
    now!(),
    ", ",
    now!(),
    " + $3, $5, $6, $7::text::json) \
        ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at, name = excluded.name, role = excluded.role, groups = excluded.groups, about = excluded.about) \
     SELECT g, count(*) FROM (SELECT unnest(groups) AS g FROM members WHERE expires_at > ",
    now!(),
    " AND id <> $1 UNION ALL SELECT unnest($6::text[])) alive GROUP BY g"
);
pub(crate) const LEAVE: &str = "WITH gone AS (DELETE FROM members WHERE id = $1) \
     UPDATE leases SET member_id = NULL, expires_at = 0 WHERE member_id = $1 RETURNING part";
pub(crate) const KNOWN: &str =
    "INSERT INTO leases (part) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING RETURNING part";
/// What is held already counts, so nothing is taken twice when it is asked again after its answer
/// was lost. A partition that another process is claiming right now, or that a transaction of its
/// last holder still locks, is left out.
pub(crate) const CLAIM: &str = concat!(
    "WITH clock AS MATERIALIZED (SELECT ",
    now!(),
    " AS ms), \
     held AS MATERIALIZED (SELECT part, epoch FROM leases, clock WHERE member_id = $1 AND part = ANY ($2) AND expires_at > ms), \
     free AS MATERIALIZED (SELECT part FROM leases, clock WHERE part = ANY ($2) AND (member_id IS NULL OR expires_at <= ms) \
        ORDER BY expires_at, part LIMIT greatest($4 - (SELECT count(*) FROM held), 0) FOR UPDATE OF leases SKIP LOCKED), \
     taken AS (UPDATE leases SET member_id = $1, epoch = epoch + 1, expires_at = ms + $3 FROM clock \
        WHERE part IN (SELECT part FROM free) RETURNING part, epoch) \
     SELECT part, epoch FROM held UNION ALL SELECT part, epoch FROM taken"
);
pub(crate) const RENEW: &str = concat!(
    "UPDATE leases SET expires_at = ",
    now!(),
    " + $2 WHERE member_id = $1 RETURNING part, epoch"
);
pub(crate) const RELEASE: &str = "UPDATE leases SET member_id = NULL, expires_at = 0 WHERE member_id = $1 AND part = ANY ($2) RETURNING part";
/// Who is alive with which work to do, how many parts are free, and when the next one will be. The sum
/// of the epochs tells parts that become free from as many that were claimed since.
pub(crate) const PULSE: &str = concat!(
    "WITH clock AS MATERIALIZED (SELECT ",
    now!(),
    " AS ms) SELECT md5(coalesce(string_agg(id::text || groups::text, ',' ORDER BY id), '')) || ' ' || \
        (SELECT count(*) FILTER (WHERE member_id IS NULL OR expires_at <= ms) || ' ' || coalesce(sum(epoch), 0) FROM leases, clock), \
        (SELECT min(expires_at - ms) FROM leases, clock WHERE member_id IS NOT NULL AND expires_at > ms) \
     FROM members, clock WHERE expires_at > ms"
);
pub(crate) const CLOCK: &str = concat!("SELECT ", now!());
pub(crate) const LEASES: &str =
    concat!("SELECT part, epoch, member_id, expires_at - ", now!(), " FROM leases ORDER BY part");
pub(crate) const MEMBERS: &str = concat!(
    "SELECT id, name, role, groups, about::text, joined_at, expires_at - ",
    now!(),
    " FROM members ORDER BY joined_at, id"
);

fn lease((part, epoch): (String, i64)) -> Lease {
    Lease { part: Partition(part), epoch: u64::try_from(epoch).unwrap_or(0) }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX / 4)
}

fn left(milliseconds: i64) -> Duration {
    Duration::from_millis(u64::try_from(milliseconds).unwrap_or(0))
}

fn names(parts: &[Partition]) -> Value {
    Value::Texts(parts.iter().map(|part| part.0.clone()).collect())
}

impl Postgres {
    /// Every row, by the connection reserved for leases: a heartbeat waits for no other read.
    async fn promptly<O>(&self, text: &'static str, values: Vec<Value>) -> Result<Vec<O>>
    where
        O: for<'r> FromRow<'r, PgRow> + Send + Unpin + 'static,
    {
        self.leases.all(&self.statements, Statement::for_postgres(text, values)).await
    }
}

#[async_trait]
impl LeaseStore for Postgres {
    fn is_shared(&self) -> bool {
        true
    }

    async fn beat(
        &self,
        member: MemberId,
        membership: &Membership,
        ttl: Duration,
    ) -> Result<BTreeMap<Group, usize>> {
        let about = to_json(&membership.about)?;
        let values = vec![
            member.0.into(),
            membership.name.as_str().into(),
            millis(ttl).into(),
            millis(FORGET).into(),
            membership.role.as_str().into(),
            Value::Texts(membership.groups.iter().map(|group| group.0.clone()).collect()),
            about.into(),
        ];
        let alive: Vec<(String, i64)> = self.promptly(BEAT, values).await?;
        Ok(alive
            .into_iter()
            .map(|(group, count)| (Group(group), usize::try_from(count).unwrap_or(0)))
            .collect())
    }

    async fn leave(&self, member: MemberId) -> Result<()> {
        self.promptly::<(String,)>(LEAVE, values![member.0]).await.map(drop)
    }

    async fn claim(
        &self,
        member: MemberId,
        parts: &[Partition],
        most: usize,
        ttl: Duration,
    ) -> Result<Vec<Lease>> {
        let parts: Vec<Partition> =
            parts.iter().cloned().collect::<BTreeSet<_>>().into_iter().collect();
        if parts.is_empty() {
            return Ok(Vec::new());
        }
        self.promptly::<(String,)>(KNOWN, vec![names(&parts)]).await?;
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let claim = vec![member.0.into(), names(&parts), millis(ttl).into(), most.into()];
        let mut mine: Vec<Lease> =
            self.promptly(CLAIM, claim).await?.into_iter().map(lease).collect();
        mine.sort_by(|a, b| a.part.cmp(&b.part));
        Ok(mine)
    }

    async fn renew(&self, member: MemberId, ttl: Duration) -> Result<Vec<Lease>> {
        let renew = values![member.0, millis(ttl)];
        let mut leases: Vec<Lease> =
            self.promptly(RENEW, renew).await?.into_iter().map(lease).collect();
        leases.sort_by(|a, b| a.part.cmp(&b.part));
        Ok(leases)
    }

    async fn release(&self, member: MemberId, parts: &[Partition]) -> Result<()> {
        let release = vec![member.0.into(), names(parts)];
        self.promptly::<(String,)>(RELEASE, release).await.map(drop)
    }

    async fn store_clock(&self) -> Result<Option<Timestamp>> {
        let clock = self.promptly::<(i64,)>(CLOCK, values![]).await?;
        Ok(clock.into_iter().next().map(|(millis,)| Timestamp(millis)))
    }

    async fn pulse(&self) -> Result<Pulse> {
        let pulse = self.promptly::<(String, Option<i64>)>(PULSE, values![]).await?;
        let pulse = pulse.into_iter().next();
        Ok(pulse.map(|(state, end)| Pulse { state, next_end: end.map(left) }).unwrap_or_default())
    }

    async fn leases(&self) -> Result<Vec<LeaseStatus>> {
        let rows = self
            .all::<(String, i64, Option<Uuid>, i64)>(Statement::for_postgres(LEASES, values![]))
            .await?;
        Ok(rows
            .into_iter()
            .map(|(part, epoch, member, end)| LeaseStatus {
                lease: lease((part, epoch)),
                member: member.map(MemberId),
                left: left(end),
            })
            .collect())
    }

    async fn members(&self) -> Result<Vec<Member>> {
        let rows =
            self.all::<(Uuid, String, String, Vec<String>, String, i64, i64)>(
                Statement::for_postgres(MEMBERS, values![]),
            )
            .await?;
        let member = |(id, name, role, groups, about, joined, end): (
            Uuid,
            String,
            String,
            Vec<String>,
            String,
            i64,
            i64,
        )| {
            // What a later version says and this one does not know is skipped.
            let about = serde_json::from_str(&about).unwrap_or_default();
            let membership = Membership {
                name,
                role: role.parse()?,
                groups: groups.into_iter().map(Group).collect(),
                about,
            };
            Ok(Member { id: MemberId(id), membership, joined: Timestamp(joined), left: left(end) })
        };
        rows.into_iter().map(member).collect()
    }
}
