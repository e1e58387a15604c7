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
    SqliteStore,
    apply::Trigger,
    change::{Hex, hex, hexes},
    connect, convert, cursor, effect,
    memory::{self, MemoryRow},
    outbox,
    read::{select, select_built},
};

pub(crate) const TRIGGERS: &[Trigger] = &[
    (
        // The inbox row first: it outlives a deleted memory, so a replay of a deleted message is still known.
        "message",
        "INSERT INTO inbox (id, agent_id, entity_id, room_id, source, account, room_remote, remote, legacy_id, envelope, received_at)
            SELECT unhex(NEW.body ->> 'id'), unhex(NEW.body ->> 'agent'), unhex(NEW.body ->> 'entity'), unhex(NEW.body ->> 'room'),
                NEW.body ->> 'source', NEW.body ->> 'account', NEW.body ->> 'room_remote', NEW.body ->> 'remote', unhex(NEW.body ->> 'legacy'),
                NEW.body -> 'envelope', NEW.body ->> 'received'
            WHERE NOT EXISTS (SELECT 1 FROM memories WHERE id = unhex(NEW.body ->> 'id'))
            AND NOT EXISTS (SELECT 1 FROM memories WHERE id = unhex(NEW.body ->> 'legacy')
                AND room_id = unhex(NEW.body ->> 'room') AND agent_id = unhex(NEW.body ->> 'agent'))
         ON CONFLICT (id) DO NOTHING;
         INSERT INTO memories (id, type, agent_id, entity_id, room_id, world_id, created_at, metadata, content)
            SELECT unhex(NEW.body ->> 'id'), NEW.body ->> 'type', unhex(NEW.body ->> 'agent'), unhex(NEW.body ->> 'entity'), unhex(NEW.body ->> 'room'),
                unhex(NEW.body ->> 'world'), NEW.body ->> 'at', NEW.body -> 'metadata', NEW.body -> 'content'
            WHERE changes() = 1;
         UPDATE answer SET hits = changes();",
    ),
    ("begin_turn", "UPDATE inbox SET attempts = attempts + 1 WHERE state = 'new' AND id IN (SELECT unhex(value) FROM json_each(NEW.body -> 'ids'));"),
    (
        "finish",
        "UPDATE inbox SET state = NEW.body ->> 'state', verdict = NEW.body -> 'verdict', turn_id = unhex(NEW.body ->> 'turn'), finished_at = NEW.body ->> 'at'
            WHERE id = unhex(NEW.body ->> 'id') AND state = 'new' AND agent_id = unhex(NEW.body ->> 'agent');
         SELECT RAISE(ABORT, 'conflict:' || NEW.c) WHERE changes() = 0;
         DELETE FROM step WHERE message_id = unhex(NEW.body ->> 'id');",
    ),
];

const ITEM: &str = "SELECT i.id, i.agent_id, i.entity_id, i.room_id, i.source, i.account, i.room_remote, i.remote, i.legacy_id, i.envelope, i.state, \
     i.attempts, i.turn_id, i.verdict, i.received_at, i.finished_at, m.type AS kind, m.world_id, m.created_at, m.metadata, m.content \
     FROM inbox i LEFT JOIN memories m ON m.id = i.id";

const UNFINISHED: &str = "WHERE i.agent_id = ?1 AND i.source = ?2 AND i.account = ?3 AND i.state = 'new' ORDER BY i.seq LIMIT +?4";
const UNFINISHED_IN_ROOM: &str = "WHERE i.room_id = ?1 AND i.state = 'new' ORDER BY i.seq LIMIT +?2";
const UNFINISHED_IN_PARTS: &str = "WHERE i.agent_id = ?1 AND i.part IN (SELECT value FROM json_each(?2)) AND i.source IN (SELECT value FROM json_each(?3)) \
     AND i.id NOT IN (SELECT unhex(value) FROM json_each(?4)) AND i.room_id NOT IN (SELECT unhex(value) FROM json_each(?5)) \
     AND i.state = 'new' ORDER BY i.seq LIMIT +?6";
pub(crate) const OLDEST_UNSTARTED: &str = "SELECT min(received_at) FROM inbox WHERE state = 'new' AND attempts = 0";
const BY_ID: &str = "WHERE i.id = ?1";
const BY_REMOTE: &str = "WHERE i.source = ?1 AND i.remote = ?2 AND (?3 IS NULL OR i.room_remote = ?3) ORDER BY i.seq DESC";
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
    legacy: Option<Hex>,
    source: &'a str,
    account: &'a str,
    room_remote: &'a str,
    remote: &'a str,
    received: i64,
    envelope: &'a Envelope,
}

#[derive(Serialize)]
struct BeginRow {
    ids: Vec<Hex>,
}

#[derive(Serialize)]
struct FinishRow<'a> {
    id: Hex,
    agent: Hex,
    turn: Hex,
    state: &'static str,
    at: i64,
    verdict: &'a Verdict,
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
impl InboxStore for SqliteStore {
    async fn connect(&self, connections: ConnectionChange) -> Result<()> {
        let mut change = self.change();
        connect::push(&mut change, &connections)?;
        self.write(change).await.map(drop)
    }

    async fn ingest(&self, ingest: Ingest) -> Result<Vec<bool>> {
        let mut change = self.change();
        connect::push(&mut change, &ingest.connections)?;
        let received = self.now().0;
        let messages = ingest.messages.len();
        for InboxEntry { memory, legacy_id, source, account, room_remote, remote, envelope } in ingest.messages {
            let row = MessageRow {
                memory: (&memory).into(),
                legacy: legacy_id.map(hex),
                source: source.as_str(),
                account: &account.0,
                room_remote: room_remote.as_str(),
                remote: remote.as_str(),
                received,
                envelope: &envelope,
            };
            change.push_answered("message", &row)?;
            change.stores(memory);
        }
        memory::push(&mut change, ingest.memories)?;
        if let Some(cursor) = &ingest.cursor {
            cursor::push(&mut change, cursor)?;
        }
        Ok(self.write(change).await?.into_iter().take(messages).map(|hits| hits > 0).collect())
    }

    async fn unfinished(&self, agent: AgentId, source: &Source, account: &Account, limit: u32) -> Result<Vec<InboxItem>> {
        let select = select_built::<Stored>(item(UNFINISHED)).bind(agent.0).bind(source.as_str().to_owned()).bind(account.0.clone()).bind(i64::from(limit));
        self.all(select).await?.into_iter().map(Stored::decode).collect()
    }

    async fn unfinished_in_room(&self, room: RoomId, limit: u32) -> Result<Vec<InboxItem>> {
        let select = select_built::<Stored>(item(UNFINISHED_IN_ROOM)).bind(room.0).bind(i64::from(limit));
        self.all(select).await?.into_iter().map(Stored::decode).collect()
    }

    async fn unfinished_in_parts(&self, agent: AgentId, parts: &[u16], sources: &[Source], besides: &InHand, limit: u32) -> Result<Vec<InboxItem>> {
        let select = select_built::<Stored>(item(UNFINISHED_IN_PARTS))
            .bind(agent.0)
            .bind(serde_json::json!(parts).to_string())
            .bind(serde_json::json!(sources).to_string())
            .bind(hexes(&besides.messages)?)
            .bind(hexes(&besides.rooms)?)
            .bind(i64::from(limit));
        self.all(select).await?.into_iter().map(Stored::decode).collect()
    }

    async fn oldest_unstarted(&self) -> Result<Option<Timestamp>> {
        let oldest = self.one(select::<(Option<i64>,)>(OLDEST_UNSTARTED)).await?;
        Ok(oldest.and_then(|(received,)| received).map(Timestamp))
    }

    async fn begin_turn(&self, ids: &[MemoryId]) -> Result<()> {
        let mut change = self.change();
        if !ids.is_empty() {
            change.push("begin_turn", &BeginRow { ids: ids.iter().map(|id| hex(*id)).collect() })?;
        }
        self.write(change).await.map(drop)
    }

    async fn finish_turn(&self, record: TurnRecord) -> Result<()> {
        check(&record)?;
        let mut change = self.change();
        for finished in &record.finished {
            let row = FinishRow {
                id: hex(finished.id),
                agent: hex(record.agent),
                turn: hex(record.turn),
                state: finished.state.as_str(),
                at: record.at.0,
                verdict: &finished.verdict,
            };
            change.push("finish", &row)?;
        }
        memory::push(&mut change, record.memories)?;
        outbox::push(&mut change, &record.deliveries)?;
        record.effects.iter().try_for_each(|effect| effect::push(&mut change, record.agent, effect, record.at))?;
        self.write(change).await.map(drop)
    }

    async fn inbox_item(&self, id: MemoryId) -> Result<Option<InboxItem>> {
        self.one(select_built::<Stored>(item(BY_ID)).bind(id.0)).await?.map(Stored::decode).transpose()
    }

    async fn inbox_by_remote(&self, source: &Source, room: Option<&RemoteId>, message: &RemoteId) -> Result<Vec<InboxItem>> {
        let room = room.map(|id| id.as_str().to_owned());
        let select = select_built::<Stored>(item(BY_REMOTE)).bind(source.as_str().to_owned()).bind(message.as_str().to_owned()).bind(room);
        self.all(select).await?.into_iter().map(Stored::decode).collect()
    }

    async fn inbox_counts(&self) -> Result<Vec<(Source, InboxState, u64)>> {
        let rows = self.all(select::<(String, String, i64)>(COUNTS)).await?;
        rows.into_iter().map(|(source, name, count)| Ok((Source::from_name(source), state(&name)?, u64::try_from(count).unwrap_or(0)))).collect()
    }

    async fn cursor(&self, agent: AgentId, source: &Source, account: &Account, stream: &str) -> Result<Option<Cursor>> {
        let select = select::<(String,)>(cursor::CURSOR).bind(agent.0).bind(source.as_str().to_owned()).bind(account.0.clone()).bind(stream.to_owned());
        Ok(self.one(select).await?.map(|(position,)| Cursor { stream: stream.to_owned(), position }))
    }
}
