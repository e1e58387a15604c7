//! Rows on the way of every message, with SQLite's statements for them. PostgreSQL's are in the
//! function `commit_group` (`migrations/postgres/0001_tables.sql`), which takes them as arrays: the
//! fields are in the order of its composite types.

use galatea_core::{
    Account, AgentId, Cursor, EntityId, Memory, MemoryId, MemoryKind, Result, RoomId, Source,
    Timestamp, WorldId, store::Fence,
};
use sqlx::{
    FromRow,
    postgres::{PgHasArrayType, PgTypeInfo, Postgres},
    types::Type,
};
use uuid::Uuid;

use crate::{convert::from_json, dialect::Text};

/// The inbox row first: it outlives a deleted memory, so a replay of a deleted message is still
/// known. One that says whether the message is new.
pub(crate) const RECEIVE: &str = "INSERT INTO inbox (id, agent_id, entity_id, room_id, source, account, room_remote, remote, legacy_id, envelope, received_at)
     SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11
     WHERE NOT EXISTS (SELECT 1 FROM memories WHERE id = $1)
     AND NOT EXISTS (SELECT 1 FROM memories WHERE id = $9 AND room_id = $4 AND agent_id = $2)
     ON CONFLICT (id) DO NOTHING";
pub(crate) const BEGIN: &str =
    "UPDATE inbox SET attempts = attempts + 1 WHERE id = $1 AND state = 'new'";
pub(crate) const FINISH: &str =
    "UPDATE inbox SET state = $4, verdict = $6, turn_id = $3, finished_at = $5
     WHERE id = $1 AND state = 'new' AND agent_id = $2";
/// The journal of a turn goes with its message.
pub(crate) const FORGET_STEPS: &str = "DELETE FROM step WHERE message_id = $1";

pub(crate) const REMEMBER: &str = "INSERT INTO memories (id, type, agent_id, entity_id, room_id, world_id, created_at, metadata, content) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (id) DO NOTHING";

/// A (turn, part) that exists makes the whole change a conflict. A part that its commit delivers has its
/// key as its id.
pub(crate) const DELIVER: &str = "INSERT INTO outbox (id, turn_id, part, agent_id, source, account, room_id, room_remote, key, memory_id, state, attempt, not_before, \
     expires_at, created_at, body, remote) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $13, $15, CASE WHEN $11 = 'sent' THEN $9 END) ON CONFLICT DO NOTHING";
/// Two comparisons, since for a list SQLite would make a table.
pub(crate) const SETTLE: &str = "UPDATE outbox SET state = $2, attempt = $3, not_before = $4, remote = coalesce($5, remote), error = $6, outcome_unknown = $7 \
     WHERE id = $1 AND (state = 'pending' OR state = 'sending')";

pub(crate) const MOVE_CURSOR: &str =
    "INSERT INTO cursors (agent_id, source, account, stream, position) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT DO UPDATE SET position = excluded.position";

pub(crate) const ADD_USAGE: &str = "INSERT INTO usage (agent_id, day, room_id, entity_id, model, source, world_id, \
     answers, refused, notices, calls, input, cached, output, unpriced, micros) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) \
     ON CONFLICT DO UPDATE SET answers = answers + excluded.answers, refused = refused + excluded.refused, \
        notices = notices + excluded.notices, calls = calls + excluded.calls, input = input + excluded.input, \
        cached = cached + excluded.cached, output = output + excluded.output, unpriced = unpriced + excluded.unpriced, \
        micros = micros + excluded.micros";

/// A lease that a change needs.
#[derive(Debug, sqlx::Encode)]
pub(crate) struct FenceRow {
    pub(crate) part: Text,
    pub(crate) member: Uuid,
    pub(crate) epoch: i64,
}

impl From<&Fence> for FenceRow {
    fn from(Fence { member, lease }: &Fence) -> Self {
        let epoch = i64::try_from(lease.epoch).unwrap_or(i64::MAX);
        Self { part: lease.part.0.as_str().into(), member: member.0, epoch }
    }
}

/// A message and its inbox row.
#[derive(Debug, sqlx::Encode)]
pub(crate) struct MessageRow {
    pub(crate) memory: MemoryRow,
    pub(crate) legacy: Option<Uuid>,
    pub(crate) source: Text,
    pub(crate) account: Text,
    pub(crate) room_remote: Text,
    pub(crate) remote: Text,
    pub(crate) received: i64,
    pub(crate) envelope: Text,
}

/// An inbox row that a turn finishes.
#[derive(Debug, sqlx::Encode)]
pub(crate) struct FinishRow {
    pub(crate) id: Uuid,
    pub(crate) agent: Uuid,
    pub(crate) turn: Uuid,
    pub(crate) state: Text,
    pub(crate) at: i64,
    pub(crate) verdict: Text,
}

/// A row of `memories`.
#[derive(Debug, sqlx::Encode)]
pub(crate) struct MemoryRow {
    pub(crate) id: Uuid,
    pub(crate) kind: Text,
    pub(crate) agent: Uuid,
    pub(crate) entity: Uuid,
    pub(crate) room: Uuid,
    pub(crate) world: Option<Uuid>,
    pub(crate) at: i64,
    pub(crate) metadata: Text,
    pub(crate) content: Text,
    /// What a search finds, for PostgreSQL only.
    pub(crate) words: Text,
}

impl MemoryRow {
    /// Bytes, about.
    pub(crate) fn size(&self) -> usize {
        self.metadata.0.len() + self.content.0.len() + self.words.0.len()
    }
}

/// A row of `outbox`.
#[derive(Debug, sqlx::Encode)]
pub(crate) struct DeliveryRow {
    pub(crate) id: Uuid,
    pub(crate) turn: Uuid,
    pub(crate) part: i64,
    pub(crate) agent: Uuid,
    pub(crate) source: Text,
    pub(crate) account: Text,
    pub(crate) room: Uuid,
    pub(crate) remote: Text,
    pub(crate) key: Text,
    pub(crate) memory: Option<Uuid>,
    pub(crate) state: Text,
    pub(crate) attempt: i64,
    pub(crate) at: i64,
    pub(crate) expires: Option<i64>,
    pub(crate) body: Text,
}

/// The outcome of a delivery. With a lease it is stored only while the lease is held.
#[derive(Debug, sqlx::Encode)]
pub(crate) struct SettleRow {
    pub(crate) id: Uuid,
    pub(crate) state: Text,
    pub(crate) attempt: i64,
    pub(crate) not_before: i64,
    pub(crate) remote: Option<Text>,
    pub(crate) error: Option<Text>,
    pub(crate) outcome_unknown: bool,
    pub(crate) part: Option<Text>,
    pub(crate) member: Option<Uuid>,
    pub(crate) epoch: Option<i64>,
}

/// A row of `cursors`.
#[derive(Debug, sqlx::Encode)]
pub(crate) struct CursorRow {
    pub(crate) agent: Uuid,
    pub(crate) source: Text,
    pub(crate) account: Text,
    pub(crate) stream: Text,
    pub(crate) position: Text,
}

impl From<(AgentId, Source, Account, Cursor)> for CursorRow {
    fn from((agent, source, account, cursor): (AgentId, Source, Account, Cursor)) -> Self {
        Self {
            agent: agent.0,
            source: source.as_str().into(),
            account: Text(account.0),
            stream: Text(cursor.stream),
            position: Text(cursor.position),
        }
    }
}

/// What is added to a row of `usage`.
#[derive(Debug, sqlx::Encode)]
pub(crate) struct UsageSum {
    pub(crate) agent: Uuid,
    pub(crate) day: i64,
    pub(crate) room: Uuid,
    pub(crate) person: Uuid,
    pub(crate) model: Text,
    pub(crate) source: Text,
    pub(crate) world: Uuid,
    pub(crate) answers: i64,
    pub(crate) refused: i64,
    pub(crate) notices: i64,
    pub(crate) calls: i64,
    pub(crate) input: i64,
    pub(crate) cached: i64,
    pub(crate) output: i64,
    pub(crate) unpriced: i64,
    pub(crate) micros: i64,
}

/// A memory as it is read back.
#[derive(FromRow)]
pub(crate) struct StoredMemory {
    pub(crate) id: Uuid,
    pub(crate) kind: String,
    pub(crate) agent_id: Uuid,
    pub(crate) entity_id: Uuid,
    pub(crate) room_id: Uuid,
    pub(crate) world_id: Option<Uuid>,
    pub(crate) created_at: i64,
    pub(crate) metadata: String,
    pub(crate) content: String,
}

impl StoredMemory {
    pub(crate) fn decode(self) -> Result<Memory> {
        Ok(Memory {
            id: MemoryId(self.id),
            kind: MemoryKind::from_stored(&self.kind),
            agent_id: AgentId(self.agent_id),
            entity_id: EntityId(self.entity_id),
            room_id: RoomId(self.room_id),
            world_id: self.world_id.map(WorldId),
            content: from_json("memory content", &self.content)?,
            metadata: from_json("memory metadata", &self.metadata)?,
            created_at: Timestamp(self.created_at),
        })
    }
}

/// Names the composite type of a row in PostgreSQL, whose fields are in the order of the struct's.
macro_rules! composite {
    ($($row:ty: $name:literal;)*) => {$(
        impl Type<Postgres> for $row {
            fn type_info() -> PgTypeInfo {
                PgTypeInfo::with_name($name)
            }
        }

        impl PgHasArrayType for $row {
            fn array_type_info() -> PgTypeInfo {
                PgTypeInfo::array_of($name)
            }
        }
    )*};
}

composite! {
    FenceRow: "fence_row";
    MessageRow: "message_row";
    FinishRow: "finish_row";
    MemoryRow: "memory_row";
    DeliveryRow: "delivery_row";
    SettleRow: "settle_row";
    CursorRow: "cursor_row";
    UsageSum: "usage_row";
}
