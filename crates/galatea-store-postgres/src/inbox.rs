//! The durable queue in, and turns.

use async_trait::async_trait;
use galatea_core::{
    Account, AgentId, Content, Cursor, EntityId, Error, Memory, MemoryId, MemoryKind, RemoteId, Result, RoomId, Source, Timestamp, TurnId, Verdict, WorldId,
    store::{ConnectionChange, Envelope, InHand, InboxEntry, InboxItem, InboxState, InboxStore, Ingest, TurnRecord},
};
use serde::Serialize;
use sqlx::FromRow;
use std::collections::HashSet;
use uuid::Uuid;

use crate::{
    PostgresStore,
    apply::{Batch, Step},
    change::{Text, uuid},
    connect, convert, cursor, effect, lease,
    memory::{self, MemoryRow},
    outbox,
    read::{select, select_built},
};

pub(crate) const STEPS: &[Step] = &[(
    "begin_turn",
    "UPDATE inbox SET attempts = attempts + 1 WHERE id = ANY (ARRAY(SELECT value::uuid FROM jsonb_array_elements_text(b -> 'ids')))
        AND CASE state WHEN 'new' THEN true END;",
)];

/// The inbox row first: it outlives a deleted memory, so a replay of a deleted message is still known. One that this very change stored, whose
/// answer was lost, is still new to its caller.
pub(crate) const MESSAGE: Batch = (
    "message",
    "RETURN QUERY WITH given AS MATERIALIZED (SELECT * FROM jsonb_to_recordset(rows) r(c bigint, n integer, id uuid, type text, agent uuid, entity uuid,
            room uuid, world uuid, at bigint, metadata text, content text, words text, legacy uuid, source text, account text, room_remote text,
            remote text, received bigint, envelope jsonb)),
        stored AS (INSERT INTO inbox (id, agent_id, entity_id, room_id, source, account, room_remote, remote, legacy_id, envelope, received_at)
            SELECT id, agent, entity, room, source, account, room_remote, remote, legacy, envelope, received FROM given
            WHERE CASE WHEN (SELECT true FROM memories m WHERE m.id = given.id) THEN false
                ELSE (SELECT m.room_id = given.room AND m.agent_id = given.agent FROM memories m WHERE m.id = given.legacy) IS NOT TRUE END
            ON CONFLICT (id) DO NOTHING RETURNING id),
        said AS (INSERT INTO memories (id, type, agent_id, entity_id, room_id, world_id, created_at, metadata, content, words)
            SELECT id, type, agent, entity, room, world, at, metadata::json, content::json, to_tsvector('simple', words) FROM given
            WHERE CASE WHEN given.id IN (SELECT id FROM stored) THEN true END
            ON CONFLICT (id) DO NOTHING)
        SELECT c, n, CASE WHEN given.id IN (SELECT id FROM stored) THEN 1
            WHEN again THEN (SELECT count(*) FROM inbox i WHERE i.id = given.id AND CASE i.state WHEN 'new' THEN i.attempts = 0 AND i.received_at = received END)
            ELSE 0 END FROM given;",
);

pub(crate) const FINISH: Batch = (
    "finish",
    "WITH given AS MATERIALIZED (SELECT * FROM jsonb_to_recordset(rows) r(c bigint, id uuid, agent uuid, turn uuid, state text, at bigint, verdict text)),
        done AS (UPDATE inbox i SET (state, verdict, turn_id, finished_at) =
                (SELECT g.state, g.verdict::json, g.turn, g.at FROM given g WHERE g.id = i.id)
            WHERE i.id = ANY (ARRAY(SELECT id FROM given))
                AND CASE i.state WHEN 'new' THEN i.agent_id = (SELECT g.agent FROM given g WHERE g.id = i.id) END
            RETURNING i.id)
     SELECT c INTO missing FROM given WHERE CASE WHEN given.id IN (SELECT id FROM done) THEN false
        WHEN again THEN (SELECT i.turn_id = given.turn FROM inbox i WHERE i.id = given.id) IS NOT TRUE
        ELSE true END;
     IF FOUND THEN
        RAISE EXCEPTION 'conflict:%', missing USING ERRCODE = 'GA001';
     END IF;
     DELETE FROM step WHERE message_id = ANY (ARRAY(SELECT id FROM jsonb_to_recordset(rows) r(id uuid)));",
);

const ITEM: &str = "SELECT i.id, i.agent_id, i.entity_id, i.room_id, i.source, i.account, i.room_remote, i.remote, i.legacy_id, i.envelope::text, i.state, \
     i.attempts, i.turn_id, i.verdict::text, i.received_at, i.finished_at, m.type AS kind, m.world_id, m.created_at, m.metadata::text, m.content::text \
     FROM inbox i LEFT JOIN memories m ON m.id = i.id";

const UNFINISHED: &str = "WHERE i.agent_id = $1 AND i.source = $2 AND i.account = $3 AND i.state = 'new' ORDER BY i.seq LIMIT $4";
const UNFINISHED_IN_ROOM: &str = "WHERE i.room_id = $1 AND i.state = 'new' ORDER BY i.seq LIMIT $2";
const UNFINISHED_IN_PARTS: &str = "WHERE i.agent_id = $1 AND i.part = ANY ($2) AND i.source = ANY ($3) AND i.id <> ALL ($4) AND i.room_id <> ALL ($5) AND i.state = 'new' ORDER BY i.seq LIMIT $6";
pub(crate) const OLDEST_UNSTARTED: &str = "SELECT min(received_at) FROM inbox WHERE state = 'new' AND attempts = 0";
const BY_ID: &str = "WHERE i.id = $1";
const BY_REMOTE: &str = "WHERE i.source = $1 AND i.remote = $2 AND ($3::text IS NULL OR i.room_remote = $3) ORDER BY i.seq DESC";
pub(crate) const COUNTS: &str = "SELECT source, state, count(*) FROM inbox GROUP BY source, state ORDER BY source, state";

/// Every statement that reads the inbox.
#[cfg(test)]
pub(crate) fn statements() -> Vec<String> {
    [UNFINISHED, UNFINISHED_IN_ROOM, UNFINISHED_IN_PARTS, BY_ID, BY_REMOTE].into_iter().map(item).chain([COUNTS, OLDEST_UNSTARTED].map(str::to_owned)).collect()
}

pub(crate) fn item(condition: &str) -> String {
    format!("{ITEM} {condition}")
}

#[derive(Serialize)]
struct MessageRow<'a> {
    #[serde(flatten)]
    memory: MemoryRow<'a>,
    legacy: Option<Uuid>,
    source: &'a str,
    account: &'a str,
    room_remote: &'a str,
    remote: &'a str,
    received: i64,
    envelope: &'a Envelope,
}

#[derive(Serialize)]
struct BeginRow {
    ids: Vec<Uuid>,
}

#[derive(Serialize)]
struct FinishRow<'a> {
    id: Uuid,
    agent: Uuid,
    turn: Uuid,
    state: &'static str,
    at: i64,
    verdict: Text<'a, Verdict>,
}

#[derive(FromRow)]
pub(crate) struct Stored {
    id: Uuid,
    agent_id: Uuid,
    entity_id: Uuid,
    room_id: Uuid,
    source: String,
    account: String,
    room_remote: String,
    remote: String,
    legacy_id: Option<Uuid>,
    envelope: String,
    state: String,
    attempts: i64,
    turn_id: Option<Uuid>,
    verdict: Option<String>,
    received_at: i64,
    finished_at: Option<i64>,
    kind: Option<String>,
    world_id: Option<Uuid>,
    created_at: Option<i64>,
    metadata: Option<String>,
    content: Option<String>,
}

impl Stored {
    /// A row whose memory has been deleted shows an empty one: why it was (not) answered stays explicable.
    pub(crate) fn decode(self) -> Result<InboxItem> {
        let memory = Memory {
            id: MemoryId(self.id),
            kind: self.kind.as_deref().map_or(MemoryKind::Messages, MemoryKind::from_stored),
            agent_id: AgentId(self.agent_id),
            entity_id: EntityId(self.entity_id),
            room_id: RoomId(self.room_id),
            world_id: self.world_id.map(WorldId),
            content: self.content.map_or_else(|| Ok(Content::default()), |text| convert::from_json("memory content", &text))?,
            metadata: self.metadata.map_or_else(|| Ok(serde_json::Map::new()), |text| convert::from_json("memory metadata", &text))?,
            created_at: Timestamp(self.created_at.unwrap_or(self.received_at)),
        };
        Ok(InboxItem {
            entry: InboxEntry {
                memory,
                legacy_id: self.legacy_id.map(MemoryId),
                source: Source::from_name(self.source),
                account: Account(self.account),
                room_remote: RemoteId(self.room_remote),
                remote: RemoteId(self.remote),
                envelope: convert::from_json("envelope", &self.envelope)?,
            },
            state: state(&self.state)?,
            attempts: u32::try_from(self.attempts).unwrap_or(u32::MAX),
            turn: self.turn_id.map(TurnId),
            verdict: self.verdict.map(|text| convert::from_json("verdict", &text)).transpose()?,
            received_at: Timestamp(self.received_at),
            finished_at: self.finished_at.map(Timestamp),
        })
    }
}

fn state(text: &str) -> Result<InboxState> {
    InboxState::from_stored(text).ok_or_else(|| crate::error::unreadable("inbox state", text.to_owned()))
}

/// A turn must finish each of its messages once, and for good.
fn check(record: &TurnRecord) -> Result<()> {
    let mut seen = HashSet::new();
    for finished in &record.finished {
        if finished.state == InboxState::New {
            return Err(Error::invalid("a finished turn cannot leave a message new").with("message", finished.id));
        }
        if !seen.insert(finished.id) {
            return Err(Error::invalid("a turn finishes the same message twice").with("message", finished.id));
        }
    }
    Ok(())
}

#[async_trait]
impl InboxStore for PostgresStore {
    async fn connect(&self, connections: ConnectionChange) -> Result<()> {
        let mut change = self.change();
        connect::push(&mut change, &connections)?;
        self.write(change).await.map(drop)
    }

    async fn ingest(&self, ingest: Ingest) -> Result<Vec<bool>> {
        let mut change = self.change();
        lease::push(&mut change, ingest.fence.as_ref())?;
        connect::push(&mut change, &ingest.connections)?;
        let received = self.now().0;
        for InboxEntry { memory, legacy_id, source, account, room_remote, remote, envelope } in &ingest.messages {
            let row = MessageRow {
                memory: memory.into(),
                legacy: legacy_id.map(uuid),
                source: source.as_str(),
                account: &account.0,
                room_remote: room_remote.as_str(),
                remote: remote.as_str(),
                received,
                envelope,
            };
            change.push_answered("message", uuid(memory.id), &row)?;
            change.looks_for(legacy_id.map(uuid));
        }
        memory::push(&mut change, &ingest.memories)?;
        if let Some(cursor) = &ingest.cursor {
            cursor::push(&mut change, cursor)?;
        }
        Ok(self.write(change).await?.into_iter().map(|hits| hits > 0).collect())
    }

    async fn unfinished(&self, agent: AgentId, source: &Source, account: &Account, limit: u32) -> Result<Vec<InboxItem>> {
        let select = select_built::<Stored>(item(UNFINISHED)).bind(agent.0).text(source.as_str()).text(&account.0).bind(i64::from(limit));
        self.all(select).await?.into_iter().map(Stored::decode).collect()
    }

    async fn unfinished_in_room(&self, room: RoomId, limit: u32) -> Result<Vec<InboxItem>> {
        let select = select_built::<Stored>(item(UNFINISHED_IN_ROOM)).bind(room.0).bind(i64::from(limit));
        self.all(select).await?.into_iter().map(Stored::decode).collect()
    }

    async fn unfinished_in_parts(&self, agent: AgentId, parts: &[u16], sources: &[Source], besides: &InHand, limit: u32) -> Result<Vec<InboxItem>> {
        let parts: Vec<i16> = parts.iter().copied().map(|part| i16::try_from(part).unwrap_or(i16::MAX)).collect();
        let sources: Vec<String> = sources.iter().map(|source| source.as_str().to_owned()).collect();
        let messages: Vec<uuid::Uuid> = besides.messages.iter().map(|id| id.0).collect();
        let rooms: Vec<uuid::Uuid> = besides.rooms.iter().map(|id| id.0).collect();
        let select = select_built::<Stored>(item(UNFINISHED_IN_PARTS)).bind(agent.0).bind(parts).bind(sources).bind(messages).bind(rooms);
        self.all(select.bind(i64::from(limit))).await?.into_iter().map(Stored::decode).collect()
    }

    async fn oldest_unstarted(&self) -> Result<Option<Timestamp>> {
        let oldest = self.one(select::<(Option<i64>,)>(OLDEST_UNSTARTED)).await?;
        Ok(oldest.and_then(|(received,)| received).map(Timestamp))
    }

    async fn begin_turn(&self, ids: &[MemoryId]) -> Result<()> {
        let mut change = self.change();
        if !ids.is_empty() {
            change.push("begin_turn", &BeginRow { ids: ids.iter().map(|id| uuid(*id)).collect() })?;
        }
        self.write(change).await.map(drop)
    }

    async fn finish_turn(&self, record: TurnRecord) -> Result<()> {
        check(&record)?;
        let mut change = self.change();
        lease::push(&mut change, record.fence.as_ref())?;
        for finished in &record.finished {
            let row = FinishRow {
                id: uuid(finished.id),
                agent: uuid(record.agent),
                turn: uuid(record.turn),
                state: finished.state.as_str(),
                at: record.at.0,
                verdict: Text(&finished.verdict),
            };
            change.push_about("finish", uuid(finished.id), &row)?;
        }
        memory::push(&mut change, &record.memories)?;
        outbox::push(&mut change, &record.deliveries)?;
        record.effects.iter().try_for_each(|effect| effect::push(&mut change, record.agent, effect, record.at))?;
        self.write(change).await.map(drop)
    }

    async fn inbox_item(&self, id: MemoryId) -> Result<Option<InboxItem>> {
        self.one(select_built::<Stored>(item(BY_ID)).bind(id.0)).await?.map(Stored::decode).transpose()
    }

    async fn inbox_by_remote(&self, source: &Source, room: Option<&RemoteId>, message: &RemoteId) -> Result<Vec<InboxItem>> {
        let room = room.map(|id| id.as_str().replace('\0', "\u{FFFD}"));
        let select = select_built::<Stored>(item(BY_REMOTE)).text(source.as_str()).text(message.as_str()).bind(room);
        self.all(select).await?.into_iter().map(Stored::decode).collect()
    }

    async fn inbox_counts(&self) -> Result<Vec<(Source, InboxState, u64)>> {
        let rows = self.all(select::<(String, String, i64)>(COUNTS)).await?;
        rows.into_iter().map(|(source, name, count)| Ok((Source::from_name(source), state(&name)?, u64::try_from(count).unwrap_or(0)))).collect()
    }

    async fn cursor(&self, agent: AgentId, source: &Source, account: &Account, stream: &str) -> Result<Option<Cursor>> {
        let select = select::<(String,)>(cursor::CURSOR).bind(agent.0).text(source.as_str()).text(&account.0).text(stream);
        Ok(self.one(select).await?.map(|(position,)| Cursor { stream: stream.to_owned(), position }))
    }
}
