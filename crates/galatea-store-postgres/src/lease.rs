//! Leases: rows with a holder, an epoch and an end by this database's clock. Advisory locks would not do: a busy session keeps them after
//! its process died, and poolers break them.

use async_trait::async_trait;
use galatea_core::{
    MemberId, Result, Timestamp,
    store::{Fence, Group, Lease, LeaseStatus, LeaseStore, Member, Membership, Part},
};
use serde::Serialize;
use sqlx::{FromRow, postgres::PgRow};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use uuid::Uuid;

use crate::{
    PostgresStore,
    apply::Step,
    change::{Change, uuid},
    read::{Select, select},
};

/// Members overdue for so long are forgotten.
const FORGET: Duration = Duration::from_secs(24 * 60 * 60);
/// Longest time for one statement: less than a lease lasts, so that a connection gone silent is replaced before much is lost.
pub(crate) const STATEMENT: Duration = Duration::from_secs(5);

/// First in its change: a row lock that lasts until the commit, so nobody takes the part over in between. The weakest that keeps a claim
/// (`FOR UPDATE`) out: renewing changes no key, so the holder's own signs of life neither wait for its commits nor hold them up. An end that
/// has passed does no harm as long as nobody else came.
pub(crate) const STEPS: &[Step] = &[(
    "fence",
    "PERFORM FROM leases WHERE part = b ->> 'part' AND member_id = (b ->> 'member')::uuid AND epoch = (b ->> 'epoch')::bigint FOR KEY SHARE;
     IF NOT FOUND THEN
        RAISE EXCEPTION 'fenced:%', b ->> 'c' USING ERRCODE = 'GA002';
     END IF;",
)];

macro_rules! now {
    () => {
        "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
    };
}

pub(crate) const BEAT: &str = concat!(
    "WITH old AS (DELETE FROM members WHERE expires_at < ",
    now!(),
    " - $4), \
     beat AS (INSERT INTO members (id, name, joined_at, expires_at, role, groups) VALUES ($1, $2, ",
    now!(),
    ", ",
    now!(),
    " + $3, $5, $6) \
        ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at, name = excluded.name, role = excluded.role, groups = excluded.groups) \
     SELECT g, count(*) FROM (SELECT unnest(groups) AS g FROM members WHERE expires_at > ",
    now!(),
    " AND id <> $1 UNION ALL SELECT unnest($6::text[])) alive GROUP BY g"
);
pub(crate) const LEAVE: &str = "WITH gone AS (DELETE FROM members WHERE id = $1) \
     UPDATE leases SET member_id = NULL, expires_at = 0 WHERE member_id = $1 RETURNING part";
pub(crate) const KNOWN: &str = "INSERT INTO leases (part) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING RETURNING part";
/// What is held already counts, so nothing is taken twice when it is asked again after its answer was lost. A part that somebody is taking right
/// now, or that a transaction of its last holder still locks, is left out.
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
pub(crate) const RENEW: &str = concat!("UPDATE leases SET expires_at = ", now!(), " + $2 WHERE member_id = $1 RETURNING part, epoch");
pub(crate) const RELEASE: &str = "UPDATE leases SET member_id = NULL, expires_at = 0 WHERE member_id = $1 AND part = ANY ($2) RETURNING part";
pub(crate) const LEASES: &str = concat!("SELECT part, epoch, member_id, expires_at - ", now!(), " FROM leases ORDER BY part");
pub(crate) const MEMBERS: &str = concat!("SELECT id, name, role, groups, joined_at, expires_at - ", now!(), " FROM members ORDER BY joined_at, id");

/// A fence as rows hold it.
#[derive(Serialize)]
pub(crate) struct FenceRow<'a> {
    part: &'a str,
    member: Uuid,
    epoch: u64,
}

/// Adds the check of a lease to a change, before everything else.
pub(crate) fn push(change: &mut Change, fence: Option<&Fence>) -> Result<()> {
    fence.map_or(Ok(()), |fence| change.push("fence", &row(fence)))
}

pub(crate) fn row(Fence { member, lease }: &Fence) -> FenceRow<'_> {
    FenceRow { part: &lease.part.0, member: uuid(*member), epoch: lease.epoch }
}

fn lease((part, epoch): (String, i64)) -> Lease {
    Lease { part: Part(part), epoch: u64::try_from(epoch).unwrap_or(0) }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX / 4)
}

fn left(milliseconds: i64) -> Duration {
    Duration::from_millis(u64::try_from(milliseconds).unwrap_or(0))
}

fn names(parts: &[Part]) -> Vec<String> {
    parts.iter().map(|part| part.0.clone()).collect()
}

impl PostgresStore {
    /// Every row, by the connection that only leases have: a sign of life waits for no other read.
    async fn promptly<O>(&self, select: Select<O>) -> Result<Vec<O>>
    where
        O: for<'r> FromRow<'r, PgRow> + Send + Unpin + 'static,
    {
        self.0.leases.all(&self.0.statements, select).await
    }
}

#[async_trait]
impl LeaseStore for PostgresStore {
    fn is_shared(&self) -> bool {
        true
    }

    async fn beat(&self, member: MemberId, membership: &Membership, ttl: Duration) -> Result<BTreeMap<Group, usize>> {
        let groups: Vec<String> = membership.groups.iter().map(|group| group.0.clone()).collect();
        let beat = select::<(String, i64)>(BEAT).bind(member.0).text(&membership.name).bind(millis(ttl)).bind(millis(FORGET));
        let alive = self.promptly(beat.text(membership.role.as_str()).bind(groups)).await?;
        Ok(alive.into_iter().map(|(group, count)| (Group(group), usize::try_from(count).unwrap_or(0))).collect())
    }

    async fn leave(&self, member: MemberId) -> Result<()> {
        self.promptly(select::<(String,)>(LEAVE).bind(member.0)).await.map(drop)
    }

    async fn claim(&self, member: MemberId, parts: &[Part], most: usize, ttl: Duration) -> Result<Vec<Lease>> {
        let names = names(&parts.iter().cloned().collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>());
        if names.is_empty() {
            return Ok(Vec::new());
        }
        self.promptly(select::<(String,)>(KNOWN).bind(names.clone())).await?;
        let claim = select::<(String, i64)>(CLAIM).bind(member.0).bind(names).bind(millis(ttl)).bind(i64::try_from(most).unwrap_or(i64::MAX));
        let mut mine: Vec<Lease> = self.promptly(claim).await?.into_iter().map(lease).collect();
        mine.sort_by(|a, b| a.part.cmp(&b.part));
        Ok(mine)
    }

    async fn renew(&self, member: MemberId, ttl: Duration) -> Result<Vec<Lease>> {
        let renew = select(RENEW).bind(member.0).bind(millis(ttl));
        let mut leases: Vec<Lease> = self.promptly(renew).await?.into_iter().map(lease).collect();
        leases.sort_by(|a, b| a.part.cmp(&b.part));
        Ok(leases)
    }

    async fn release(&self, member: MemberId, parts: &[Part]) -> Result<()> {
        self.promptly(select::<(String,)>(RELEASE).bind(member.0).bind(names(parts))).await.map(drop)
    }

    async fn leases(&self) -> Result<Vec<LeaseStatus>> {
        let rows = self.all(select::<(String, i64, Option<Uuid>, i64)>(LEASES)).await?;
        Ok(rows
            .into_iter()
            .map(|(part, epoch, member, end)| LeaseStatus { lease: lease((part, epoch)), member: member.map(MemberId), left: left(end) })
            .collect())
    }

    async fn members(&self) -> Result<Vec<Member>> {
        let rows = self.all(select::<(Uuid, String, String, Vec<String>, i64, i64)>(MEMBERS)).await?;
        let member = |(id, name, role, groups, joined, end): (Uuid, String, String, Vec<String>, i64, i64)| {
            let membership = Membership { name, role: role.parse()?, groups: groups.into_iter().map(Group).collect() };
            Ok(Member { id: MemberId(id), membership, joined: Timestamp(joined), left: left(end) })
        };
        rows.into_iter().map(member).collect()
    }
}
