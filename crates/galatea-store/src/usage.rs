//! The ledger of what answers cost, and the block list.

use async_trait::async_trait;
use galatea_core::{
    AgentId, EntityId, Error, ErrorKind, RemoteId, Result, RoomId, Source, Timestamp, WorldId,
    store::{
        Amount, Block, BlockKind, BlockStore, Day, Holder, SharedTotal, SharedUse, UsageRow,
        UsageStore, UsageTotal,
    },
};
use sqlx::FromRow;
use uuid::Uuid;

use crate::{
    Backend, Database,
    change::{Change, Write},
    convert::count,
    dialect::{Dialects, values},
    error,
    plan::index_of_person,
    rows::UsageSum,
};

pub(crate) const BLOCK: Dialects = Dialects::same(
    "INSERT INTO blocks (agent_id, source, kind, remote, reason, at) VALUES ($1, $2, $3, $4, $5, $6) \
     ON CONFLICT (agent_id, source, kind, remote) DO UPDATE SET reason = excluded.reason, at = excluded.at",
);
pub(crate) const UNBLOCK: Dialects = Dialects::same(
    "DELETE FROM blocks WHERE agent_id = $1 AND source = $2 AND kind = $3 AND remote = $4",
);

pub(crate) const PRUNE: Dialects =
    Dialects::same("DELETE FROM usage WHERE agent_id = $1 AND day < $2");

macro_rules! sums {
    ($earlier:literal, $from:literal) => {
        Dialects::same(sums!(@text $earlier, $from))
    };
    (@text $earlier:expr, $from:expr) => {
        concat!(
            "SELECT CAST(coalesce(sum(answers), 0) AS bigint) AS answers, CAST(coalesce(sum(refused), 0) AS bigint) AS refused, \
             CAST(coalesce(sum(notices), 0) AS bigint) AS notices, CAST(coalesce(sum(calls), 0) AS bigint) AS calls, \
             CAST(coalesce(sum(input), 0) AS bigint) AS input, CAST(coalesce(sum(cached), 0) AS bigint) AS cached, \
             CAST(coalesce(sum(output), 0) AS bigint) AS output, CAST(coalesce(sum(unpriced), 0) AS bigint) AS unpriced, \
             CAST(coalesce(sum(micros), 0) AS bigint) AS micros, ",
            $earlier,
            " AS earlier FROM usage WHERE agent_id = $1 AND day = $2",
            $from
        )
    };
}

// Whether a person was answered on an earlier day.
macro_rules! answered_before {
    ($index:expr, $person:literal) => {
        concat!(
            "EXISTS (SELECT 1 FROM usage before",
            $index,
            " WHERE before.agent_id = $1 AND before.entity_id = ",
            $person,
            " AND before.day < $2 AND before.answers > 0)"
        )
    };
}

pub(crate) const OF_AGENT: Dialects = sums!("false", "");
pub(crate) const OF_SOURCE: Dialects = sums!("false", " AND source = $3");
pub(crate) const OF_WORLD: Dialects = sums!("false", " AND world_id = $3");
pub(crate) const OF_ROOM: Dialects = sums!("false", " AND room_id = $3");
macro_rules! of_person {
    ($index:expr) => {
        sums!(@text answered_before!($index, "$3"), " AND entity_id = $3")
    };
}
pub(crate) const OF_PERSON: Dialects =
    Dialects { sqlite: of_person!(index_of_person!()), postgres: of_person!("") };
macro_rules! of_strangers {
    ($index:expr) => {
        sums!(@text "false", concat!(" AND NOT ", answered_before!($index, "usage.entity_id"), " AND entity_id <> $1"))
    };
}
/// The agent's own rows are those of its documents.
pub(crate) const OF_STRANGERS: Dialects =
    Dialects { sqlite: of_strangers!(index_of_person!()), postgres: of_strangers!("") };
macro_rules! rows {
    ($condition:literal) => {
        Dialects::same(concat!(
            "SELECT agent_id, day, source, world_id, room_id, entity_id, model, answers, refused, notices, calls, input, \
             cached, output, unpriced, micros FROM usage WHERE ",
            $condition
        ))
    };
}
pub(crate) const SINCE: Dialects = rows!(
    "day >= $1 AND (agent_id = $2 OR $2 IS NULL) ORDER BY day, agent_id, room_id, entity_id, model"
);
pub(crate) const OF_ONE: Dialects =
    rows!("agent_id = $1 AND entity_id = $2 AND day >= $3 ORDER BY day, room_id, model");
pub(crate) const BLOCKS: Dialects = Dialects::same(
    "SELECT source, kind, remote, reason, at FROM blocks WHERE agent_id = $1 ORDER BY source, kind, remote",
);

/// Adds rows of the ledger to a change.
pub(crate) fn push(change: &mut Change, rows: &[UsageRow]) -> Result<()> {
    let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    for UsageRow { agent, day, source, world, room, person, model, amount } in rows {
        change.push(Write::Usage(UsageSum {
            agent: agent.0,
            day: day.0,
            room: room.0,
            person: person.0,
            model: model.as_str().into(),
            source: source.as_str().into(),
            world: world.0,
            answers: number(amount.answers),
            refused: number(amount.refused),
            notices: number(amount.notices),
            calls: number(amount.calls),
            input: number(amount.input),
            cached: number(amount.cached),
            output: number(amount.output),
            unpriced: number(amount.unpriced),
            micros: number(amount.micros),
        }))?;
    }
    Ok(())
}

#[derive(FromRow)]
struct Sums {
    answers: i64,
    refused: i64,
    notices: i64,
    calls: i64,
    input: i64,
    cached: i64,
    output: i64,
    unpriced: i64,
    micros: i64,
}

impl Sums {
    fn amount(&self) -> Amount {
        Amount {
            answers: count(self.answers),
            refused: count(self.refused),
            notices: count(self.notices),
            calls: count(self.calls),
            input: count(self.input),
            cached: count(self.cached),
            output: count(self.output),
            unpriced: count(self.unpriced),
            micros: count(self.micros),
        }
    }
}

#[derive(FromRow)]
struct StoredStanding {
    #[sqlx(flatten)]
    sums: Sums,
    earlier: bool,
}

#[derive(FromRow)]
struct StoredRow {
    agent_id: Uuid,
    day: i64,
    source: String,
    world_id: Uuid,
    room_id: Uuid,
    entity_id: Uuid,
    model: String,
    #[sqlx(flatten)]
    sums: Sums,
}

impl StoredRow {
    fn decode(self) -> UsageRow {
        UsageRow {
            agent: AgentId(self.agent_id),
            day: Day(self.day),
            source: Source::from_name(self.source),
            world: WorldId(self.world_id),
            room: RoomId(self.room_id),
            person: EntityId(self.entity_id),
            model: self.model,
            amount: self.sums.amount(),
        }
    }
}

#[async_trait]
impl UsageStore for Database {
    async fn add_usage(&self, rows: &[UsageRow]) -> Result<()> {
        let mut change = Change::default();
        push(&mut change, rows)?;
        self.write(change).await.map(drop)
    }

    async fn standing(&self, agent: AgentId, day: Day, holder: &Holder) -> Result<UsageTotal> {
        let (statement, which) = match holder {
            Holder::Agent => (OF_AGENT, None),
            Holder::Source(source) => (OF_SOURCE, Some(source.as_str().into())),
            Holder::World(world) => (OF_WORLD, Some(world.0.into())),
            Holder::Room(room) => (OF_ROOM, Some(room.0.into())),
            Holder::Person(person) => (OF_PERSON, Some(person.0.into())),
            Holder::Strangers => (OF_STRANGERS, None),
        };
        let mut values = values![agent.0, day.0];
        values.extend(which);
        let found = self.fetch_one::<StoredStanding>(statement.with(values)).await?;
        Ok(found
            .map(|s| UsageTotal { today: s.sums.amount(), earlier: s.earlier })
            .unwrap_or_default())
    }

    async fn share_limits(
        &self,
        agent: AgentId,
        now: Timestamp,
        uses: &[SharedUse],
    ) -> Result<Vec<SharedTotal>> {
        match &self.0.backend {
            Backend::Sqlite(_) => Err(Error::new(
                ErrorKind::Unsupported,
                "a SQLite file has one process, which shares its limits with no other",
            )),
            Backend::Postgres(postgres) => postgres.share_limits(agent, now, uses).await,
        }
    }

    async fn usage(&self, agent: Option<AgentId>, since: Day) -> Result<Vec<UsageRow>> {
        let rows = self.all(SINCE.with(values![since.0, agent.map(|a| a.0)])).await?;
        Ok(rows.into_iter().map(StoredRow::decode).collect())
    }

    async fn usage_of(
        &self,
        agent: AgentId,
        person: EntityId,
        since: Day,
    ) -> Result<Vec<UsageRow>> {
        let rows = self.all(OF_ONE.with(values![agent.0, person.0, since.0])).await?;
        Ok(rows.into_iter().map(StoredRow::decode).collect())
    }

    async fn prune_usage(&self, agent: AgentId, before: Day) -> Result<u64> {
        if let Backend::Postgres(postgres) = &self.0.backend {
            postgres.prune_limits().await?;
        }
        self.write_one(PRUNE.with(values![agent.0, before.0])).await
    }
}

#[async_trait]
impl BlockStore for Database {
    async fn block(&self, block: &Block) -> Result<()> {
        let Block { agent, source, kind, remote, reason, at } = block;
        let values = values![
            agent.0,
            source.as_str(),
            kind.as_str(),
            remote.as_str(),
            reason.as_str(),
            at.0
        ];
        self.write_one(BLOCK.with(values)).await.map(drop)
    }

    async fn unblock(
        &self,
        agent: AgentId,
        source: &Source,
        kind: BlockKind,
        remote: &RemoteId,
    ) -> Result<bool> {
        let values = values![agent.0, source.as_str(), kind.as_str(), remote.as_str()];
        Ok(self.write_one(UNBLOCK.with(values)).await? > 0)
    }

    async fn blocks(&self, agent: AgentId) -> Result<Vec<Block>> {
        let block = |(source, kind, remote, reason, at): (String, String, String, String, i64)| {
            let kind = BlockKind::parse(&kind).ok_or_else(|| error::unreadable("block", kind))?;
            Ok(Block {
                agent,
                source: Source::from_name(source),
                kind,
                remote: RemoteId::new(remote),
                reason,
                at: Timestamp(at),
            })
        };
        self.all(BLOCKS.with(values![agent.0])).await?.into_iter().map(block).collect()
    }
}
