//! The durable queue out.

use async_trait::async_trait;
use galatea_core::{
    Account, Address, AgentId, Delivery, DeliveryId, Encoded, Memory, MemoryId, RemoteId, Result, RoomId, Source, Timestamp, Trail, TurnId,
    store::{NewDelivery, OutboxItem, OutboxQuery, OutboxState, OutboxStore, Resolution, Settlement},
};
use serde::Serialize;
use sqlx::FromRow;
use uuid::Uuid;

use crate::{
    PostgresStore,
    apply::{Batch, Step},
    change::{Change, Text, uuid},
    convert::from_json,
    lease, memory,
    read::{select, select_built},
};

pub(crate) const DELIVERY: Batch = (
    "delivery",
    "WITH given AS MATERIALIZED (SELECT * FROM jsonb_to_recordset(rows) r(c bigint, id uuid, turn uuid, part bigint, agent uuid, source text, account text,
            room uuid, remote text, key text, memory uuid, state text, attempt bigint, at bigint, expires bigint, body text)),
        stored AS (INSERT INTO outbox (id, turn_id, part, agent_id, source, account, room_id, room_remote, key, memory_id, state, attempt, not_before,
                expires_at, created_at, body)
            SELECT id, turn, part, agent, source, account, room, remote, key, memory, state, attempt, at, expires, at, body::json FROM given
            ON CONFLICT DO NOTHING RETURNING id)
     SELECT c INTO missing FROM given WHERE CASE WHEN given.id IN (SELECT id FROM stored) THEN false
        WHEN again THEN (SELECT true FROM outbox o WHERE o.id = given.id) IS NOT TRUE
        ELSE true END;
     IF FOUND THEN
        RAISE EXCEPTION 'conflict:%', missing USING ERRCODE = 'GA001';
     END IF;",
);

pub(crate) const SETTLE: Batch = (
    "settle",
    "WITH given AS MATERIALIZED (SELECT * FROM jsonb_to_recordset(rows) r(id uuid, state text, attempt bigint, not_before bigint, remote text, error text,
            doubt boolean))
     UPDATE outbox o SET (state, attempt, not_before, remote, error, doubt) =
        (SELECT g.state, g.attempt, g.not_before, coalesce(g.remote, o.remote), g.error, g.doubt FROM given g WHERE g.id = o.id)
     WHERE o.id = ANY (ARRAY(SELECT id FROM given)) AND CASE o.state WHEN 'pending' THEN true WHEN 'sending' THEN true END;",
);

pub(crate) const STEPS: &[Step] = &[
    (
        // What is not the truth about something sent changes nothing once the lease is gone.
        "settle_answered",
        "PERFORM FROM leases WHERE part = b -> 'fence' ->> 'part' AND member_id = (b -> 'fence' ->> 'member')::uuid
            AND epoch = (b -> 'fence' ->> 'epoch')::bigint FOR KEY SHARE;
         IF FOUND OR NOT b ? 'fence' THEN
            UPDATE outbox SET state = b ->> 'state', attempt = (b ->> 'attempt')::bigint, not_before = (b ->> 'not_before')::bigint,
                remote = coalesce(b ->> 'remote', remote), error = b ->> 'error', doubt = (b ->> 'doubt')::boolean
            WHERE id = (b ->> 'id')::uuid AND CASE state WHEN 'pending' THEN true WHEN 'sending' THEN true END;
            GET DIAGNOSTICS touched = ROW_COUNT;
         END IF;",
    ),
    (
        "retry",
        "UPDATE outbox SET state = 'pending', attempt = 0, not_before = (b ->> 'at')::bigint, expires_at = NULL, error = NULL
         WHERE id = (b ->> 'id')::uuid AND state IN ('ambiguous', 'expired', 'dead');",
    ),
    (
        "drop",
        "UPDATE outbox SET state = 'dead', error = 'dropped by the operator'
         WHERE id = (b ->> 'id')::uuid AND state IN ('pending', 'ambiguous');",
    ),
];

const ITEM: &str = "SELECT id, turn_id, part, agent_id, source, account, room_id, room_remote, key, memory_id, state, attempt, not_before, expires_at, \
     created_at, remote, error, doubt, body::text FROM outbox";

const UNSETTLED: &str = "WHERE agent_id = $1 AND source = $2 AND account = $3 AND state IN ('pending', 'sending') AND id <> ALL ($4) ORDER BY seq LIMIT $5";
const OF_TURN: &str = "WHERE turn_id = $1 ORDER BY part";
const BY_ID: &str = "WHERE id = $1";
const SELECTED: &str = "WHERE state = ANY ($1) ORDER BY seq DESC LIMIT $2";
// A memory names its Room through an index, an inbox row does not.
// Earlier by the order of commits, where what was said is a memory as well: the clock may have been set back in between.
const RECEIVED: &str = "SELECT i.remote, i.seq FROM memories m JOIN inbox i ON i.id = m.id \
     WHERE m.room_id = $1 AND m.type = 'messages' AND coalesce( \
        m.seq < (SELECT said.seq FROM outbox d JOIN memories said ON said.id = d.memory_id WHERE d.id = $3), i.received_at <= $2) \
     ORDER BY m.created_at DESC LIMIT 3";
// The rows committed around it: what is ours and close enough to be taken for it. What waits long for its turn is far behind the newest.
const NEIGHBOURS: &str = "SELECT o.seq < d.seq AND o.room_id = d.room_id, o.remote \
     FROM outbox d JOIN outbox o ON o.seq > d.seq - 4096 AND o.seq <= d.seq + 8192 \
     WHERE d.id = $1 AND o.agent_id = $2 AND o.source = $3 AND o.account = $4 AND o.remote IS NOT NULL ORDER BY o.seq DESC";
/// As many rows after it are read.
const NEXT: i64 = 8192;
const NEWER: &str = "SELECT (SELECT max(seq) FROM outbox) - seq FROM outbox WHERE id = $1";
// By the order of rows, so that no index is needed: those around the newest one of its Room, and the newest of all.
const OTHERS: &str = "SELECT remote FROM inbox WHERE seq > $4 - 512 AND seq <= $4 + 8192 AND agent_id = $1 AND source = $2 AND account = $3 \
     UNION SELECT remote FROM inbox \
     WHERE seq > (SELECT max(seq) FROM inbox) - 512 AND agent_id = $1 AND source = $2 AND account = $3";
// Both states are named so that the partial index serves it.
const DOUBTFUL: &str = "SELECT DISTINCT room_remote FROM outbox \
     WHERE agent_id = $1 AND source = $2 AND account = $3 AND state IN ('pending', 'sending') AND state = 'sending' AND room_id <> $4";
// What came to no clear end before it in its own Room, and after what did.
const UNCLEAR: &str = "SELECT o.room_remote FROM outbox d JOIN outbox o ON o.seq > d.seq - 4096 AND o.seq < d.seq AND o.room_id = d.room_id \
     WHERE d.id = $1 AND o.remote IS NULL AND (o.state = 'ambiguous' OR o.doubt) AND NOT EXISTS ( \
        SELECT 1 FROM outbox k WHERE k.seq > o.seq AND k.seq < d.seq AND k.room_id = d.room_id AND k.remote IS NOT NULL)";
pub(crate) const COUNTS: &str = "SELECT source, state, count(*) FROM outbox GROUP BY source, state ORDER BY source, state";

/// Every statement that reads the outbox on a message's way; lists that an operator asks for may take their time.
#[cfg(test)]
pub(crate) fn statements() -> Vec<String> {
    [UNSETTLED, OF_TURN, BY_ID].into_iter().map(item).chain([COUNTS, RECEIVED, NEIGHBOURS, NEWER, OTHERS, DOUBTFUL, UNCLEAR].map(str::to_owned)).collect()
}

pub(crate) fn item(condition: &str) -> String {
    format!("{ITEM} {condition}")
}

#[derive(Serialize)]
struct DeliveryRow<'a> {
    id: Uuid,
    turn: Uuid,
    part: u32,
    agent: Uuid,
    source: &'a str,
    account: &'a str,
    room: Uuid,
    remote: &'a str,
    key: &'a str,
    memory: Option<Uuid>,
    state: &'static str,
    attempt: u32,
    expires: Option<i64>,
    at: i64,
    body: Text<'a, Encoded>,
}

#[derive(Serialize)]
struct SettleRow<'a> {
    id: Uuid,
    state: &'static str,
    attempt: u32,
    not_before: i64,
    remote: Option<&'a str>,
    error: Option<&'a str>,
    doubt: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    fence: Option<lease::FenceRow<'a>>,
}

/// Adds deliveries to a change; a (turn, part) that exists makes the whole change a conflict.
pub(crate) fn push(change: &mut Change, deliveries: &[NewDelivery]) -> Result<()> {
    for NewDelivery { delivery, memory, sending, expires } in deliveries {
        let Delivery { id, agent, turn, part, address, key, body, attempt, created_at, previous: _ } = delivery;
        let row = DeliveryRow {
            id: uuid(*id),
            turn: uuid(*turn),
            part: *part,
            agent: uuid(*agent),
            source: address.source.as_str(),
            account: &address.account.0,
            room: uuid(address.room),
            remote: address.remote.as_str(),
            key,
            memory: memory.map(uuid),
            state: if *sending { OutboxState::Sending } else { OutboxState::Pending }.as_str(),
            attempt: *attempt,
            expires: expires.map(|at| at.0),
            at: created_at.0,
            body: Text(body),
        };
        change.push_about("delivery", uuid(*id), &row)?;
    }
    Ok(())
}

#[derive(FromRow)]
pub(crate) struct Stored {
    id: Uuid,
    turn_id: Uuid,
    part: i64,
    agent_id: Uuid,
    source: String,
    account: String,
    room_id: Uuid,
    room_remote: String,
    key: String,
    memory_id: Option<Uuid>,
    state: String,
    attempt: i64,
    not_before: i64,
    expires_at: Option<i64>,
    created_at: i64,
    remote: Option<String>,
    error: Option<String>,
    doubt: bool,
    body: String,
}

impl Stored {
    pub(crate) fn decode(self) -> Result<OutboxItem> {
        let address =
            Address { source: Source::from_name(self.source), account: Account(self.account), room: RoomId(self.room_id), remote: RemoteId(self.room_remote) };
        Ok(OutboxItem {
            delivery: Delivery {
                id: DeliveryId(self.id),
                agent: AgentId(self.agent_id),
                turn: TurnId(self.turn_id),
                part: u32::try_from(self.part).unwrap_or(u32::MAX),
                address,
                key: self.key,
                body: from_json("delivery body", &self.body)?,
                attempt: u32::try_from(self.attempt).unwrap_or(u32::MAX),
                created_at: Timestamp(self.created_at),
                previous: None,
            },
            memory: self.memory_id.map(MemoryId),
            state: state(&self.state)?,
            not_before: Timestamp(self.not_before),
            expires: self.expires_at.map(Timestamp),
            remote: self.remote.map(RemoteId),
            error: self.error,
            doubt: self.doubt,
        })
    }
}

fn state(text: &str) -> Result<OutboxState> {
    OutboxState::from_stored(text).ok_or_else(|| crate::error::unreadable("outbox state", text.to_owned()))
}

#[derive(Serialize)]
struct ResolveRow {
    id: Uuid,
    at: i64,
}

#[derive(Serialize)]
struct MoveRow<'a> {
    from: Uuid,
    to: Uuid,
    remote: &'a str,
}

#[async_trait]
impl OutboxStore for PostgresStore {
    async fn enqueue(&self, deliveries: Vec<NewDelivery>, memories: Vec<Memory>) -> Result<()> {
        let mut change = self.change();
        memory::push(&mut change, &memories)?;
        push(&mut change, &deliveries)?;
        self.write(change).await.map(drop)
    }

    async fn settle(&self, settlements: Vec<Settlement>) -> Result<Vec<DeliveryId>> {
        let (mut change, mut answered) = (self.change(), Vec::new());
        for Settlement { id, state, attempt, not_before, remote, error, doubt, fence } in &settlements {
            let row = SettleRow {
                id: uuid(*id),
                state: state.as_str(),
                attempt: *attempt,
                not_before: not_before.0,
                remote: remote.as_ref().map(RemoteId::as_str),
                error: error.as_deref(),
                doubt: *doubt,
                fence: fence.as_ref().map(lease::row),
            };
            if *state == OutboxState::Sent {
                change.push_about("settle", uuid(*id), &row)?;
            } else {
                answered.push(*id);
                change.push_answered("settle_answered", uuid(*id), &row)?;
            }
        }
        let touched = self.write(change).await?;
        Ok(answered.into_iter().zip(touched).filter(|(_, touched)| *touched == 0).map(|(id, _)| id).collect())
    }

    async fn unsettled(&self, agent: AgentId, source: &Source, account: &Account, besides: &[DeliveryId], limit: u32) -> Result<Vec<OutboxItem>> {
        let besides: Vec<Uuid> = besides.iter().map(|id| id.0).collect();
        let select = select_built::<Stored>(item(UNSETTLED)).bind(agent.0).text(source.as_str()).text(&account.0).bind(besides).bind(i64::from(limit));
        self.all(select).await?.into_iter().map(Stored::decode).collect()
    }

    async fn deliveries_of(&self, turn: TurnId) -> Result<Vec<OutboxItem>> {
        self.all(select_built::<Stored>(item(OF_TURN)).bind(turn.0)).await?.into_iter().map(Stored::decode).collect()
    }

    async fn outbox_item(&self, id: DeliveryId) -> Result<Option<OutboxItem>> {
        self.one(select_built::<Stored>(item(BY_ID)).bind(id.0)).await?.map(Stored::decode).transpose()
    }

    async fn trail(&self, delivery: &Delivery) -> Result<Trail> {
        let Delivery { id, agent, address, created_at, .. } = delivery;
        let (source, account) = (address.source.as_str(), address.account.0.as_str());
        let remotes = |rows: Vec<(String,)>| rows.into_iter().map(|(remote,)| RemoteId(remote)).collect();
        let received = self.all(select::<(String, i64)>(RECEIVED).bind(address.room.0).bind(created_at.0).bind(id.0)).await?;
        let newest = received.iter().map(|(_, seq)| *seq).max();
        let neighbours = select::<(bool, String)>(NEIGHBOURS).bind(id.0).bind(agent.0).text(source).text(account);
        let neighbours = self.all(neighbours).await?;
        let newer = self.one(select::<(i64,)>(NEWER).bind(id.0)).await?;
        let others = self.all(select::<(String,)>(OTHERS).bind(agent.0).text(source).text(account).bind(newest)).await?;
        let mut doubtful = self.all(select::<(String,)>(DOUBTFUL).bind(agent.0).text(source).text(account).bind(address.room.0)).await?;
        doubtful.extend(self.all(select::<(String,)>(UNCLEAR).bind(id.0)).await?);
        Ok(Trail {
            received: received.into_iter().map(|(remote, _)| RemoteId(remote)).collect(),
            sent: neighbours.iter().filter(|(before, _)| *before).map(|(_, remote)| RemoteId(remote.clone())).collect(),
            ours: neighbours.into_iter().map(|(_, remote)| RemoteId(remote)).collect(),
            others: remotes(others),
            doubtful: remotes(doubtful),
            cut: newer.is_some_and(|(newer,)| newer > NEXT),
        })
    }

    async fn outbox_counts(&self) -> Result<Vec<(Source, OutboxState, u64)>> {
        let rows = self.all(select::<(String, String, i64)>(COUNTS)).await?;
        rows.into_iter().map(|(source, name, count)| Ok((Source::from_name(source), state(&name)?, u64::try_from(count).unwrap_or(0)))).collect()
    }

    async fn outbox(&self, query: &OutboxQuery) -> Result<Vec<OutboxItem>> {
        let states = if query.states.is_empty() { &OutboxState::ALL[..] } else { &query.states };
        let names: Vec<String> = states.iter().map(|state| state.as_str().to_owned()).collect();
        self.all(select_built::<Stored>(item(SELECTED)).bind(names).bind(i64::from(query.limit))).await?.into_iter().map(Stored::decode).collect()
    }

    async fn resolve(&self, id: DeliveryId, resolution: Resolution, at: Timestamp) -> Result<bool> {
        let (op, becomes) = match resolution {
            Resolution::Retry => ("retry", OutboxState::Pending),
            Resolution::Drop => ("drop", OutboxState::Dead),
        };
        let before = self.outbox_item(id).await?.map(|item| item.state);
        if before.is_none_or(|state| !resolution.fits(state)) {
            return Ok(false);
        }
        let mut change = self.change();
        change.push(op, &ResolveRow { id: uuid(id), at: at.0 })?;
        self.write(change).await?;
        Ok(self.outbox_item(id).await?.is_some_and(|item| item.state == becomes))
    }

    async fn move_room(&self, room: RoomId, to_room: RoomId, to_remote: &RemoteId) -> Result<()> {
        let mut change = self.change();
        change.push("move_room", &MoveRow { from: uuid(room), to: uuid(to_room), remote: to_remote.as_str() })?;
        self.write(change).await.map(drop)
    }
}
