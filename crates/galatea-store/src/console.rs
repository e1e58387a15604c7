//! Lists for operators, in pages.
//!
//! Queues are listed by the order of commit, in windows of [`WINDOW`] rows: a filter that fits few
//! rows reads a bounded part of a queue, and says where it ended.

use async_trait::async_trait;
use galatea_core::{
    AgentId, DeliveryId, Entity, EntityId, Memory, MemoryKind, Result, RoomId, Source, Timestamp,
    store::{
        ConsoleStore, Counts, DeliveriesQuery, InboxItem, ListedRoom, MemoriesOf, OutboxItem,
        OutboxState, Page, Place, TurnsQuery,
    },
};
use serde_json::Value as Json;
use sqlx::FromRow;
use uuid::Uuid;

use crate::{
    Database,
    convert::{count, from_json},
    dialect::{Dialects, values},
    entity, inbox, outbox, room,
    rows::StoredMemory,
};

/// Rows of a queue that one statement looks at.
const WINDOW: i64 = 4096;
/// Windows that one page looks at. After these it ends, and says where the next one begins.
const WINDOWS: usize = 16;

pub(crate) const NEWEST_TURN: Dialects =
    Dialects::same("SELECT coalesce((SELECT max(seq) FROM inbox), 0)");
pub(crate) const TURNS: Dialects = Dialects::same(inbox::inbox_row!(
    "i.seq AS place",
    "WHERE i.seq < $1 AND i.seq >= $2 AND (i.agent_id = $3 OR $3 IS NULL) AND (i.source = $4 OR $4 IS NULL) \
     AND (i.state = $5 OR $5 IS NULL) ORDER BY i.seq DESC LIMIT +$6"
));
// A memory names its Room through an index in both databases, an inbox row does not.
pub(crate) const TURNS_OF_ROOM: Dialects = Dialects::same(inbox::inbox_row!(
    "m.seq AS place",
    "WHERE m.room_id = $1 AND m.type = 'messages' AND (m.created_at, m.seq) < ($2, $3) AND (i.state = $4 OR $4 IS NULL) \
     ORDER BY m.created_at DESC, m.seq DESC LIMIT +$5"
));

pub(crate) const NEWEST_DELIVERY: Dialects =
    Dialects::same("SELECT coalesce((SELECT max(seq) FROM outbox), 0)");
macro_rules! deliveries {
    ($which:literal) => {
        Dialects::same(outbox::outbox_row!(
            "seq AS place",
            concat!(
                "WHERE seq < $1 AND seq >= $2 AND (agent_id = $3 OR $3 IS NULL) AND (source = $4 OR $4 IS NULL) \
                 AND (room_id = $5 OR $5 IS NULL) AND (state = $6 OR $6 IS NULL)",
                $which,
                " ORDER BY seq DESC LIMIT +$7"
            )
        ))
    };
}
pub(crate) const DELIVERIES: Dialects = deliveries!("");
// The conditions of the partial indexes, which have few rows: the list of what failed need not look
// for them among all rows that were sent.
pub(crate) const TROUBLED_DELIVERIES: Dialects =
    deliveries!(" AND (state = 'ambiguous' OR state = 'expired' OR state = 'dead')");
pub(crate) const UNSETTLED_DELIVERIES: Dialects =
    deliveries!(" AND state IN ('pending', 'sending')");

macro_rules! memories {
    ($of:literal) => {
        Dialects::same(concat!(
            "SELECT seq AS place, id, type AS kind, agent_id, entity_id, room_id, world_id, created_at, CAST(metadata AS text) AS metadata, \
             CAST(content AS text) AS content FROM memories WHERE ",
            $of,
            " = $1 AND type = $2 AND (created_at, seq) < ($3, $4) ORDER BY created_at DESC, seq DESC LIMIT +$5"
        ))
    };
}
pub(crate) const MEMORIES_OF_AGENT: Dialects = memories!("agent_id");
pub(crate) const MEMORIES_OF_ROOM: Dialects = memories!("room_id");
pub(crate) const MEMORIES_OF_PERSON: Dialects = memories!("entity_id");

pub(crate) const ROOMS: Dialects = Dialects::same(
    "SELECT (SELECT max(m.created_at) FROM memories m WHERE m.room_id = r.id AND m.type = 'messages') AS last_at, r.id, r.agent_id, r.world_id, \
     r.parent_id, r.source, r.account, r.remote, r.type AS kind, r.name, CAST(r.metadata AS text) AS metadata FROM rooms r \
     WHERE r.id > $1 AND (r.agent_id = $2 OR $2 IS NULL) AND (r.source = $3 OR $3 IS NULL) ORDER BY r.id LIMIT +$4",
);
pub(crate) const PEOPLE: Dialects = Dialects::same(
    "SELECT e.id, e.agent_id, CAST(e.names AS text) AS names, CAST(e.metadata AS text) AS metadata FROM entities e \
     WHERE e.id > $1 AND (e.agent_id = $2 OR $2 IS NULL) AND ($3 = '' OR CAST(e.names AS text) LIKE '%' || $3 || '%') ORDER BY e.id LIMIT +$4",
);
pub(crate) const WAITING_MESSAGES: Dialects =
    Dialects::same("SELECT 'new' AS state, count(*) AS n FROM inbox WHERE state = 'new'");
pub(crate) const TROUBLED_MESSAGES: Dialects = Dialects::same(
    "SELECT state, count(*) AS n FROM inbox WHERE state IN ('expired', 'dead') GROUP BY state",
);
pub(crate) const UNSETTLED_PARTS: Dialects = Dialects::same(
    "SELECT state, count(*) AS n FROM outbox WHERE state IN ('pending', 'sending') GROUP BY state",
);
pub(crate) const TROUBLED_PARTS: Dialects = Dialects::same(
    "SELECT state, count(*) AS n FROM outbox WHERE (state = 'ambiguous' OR state = 'expired' OR state = 'dead') GROUP BY state",
);
pub(crate) const CHARACTER: Dialects =
    Dialects::same("SELECT CAST(character AS text) FROM agents WHERE id = $1");

#[derive(FromRow)]
struct Turn {
    place: i64,
    #[sqlx(flatten)]
    row: inbox::Stored,
}

#[derive(FromRow)]
struct Part {
    place: i64,
    #[sqlx(flatten)]
    row: outbox::Stored,
}

#[derive(FromRow)]
struct Remembered {
    place: i64,
    #[sqlx(flatten)]
    row: StoredMemory,
}

#[derive(FromRow)]
struct RoomRow {
    last_at: Option<i64>,
    #[sqlx(flatten)]
    row: room::Stored,
}

/// A page of rows that have their places. A full one has a next page.
fn page<R, T>(
    rows: Vec<R>,
    limit: u32,
    decode: impl Fn(R) -> Result<(Place, T)>,
) -> Result<Page<T>> {
    let full = rows.len() >= limit as usize;
    let (mut next, mut out) = (None, Vec::with_capacity(rows.len()));
    for row in rows {
        let (place, value) = decode(row)?;
        next = full.then_some(place);
        out.push(value);
    }
    Ok(Page { rows: out, next })
}

fn text(source: Option<&Source>) -> Option<String> {
    source.map(|source| source.as_str().to_owned())
}

impl Database {
    /// The first number after the place from which a list of a queue goes on.
    async fn end(&self, newest: Dialects, before: Place) -> Result<i64> {
        if before.seq < i64::MAX {
            return Ok(before.seq);
        }
        let newest = self.fetch_one::<(i64,)>(newest.with(values![])).await?;
        Ok(newest.map_or(0, |(seq,)| seq).saturating_add(1))
    }

    async fn turns_of_all(&self, query: &TurnsQuery) -> Result<Page<InboxItem>> {
        let mut end = self.end(NEWEST_TURN, query.before).await?;
        let mut out = Vec::new();
        for _ in 0..WINDOWS {
            let from = end.saturating_sub(WINDOW);
            let limit = query.limit.saturating_sub(u32::try_from(out.len()).unwrap_or(u32::MAX));
            let state = query.state.map(|state| state.as_str().to_owned());
            let agent = query.agent.map(|id| id.0);
            let values = values![end, from, agent, text(query.source.as_ref()), state, limit];
            let rows = self.all::<Turn>(TURNS.with(values)).await?;
            let full = rows.len() >= limit as usize;
            for Turn { place, row } in rows {
                end = place;
                out.push(row.decode()?);
            }
            if full {
                break;
            }
            end = from;
            if end <= 1 {
                return Ok(Page { rows: out, next: None });
            }
        }
        Ok(Page { rows: out, next: Some(Place { at: Timestamp(0), seq: end }) })
    }

    /// Pages over the rows of a partial index, which are few.
    async fn few_deliveries(
        &self,
        statement: Dialects,
        query: &DeliveriesQuery,
    ) -> Result<Page<OutboxItem>> {
        let rows = self.deliveries(statement, query, query.before.seq, 0, query.limit).await?;
        page(rows, query.limit, |Part { place, row }| {
            Ok((Place { at: Timestamp(0), seq: place }, row.decode()?))
        })
    }

    async fn deliveries(
        &self,
        statement: Dialects,
        query: &DeliveriesQuery,
        end: i64,
        from: i64,
        limit: u32,
    ) -> Result<Vec<Part>> {
        let state = query.state.map(|state| state.as_str().to_owned());
        let (agent, room) = (query.agent.map(|id| id.0), query.room.map(|id| id.0));
        let values = values![end, from, agent, text(query.source.as_ref()), room, state, limit];
        self.all::<Part>(statement.with(values)).await
    }

    async fn counted(&self, statement: Dialects, counts: &mut Counts, inbox: bool) -> Result<()> {
        for (state, n) in self.all::<(String, i64)>(statement.with(values![])).await? {
            let field = match (inbox, state.as_str()) {
                (true, "new") => &mut counts.waiting_messages,
                (true, "dead") => &mut counts.failed_messages,
                (true, "expired") => &mut counts.expired_messages,
                (false, "pending") => &mut counts.pending,
                (false, "sending") => &mut counts.sending,
                (false, "ambiguous") => &mut counts.ambiguous,
                (false, "expired") => &mut counts.expired,
                (false, "dead") => &mut counts.dead,
                _ => continue,
            };
            *field = count(n);
        }
        Ok(())
    }
}

#[async_trait]
impl ConsoleStore for Database {
    async fn list_turns(&self, query: &TurnsQuery) -> Result<Page<InboxItem>> {
        let Some(room) = query.room else { return self.turns_of_all(query).await };
        let state = query.state.map(|state| state.as_str().to_owned());
        let Place { at, seq } = query.before;
        let values = values![room.0, at.0, seq, state, query.limit];
        let rows = self.all::<Turn>(TURNS_OF_ROOM.with(values)).await?;
        page(rows, query.limit, |Turn { place, row }| {
            let item = row.decode()?;
            Ok((Place { at: item.entry.memory.created_at, seq: place }, item))
        })
    }

    async fn list_deliveries(&self, query: &DeliveriesQuery) -> Result<Page<OutboxItem>> {
        match query.state {
            Some(OutboxState::Pending | OutboxState::Sending) => {
                return self.few_deliveries(UNSETTLED_DELIVERIES, query).await;
            }
            Some(OutboxState::Ambiguous | OutboxState::Expired | OutboxState::Dead) => {
                return self.few_deliveries(TROUBLED_DELIVERIES, query).await;
            }
            Some(OutboxState::Sent) | None => {}
        }
        let mut end = self.end(NEWEST_DELIVERY, query.before).await?;
        let mut out = Vec::new();
        for _ in 0..WINDOWS {
            let from = end.saturating_sub(WINDOW);
            let limit = query.limit.saturating_sub(u32::try_from(out.len()).unwrap_or(u32::MAX));
            let rows = self.deliveries(DELIVERIES, query, end, from, limit).await?;
            let full = rows.len() >= limit as usize;
            for Part { place, row } in rows {
                end = place;
                out.push(row.decode()?);
            }
            if full {
                break;
            }
            end = from;
            if end <= 1 {
                return Ok(Page { rows: out, next: None });
            }
        }
        Ok(Page { rows: out, next: Some(Place { at: Timestamp(0), seq: end }) })
    }

    async fn delivery(&self, id: DeliveryId) -> Result<Option<OutboxItem>> {
        let row = self.fetch_one::<outbox::Stored>(outbox::BY_ID.with(values![id.0])).await?;
        row.map(outbox::Stored::decode).transpose()
    }

    async fn list_memories(
        &self,
        of: MemoriesOf,
        kind: &MemoryKind,
        before: Place,
        limit: u32,
    ) -> Result<Page<Memory>> {
        let (statement, id): (Dialects, Uuid) = match of {
            MemoriesOf::Agent(id) => (MEMORIES_OF_AGENT, id.0),
            MemoriesOf::Room(id) => (MEMORIES_OF_ROOM, id.0),
            MemoriesOf::Person(id) => (MEMORIES_OF_PERSON, id.0),
        };
        let values = values![id, kind.as_str(), before.at.0, before.seq, limit];
        let rows = self.all::<Remembered>(statement.with(values)).await?;
        page(rows, limit, |Remembered { place, row }| {
            let memory = row.decode()?;
            Ok((Place { at: memory.created_at, seq: place }, memory))
        })
    }

    async fn list_rooms(
        &self,
        agent: Option<AgentId>,
        source: Option<&Source>,
        after: Option<RoomId>,
        limit: u32,
    ) -> Result<Vec<ListedRoom>> {
        let after = after.map_or(Uuid::nil(), |id| id.0);
        let values = values![after, agent.map(|id| id.0), text(source), limit];
        let rows = self.all::<RoomRow>(ROOMS.with(values)).await?;
        let decode = |RoomRow { last_at, row }: RoomRow| {
            Ok(ListedRoom { room: row.decode()?, last_at: last_at.map(Timestamp) })
        };
        rows.into_iter().map(decode).collect()
    }

    async fn list_people(
        &self,
        agent: Option<AgentId>,
        name: Option<&str>,
        after: Option<EntityId>,
        limit: u32,
    ) -> Result<Vec<Entity>> {
        let after = after.map_or(Uuid::nil(), |id| id.0);
        let values = values![after, agent.map(|id| id.0), name.unwrap_or_default(), limit];
        let rows = self.all(PEOPLE.with(values)).await?;
        rows.into_iter().map(entity::Stored::decode).collect()
    }

    async fn counts(&self) -> Result<Counts> {
        let mut counts = Counts::default();
        for (statement, inbox) in [
            (WAITING_MESSAGES, true),
            (TROUBLED_MESSAGES, true),
            (UNSETTLED_PARTS, false),
            (TROUBLED_PARTS, false),
        ] {
            self.counted(statement, &mut counts, inbox).await?;
        }
        Ok(counts)
    }

    async fn agent_character(&self, id: AgentId) -> Result<Option<Json>> {
        let row = self.fetch_one::<(String,)>(CHARACTER.with(values![id.0])).await?;
        row.map(|(text,)| from_json("character", &text)).transpose()
    }
}
