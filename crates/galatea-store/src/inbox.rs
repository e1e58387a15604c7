//! The durable queue in, and turns.

use async_trait::async_trait;
use galatea_core::{
    Account, AgentId, Content, Cursor, EntityId, Error, Memory, MemoryId, MemoryKind, RemoteId,
    Result, RoomId, Source, Timestamp, TurnId, WorldId,
    store::{
        ConnectionChange, InFlightRows, InboxEntry, InboxItem, InboxState, InboxStore, Ingest,
        Ingested, Mutation, TurnRecord,
    },
};
use sqlx::FromRow;
use std::{collections::HashSet, ops::Range};
use uuid::Uuid;

use crate::{
    Database,
    change::{Change, Write},
    connect, connector_state,
    convert::{from_json, to_json},
    cursor,
    dialect::{Dialects, Text, Value, values},
    effect, error, live, memory, outbox,
    plan::no_index,
    relationship, room,
    rows::{FinishRow, MessageRow},
    usage, verdict,
};

macro_rules! item {
    ($condition:expr) => {
        concat!(
            "SELECT i.id, i.agent_id, i.entity_id, i.room_id, i.source, i.account, i.room_remote, i.remote, i.legacy_id, \
             CAST(i.envelope AS text) AS envelope, i.state, i.attempts, i.turn_id, CAST(i.verdict AS text) AS verdict, i.received_at, i.finished_at, \
             m.type AS kind, m.world_id, m.created_at, CAST(m.metadata AS text) AS metadata, CAST(m.content AS text) AS content \
             FROM inbox i LEFT JOIN memories m ON m.id = i.id ",
            $condition
        )
    };
}
/// The same with a further column, for lists.
macro_rules! inbox_row {
    ($more:literal, $condition:expr) => {
        concat!(
            "SELECT ",
            $more,
            ", i.id, i.agent_id, i.entity_id, i.room_id, i.source, i.account, i.room_remote, i.remote, i.legacy_id, \
             CAST(i.envelope AS text) AS envelope, i.state, i.attempts, i.turn_id, CAST(i.verdict AS text) AS verdict, i.received_at, i.finished_at, \
             m.type AS kind, m.world_id, m.created_at, CAST(m.metadata AS text) AS metadata, CAST(m.content AS text) AS content \
             FROM inbox i LEFT JOIN memories m ON m.id = i.id ",
            $condition
        )
    };
}
pub(crate) use inbox_row;

// A limit is written `LIMIT +$1`: while it plans, SQLite looks at the value of a bare parameter
// there (`sqlite3ExprIsInteger`), and so would prepare the statement again for every execution.
// In SQLite one index has the new rows, by Room, with their accounts. Other questions take their
// numbers out of it, so that the planner does not walk all rows in the order that is asked for
macro_rules! new {
    ($of:expr, $condition:literal) => {
        concat!(
            "WHERE i.seq IN (SELECT n.seq FROM inbox n WHERE n.state = 'new' AND ",
            $of,
            ") ",
            $condition
        )
    };
}
pub(crate) const UNFINISHED: Dialects = Dialects {
    sqlite: item!(new!(
        concat!("n.agent_id = $1 AND ", no_index!("n.source"), " = $2 AND n.account = $3"),
        "ORDER BY i.seq LIMIT +$4"
    )),
    postgres: item!(
        "WHERE i.agent_id = $1 AND i.source = $2 AND i.account = $3 AND i.state = 'new' ORDER BY i.seq LIMIT $4"
    ),
};
/// As many rows as accounts with messages that wait: few while all is well.
pub(crate) const WAITING_ACCOUNTS: Dialects =
    Dialects::same("SELECT DISTINCT agent_id, source, account FROM inbox WHERE state = 'new'");
pub(crate) const UNFINISHED_IN_ROOM: Dialects =
    Dialects::same(item!("WHERE i.room_id = $1 AND i.state = 'new' ORDER BY i.seq LIMIT +$2"));
pub(crate) const UNFINISHED_IN_PARTS: Dialects = Dialects {
    sqlite: item!(new!(
        "n.agent_id = $1",
        "AND i.part IN (SELECT value FROM json_each($2)) AND i.source IN (SELECT value FROM json_each($3)) \
         AND i.id NOT IN (SELECT unhex(value) FROM json_each($4)) AND i.room_id NOT IN (SELECT unhex(value) FROM json_each($5)) \
         ORDER BY i.seq LIMIT +$6"
    )),
    postgres: item!(
        "WHERE i.agent_id = $1 AND i.part = ANY ($2) AND i.source = ANY ($3) AND i.id <> ALL ($4) AND i.room_id <> ALL ($5) AND i.state = 'new' \
         ORDER BY i.seq LIMIT $6"
    ),
};
pub(crate) const OLDEST_UNSTARTED: Dialects =
    Dialects::same("SELECT min(received_at) FROM inbox WHERE state = 'new' AND attempts = 0");
pub(crate) const BY_ID: Dialects = Dialects::same(item!("WHERE i.id = $1"));
pub(crate) const BY_REMOTE: Dialects = Dialects::same(item!(
    "WHERE i.source = $1 AND i.remote = $2 AND (i.room_remote = $3 OR $3 IS NULL) ORDER BY i.seq DESC"
));
/// Asked by a command, which may take its time.
pub(crate) const OF_TURN: Dialects =
    Dialects::same(item!("WHERE i.turn_id = $1 ORDER BY i.seq DESC LIMIT 8"));
pub(crate) const TROUBLED: Dialects =
    Dialects::same(item!("WHERE i.state IN ('expired', 'dead') ORDER BY i.seq LIMIT +$1"));
/// A message that was deleted, or its person forgotten, before it was answered has a verdict and no
/// turn.
pub(crate) const UNEXPLAINED: Dialects = Dialects::same(item!(
    "WHERE i.state <> 'new' AND (i.verdict IS NULL OR i.turn_id IS NULL AND i.state <> 'skipped') ORDER BY i.seq LIMIT +$1"
));

/// Every statement that reads the inbox on a message's way; counts and lists for an operator may
/// take their time.
#[cfg(test)]
pub(crate) const READS: &[crate::dialect::Listed] = crate::dialect::listed![
    WAITING_ACCOUNTS,
    UNFINISHED,
    UNFINISHED_IN_ROOM,
    UNFINISHED_IN_PARTS,
    OLDEST_UNSTARTED,
    BY_ID,
    BY_REMOTE
];

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
    /// A row whose memory has been deleted shows an empty one: why it was (not) answered stays
    /// explicable.
    pub(crate) fn decode(self) -> Result<InboxItem> {
        let memory = Memory {
            id: MemoryId(self.id),
            kind: self.kind.as_deref().map_or(MemoryKind::Messages, MemoryKind::from_stored),
            agent_id: AgentId(self.agent_id),
            entity_id: EntityId(self.entity_id),
            room_id: RoomId(self.room_id),
            world_id: self.world_id.map(WorldId),
            content: self.content.map_or_else(
                || Ok(Content::default()),
                |text| from_json("memory content", &text),
            )?,
            metadata: self.metadata.map_or_else(
                || Ok(serde_json::Map::new()),
                |text| from_json("memory metadata", &text),
            )?,
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
                envelope: from_json("envelope", &self.envelope)?,
            },
            state: state(&self.state)?,
            attempts: u32::try_from(self.attempts).unwrap_or(u32::MAX),
            turn: self.turn_id.map(TurnId),
            verdict: self.verdict.as_deref().map(verdict::decode).transpose()?,
            received_at: Timestamp(self.received_at),
            finished_at: self.finished_at.map(Timestamp),
        })
    }
}

fn state(text: &str) -> Result<InboxState> {
    InboxState::from_stored(text).ok_or_else(|| error::unreadable("inbox state", text.to_owned()))
}

/// A turn must finish each of its messages once, and for good.
fn check(record: &TurnRecord) -> Result<()> {
    let mut seen = HashSet::new();
    for finished in &record.finished {
        if finished.state == InboxState::New {
            return Err(Error::invalid("a finished turn cannot leave a message new")
                .with("message", finished.id));
        }
        if !seen.insert(finished.id) {
            return Err(Error::invalid("a turn finishes the same message twice")
                .with("message", finished.id));
        }
    }
    Ok(())
}

/// Adds a mutation to a change. The numbers of the writes that show whether it changed something;
/// none where every outcome is fine.
fn mutate(change: &mut Change, mutation: Mutation, at: Timestamp) -> Result<Option<Range<usize>>> {
    let from = change.writes.len();
    match mutation {
        Mutation::Edit { agent, memory, content } => {
            memory::push_update(change, agent, memory, &content)?;
        }
        Mutation::Delete { agent, memories } => memory::push_delete(change, agent, &memories, at)?,
        Mutation::Join(connections) => {
            connect::push(change, &connections)?;
            return Ok(None);
        }
        Mutation::Leave { room, entities } => {
            room::push_leave(change, room, &entities)?;
            return Ok(None);
        }
        Mutation::MoveRoom { room, to_room, to_remote } => {
            room::push_move(change, room, to_room, &to_remote)?;
            return Ok(None);
        }
    }
    Ok(Some(from..change.writes.len()))
}

#[async_trait]
impl InboxStore for Database {
    async fn connect(&self, connections: ConnectionChange) -> Result<()> {
        let mut change = Change::default();
        connect::push(&mut change, &connections)?;
        self.write(change).await.map(drop)
    }

    async fn ingest(&self, ingest: Ingest) -> Result<Ingested> {
        let mut change = Change::default();
        self.push_fence(&mut change, ingest.fence.as_ref())?;
        connect::push(&mut change, &ingest.connections)?;
        let received = self.now();
        let first = change.writes.len();
        let count = ingest.messages.len();
        for InboxEntry { memory, legacy_id, source, account, room_remote, remote, envelope } in
            ingest.messages
        {
            change.push(Write::Message(Box::new(MessageRow {
                memory: self.memory_row(&memory)?,
                legacy: legacy_id.map(|id| id.0),
                source: source.as_str().into(),
                account: Text(account.0),
                room_remote: Text(room_remote.0),
                remote: Text(remote.0),
                received: received.0,
                envelope: Text(self.jsonb(to_json(&envelope)?)),
            })))?;
            change.stores(memory);
        }
        self.push_memories(&mut change, ingest.memories)?;
        let mutated = ingest
            .mutations
            .into_iter()
            .map(|mutation| mutate(&mut change, mutation, received))
            .collect::<Result<Vec<_>>>()?;
        if let Some(cursor) = ingest.cursor {
            change.push(Write::Cursor(cursor.into()))?;
        }
        for state in ingest.state {
            change.push(Write::statement(connector_state::save(state)?))?;
        }
        let hits = self.write(change).await?;
        let touched = |range: Range<usize>| hits[range].iter().any(|hits| *hits > 0);
        Ok(Ingested {
            new: hits.iter().skip(first).take(count).map(|hits| *hits > 0).collect(),
            changed: mutated.into_iter().map(|range| range.is_none_or(touched)).collect(),
        })
    }

    async fn unfinished(
        &self,
        agent: AgentId,
        source: &Source,
        account: &Account,
        limit: u32,
    ) -> Result<Vec<InboxItem>> {
        let values = values![agent.0, source.as_str(), account.0.as_str(), limit];
        self.all(UNFINISHED.with(values)).await?.into_iter().map(Stored::decode).collect()
    }

    async fn waiting_accounts(&self) -> Result<Vec<(AgentId, Source, Account)>> {
        let rows = self.all::<(Uuid, String, String)>(WAITING_ACCOUNTS.with(values![])).await?;
        let of = |(agent, source, account)| {
            (AgentId(agent), Source::from_name(source), Account(account))
        };
        Ok(rows.into_iter().map(of).collect())
    }

    async fn unfinished_in_room(&self, room: RoomId, limit: u32) -> Result<Vec<InboxItem>> {
        let rows = self.all(UNFINISHED_IN_ROOM.with(values![room.0, limit])).await?;
        rows.into_iter().map(Stored::decode).collect()
    }

    async fn unfinished_in_parts(
        &self,
        agent: AgentId,
        parts: &[u16],
        sources: &[Source],
        besides: &InFlightRows,
        limit: u32,
    ) -> Result<Vec<InboxItem>> {
        let values = vec![
            agent.0.into(),
            Value::Ints(parts.iter().map(|part| i64::from(*part)).collect()),
            Value::Texts(sources.iter().map(|source| source.as_str().to_owned()).collect()),
            Value::Ids(besides.messages.iter().map(|id| id.0).collect()),
            Value::Ids(besides.rooms.iter().map(|id| id.0).collect()),
            limit.into(),
        ];
        self.all(UNFINISHED_IN_PARTS.with(values)).await?.into_iter().map(Stored::decode).collect()
    }

    async fn oldest_unstarted(&self) -> Result<Option<Timestamp>> {
        let oldest = self.fetch_one::<(Option<i64>,)>(OLDEST_UNSTARTED.with(values![])).await?;
        Ok(oldest.and_then(|(received,)| received).map(Timestamp))
    }

    async fn begin_turn(&self, ids: &[MemoryId]) -> Result<()> {
        let mut change = Change::default();
        for id in ids {
            change.push(Write::Begin(id.0))?;
        }
        self.write(change).await.map(drop)
    }

    async fn finish_turn(&self, record: TurnRecord) -> Result<()> {
        check(&record)?;
        let mut change = Change::default();
        if record.effects.iter().any(effect::changes_links) {
            relationship::push_lock(&mut change, record.agent)?;
        }
        self.push_fence(&mut change, record.fence.as_ref())?;
        for finished in &record.finished {
            change.push(Write::Finish(FinishRow {
                id: finished.id.0,
                agent: record.agent.0,
                turn: record.turn.0,
                state: finished.state.as_str().into(),
                at: record.at.0,
                verdict: Text(verdict::encode(&verdict::cleaned(
                    &finished.verdict,
                    &self.0.redactor,
                ))?),
            }))?;
        }
        let mut memories = record.memories;
        for result in memories.iter_mut().filter(|m| m.kind == MemoryKind::ActionResult) {
            result.content.text = self.clean(std::mem::take(&mut result.content.text));
        }
        self.push_memories(&mut change, memories)?;
        outbox::push(&mut change, &record.deliveries)?;
        usage::push(&mut change, &record.usage)?;
        for effect in &record.effects {
            effect::push(&mut change, record.agent, record.turn, effect, record.at)?;
        }
        live::push_told(&mut change, &record.deliveries, &record.told)?;
        self.write(change).await.map(drop)
    }

    async fn inbox_item(&self, id: MemoryId) -> Result<Option<InboxItem>> {
        self.fetch_one(BY_ID.with(values![id.0])).await?.map(Stored::decode).transpose()
    }

    async fn inbox_of_turn(&self, turn: TurnId) -> Result<Vec<InboxItem>> {
        self.all(OF_TURN.with(values![turn.0])).await?.into_iter().map(Stored::decode).collect()
    }

    async fn inbox_by_remote(
        &self,
        source: &Source,
        room: Option<&RemoteId>,
        message: &RemoteId,
    ) -> Result<Vec<InboxItem>> {
        let room = room.map(|id| id.as_str().to_owned());
        let values = values![source.as_str(), message.as_str(), room];
        self.all(BY_REMOTE.with(values)).await?.into_iter().map(Stored::decode).collect()
    }

    async fn cursor(
        &self,
        agent: AgentId,
        source: &Source,
        account: &Account,
        stream: &str,
    ) -> Result<Option<Cursor>> {
        let values = values![agent.0, source.as_str(), account.0.as_str(), stream];
        let row = self.fetch_one::<(String,)>(cursor::CURSOR.with(values)).await?;
        Ok(row.map(|(position,)| Cursor { stream: stream.to_owned(), position }))
    }

    async fn connector_state(
        &self,
        agent: AgentId,
        source: &Source,
        account: &Account,
        key: &str,
    ) -> Result<Option<serde_json::Value>> {
        let values = values![agent.0, source.as_str(), account.0.as_str(), key];
        let row = self.fetch_one::<(String,)>(connector_state::STATE.with(values)).await?;
        row.map(|(value,)| from_json("connector state", &value)).transpose()
    }
}
