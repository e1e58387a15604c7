//! The durable queue out.

use async_trait::async_trait;
use galatea_core::{
    Account, Address, AgentId, Delivery, DeliveryId, Memory, MemoryId, ReadBackContext, RemoteId,
    Result, RoomId, Source, Timestamp, TurnId,
    store::{
        NewDelivery, OpenAccount, OutboxItem, OutboxQuery, OutboxState, OutboxStore, Resolution,
        Settlement,
    },
};
use sqlx::FromRow;
use uuid::Uuid;

use crate::{
    Database,
    change::{Change, Write},
    convert::{from_json, to_json},
    dialect::{Dialects, Text, Value, values},
    error, live,
    plan::no_index,
    room,
    rows::{DeliveryRow, SettleRow},
};

/// Not what a person had deleted.
pub(crate) const RETRY: Dialects = Dialects::same(
    "UPDATE outbox SET state = 'pending', attempt = 0, not_before = $2, expires_at = NULL, error = NULL \
     WHERE id = $1 AND state IN ('ambiguous', 'expired', 'dead') AND CAST(body AS text) <> 'null'",
);
pub(crate) const DROP: Dialects = Dialects::same(
    "UPDATE outbox SET state = 'dead', error = 'dropped by the operator' WHERE id = $1 AND state IN ('pending', 'ambiguous')",
);

macro_rules! item {
    ($condition:expr) => {
        concat!(
            "SELECT id, turn_id, part, agent_id, source, account, room_id, room_remote, key, memory_id, state, attempt, not_before, expires_at, \
             created_at, remote, error, outcome_unknown, CAST(body AS text) AS body FROM outbox ",
            $condition
        )
    };
}
/// The same with a further column, for lists.
macro_rules! outbox_row {
    ($more:literal, $condition:expr) => {
        concat!(
            "SELECT ",
            $more,
            ", id, turn_id, part, agent_id, source, account, room_id, room_remote, key, memory_id, state, attempt, not_before, expires_at, \
             created_at, remote, error, outcome_unknown, CAST(body AS text) AS body FROM outbox ",
            $condition
        )
    };
}
pub(crate) use outbox_row;

// In SQLite one index has the unsettled rows, by Room, with their accounts. Other questions take
// their numbers out of it, so that the planner does not walk all rows in the order that is asked for
macro_rules! unsettled {
    () => {
        "seq IN (SELECT u.seq FROM outbox u WHERE u.state IN ('pending', 'sending') AND u.agent_id = $1 AND u.source = $2 AND u.account = $3)"
    };
}
pub(crate) const UNSETTLED: Dialects = Dialects {
    sqlite: item!(concat!(
        "WHERE ",
        unsettled!(),
        " AND id NOT IN (SELECT unhex(value) FROM json_each($4)) ORDER BY seq LIMIT +$5"
    )),
    postgres: item!(
        "WHERE agent_id = $1 AND source = $2 AND account = $3 AND state IN ('pending', 'sending') AND id <> ALL ($4) ORDER BY seq LIMIT $5"
    ),
};
pub(crate) const UNSETTLED_IN_ROOM: Dialects = Dialects {
    sqlite: item!(
        "WHERE room_id = $1 AND state IN ('pending', 'sending') AND id NOT IN (SELECT unhex(value) FROM json_each($2)) ORDER BY seq LIMIT +$3"
    ),
    postgres: item!(
        "WHERE room_id = $1 AND state IN ('pending', 'sending') AND id <> ALL ($2) ORDER BY seq LIMIT $3"
    ),
};
/// As many rows as accounts with open parts: few while all is well.
pub(crate) const OPEN_ACCOUNTS: Dialects = Dialects::same(
    "SELECT o.agent_id, o.source, o.account, min(CASE WHEN o.state = 'pending' THEN o.expires_at END) FROM outbox o \
     WHERE o.seq IN (SELECT u.seq FROM outbox u WHERE u.state IN ('pending', 'sending')) GROUP BY o.agent_id, o.source, o.account",
);
// Written as in the condition of the partial index, which has few rows.
macro_rules! overdue {
    ($served:literal) => {
        concat!(
            "WHERE seq IN (SELECT u.seq FROM outbox u WHERE u.state IN ('pending', 'sending') AND u.agent_id = $1) \
             AND state = 'pending' AND expires_at < $2 AND source || ' ' || account ",
            $served,
            " ORDER BY seq"
        )
    };
}
pub(crate) const OVERDUE: Dialects = Dialects {
    sqlite: item!(overdue!("NOT IN (SELECT value FROM json_each($3))")),
    postgres: item!(overdue!("<> ALL ($3)")),
};
pub(crate) const OF_TURN: Dialects = Dialects::same(item!("WHERE turn_id = $1 ORDER BY part"));
/// Asked by a command, which may take its time.
pub(crate) const SENT_AS: Dialects = Dialects::same(item!(
    "WHERE source = $1 AND remote = $2 AND (room_remote = $3 OR $3 IS NULL) ORDER BY seq DESC LIMIT 8"
));
pub(crate) const BY_ID: Dialects = Dialects::same(item!("WHERE id = $1"));
pub(crate) const SELECTED: Dialects = Dialects {
    sqlite: item!("WHERE state IN (SELECT value FROM json_each($1)) ORDER BY seq DESC LIMIT +$2"),
    postgres: item!("WHERE state = ANY ($1) ORDER BY seq DESC LIMIT $2"),
};
// Written as in the condition of SQLite's partial index: SQLite uses that index only for the same
// expression.
pub(crate) const TROUBLED: Dialects = Dialects::same(item!(
    "WHERE (state = 'ambiguous' OR state = 'expired' OR state = 'dead') ORDER BY seq LIMIT +$1"
));
// A memory names its Room through an index, an inbox row does not. Earlier by the order of commits,
// where the answer is a memory as well: the clock may have been set back in between.
pub(crate) const RECEIVED: Dialects = Dialects::same(
    "SELECT i.remote, i.seq FROM memories m JOIN inbox i ON i.id = m.id \
     WHERE m.room_id = $1 AND m.type = 'messages' AND coalesce( \
        m.seq < (SELECT answer.seq FROM outbox d JOIN memories answer ON answer.id = d.memory_id WHERE d.id = $3), i.received_at <= $2) \
     ORDER BY m.created_at DESC LIMIT 3",
);
// The rows committed around it: what is ours and close enough to be taken for it. What waits long
// for its turn is far behind the newest.
pub(crate) const NEIGHBOURS: Dialects = Dialects::same(
    "SELECT o.seq < d.seq AND o.room_id = d.room_id, o.remote \
     FROM outbox d JOIN outbox o ON o.seq > d.seq - 4096 AND o.seq <= d.seq + 8192 \
     WHERE d.id = $1 AND o.agent_id = $2 AND o.source = $3 AND o.account = $4 AND o.remote IS NOT NULL ORDER BY o.seq DESC",
);
/// As many rows after it are read.
const NEXT: i64 = 8192;
pub(crate) const NEWER: Dialects =
    Dialects::same("SELECT (SELECT max(seq) FROM outbox) - seq FROM outbox WHERE id = $1");
macro_rules! others {
    ($source:expr) => {
        concat!(
            "SELECT remote FROM inbox WHERE seq > $4 - 512 AND seq <= $4 + 8192 AND agent_id = $1 AND ", $source, " = $2 AND account = $3 \
             UNION SELECT remote FROM inbox WHERE seq > (SELECT max(seq) FROM inbox) - 512 AND agent_id = $1 AND ", $source, " = $2 AND account = $3"
        )
    };
}
// By the order of rows, so that no index is needed: those around the newest one of its Room, and
// the newest of all.
pub(crate) const OTHERS: Dialects =
    Dialects { sqlite: others!(no_index!("source")), postgres: others!("source") };

// Both states are named so that the partial index serves it.
pub(crate) const OUTCOME_UNKNOWN_ELSEWHERE: Dialects = Dialects {
    sqlite: concat!(
        "SELECT DISTINCT room_remote FROM outbox WHERE ",
        unsettled!(),
        " AND state = 'sending' AND room_id <> $4"
    ),
    postgres: "SELECT DISTINCT room_remote FROM outbox \
               WHERE agent_id = $1 AND source = $2 AND account = $3 AND state IN ('pending', 'sending') AND state = 'sending' AND room_id <> $4",
};
// What came to no clear end before it in its own Room, and after what did.
pub(crate) const OUTCOME_UNKNOWN_BEFORE: Dialects = Dialects::same(
    "SELECT o.room_remote FROM outbox d JOIN outbox o ON o.seq > d.seq - 4096 AND o.seq < d.seq AND o.room_id = d.room_id \
     WHERE d.id = $1 AND o.remote IS NULL AND (o.state = 'ambiguous' OR o.outcome_unknown) AND NOT EXISTS ( \
        SELECT 1 FROM outbox k WHERE k.seq > o.seq AND k.seq < d.seq AND k.room_id = d.room_id AND k.remote IS NOT NULL)",
);

/// Every statement that reads the outbox on a message's way; counts and lists for an operator may
/// take their time.
#[cfg(test)]
pub(crate) const READS: &[crate::dialect::Listed] = crate::dialect::listed![
    OPEN_ACCOUNTS,
    UNSETTLED,
    UNSETTLED_IN_ROOM,
    OF_TURN,
    BY_ID,
    RECEIVED,
    NEIGHBOURS,
    NEWER,
    OTHERS,
    OUTCOME_UNKNOWN_ELSEWHERE,
    OUTCOME_UNKNOWN_BEFORE,
];

/// Adds deliveries to a change.
pub(crate) fn push(change: &mut Change, deliveries: &[NewDelivery]) -> Result<()> {
    for NewDelivery { delivery, memory, sending, delivered, expires } in deliveries {
        let Delivery { id, agent, turn, part, address, key, body, attempt, created_at, .. } =
            delivery;
        let state = match (delivered, sending) {
            (true, _) => OutboxState::Sent,
            (false, true) => OutboxState::Sending,
            (false, false) => OutboxState::Pending,
        };
        change.push(Write::Delivery(Box::new(DeliveryRow {
            id: id.0,
            turn: turn.0,
            part: i64::from(*part),
            agent: agent.0,
            source: address.source.as_str().into(),
            account: address.account.0.as_str().into(),
            room: address.room.0,
            remote: address.remote.as_str().into(),
            key: key.as_str().into(),
            memory: memory.map(|id| id.0),
            state: state.as_str().into(),
            attempt: i64::from(*attempt),
            at: created_at.0,
            expires: expires.map(|at| at.0),
            body: Text(to_json(body)?),
        })))?;
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
    outcome_unknown: bool,
    body: String,
}

impl Stored {
    pub(crate) fn decode(self) -> Result<OutboxItem> {
        let address = Address {
            source: Source::from_name(self.source),
            account: Account(self.account),
            room: RoomId(self.room_id),
            remote: RemoteId(self.room_remote),
        };
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
            outcome_unknown: self.outcome_unknown,
        })
    }
}

fn state(text: &str) -> Result<OutboxState> {
    OutboxState::from_stored(text).ok_or_else(|| error::unreadable("outbox state", text.to_owned()))
}

fn ids_value(ids: &[DeliveryId]) -> Value {
    Value::Ids(ids.iter().map(|id| id.0).collect())
}

#[async_trait]
impl OutboxStore for Database {
    async fn enqueue(&self, deliveries: Vec<NewDelivery>, memories: Vec<Memory>) -> Result<()> {
        let mut change = Change::default();
        self.push_memories(&mut change, memories)?;
        push(&mut change, &deliveries)?;
        live::push_told(&mut change, &deliveries, &[])?;
        self.write(change).await.map(drop)
    }

    async fn settle(&self, settlements: Vec<Settlement>) -> Result<Vec<DeliveryId>> {
        let (mut change, mut ids) = (Change::default(), Vec::with_capacity(settlements.len()));
        for Settlement { id, state, attempt, not_before, remote, error, outcome_unknown, fence } in
            settlements
        {
            let sent = state == OutboxState::Sent;
            // That it was sent stays true when the account has moved to another process.
            let fence = fence.filter(|_| !sent);
            ids.push((id, sent));
            change.push(Write::Settle(SettleRow {
                id: id.0,
                state: state.as_str().into(),
                attempt: i64::from(attempt),
                not_before: not_before.0,
                remote: remote.map(|remote| Text(remote.0)),
                error: error.map(|error| Text(self.clean(error))),
                outcome_unknown,
                member: fence.as_ref().map(|fence| fence.member.0),
                epoch: fence.as_ref().map(|f| i64::try_from(f.lease.epoch).unwrap_or(i64::MAX)),
                part: fence.map(|fence| Text(fence.lease.part.0)),
            }))?;
        }
        change.can_wait = ids.iter().all(|(_, sent)| *sent);
        let hits = self.write(change).await?;
        let refused = ids.into_iter().zip(hits).filter(|((_, sent), hits)| !sent && *hits == 0);
        Ok(refused.map(|((id, _), _)| id).collect())
    }

    async fn open_accounts(&self) -> Result<Vec<OpenAccount>> {
        let rows = self.all::<(Uuid, String, String, Option<i64>)>(OPEN_ACCOUNTS.with(values![]));
        let open =
            |(agent, source, account, ends): (Uuid, String, String, Option<i64>)| OpenAccount {
                agent: AgentId(agent),
                source: Source::from_name(source),
                account: Account(account),
                ends: ends.map(Timestamp),
            };
        Ok(rows.await?.into_iter().map(open).collect())
    }

    async fn unsettled(
        &self,
        agent: AgentId,
        source: &Source,
        account: &Account,
        besides: &[DeliveryId],
        limit: u32,
    ) -> Result<Vec<OutboxItem>> {
        let mut values = values![agent.0, source.as_str(), account.0.as_str()];
        values.extend([ids_value(besides), limit.into()]);
        self.all(UNSETTLED.with(values)).await?.into_iter().map(Stored::decode).collect()
    }

    async fn unsettled_in_room(
        &self,
        room: RoomId,
        besides: &[DeliveryId],
        limit: u32,
    ) -> Result<Vec<OutboxItem>> {
        let values = vec![room.0.into(), ids_value(besides), limit.into()];
        self.all(UNSETTLED_IN_ROOM.with(values)).await?.into_iter().map(Stored::decode).collect()
    }

    async fn overdue(
        &self,
        agent: AgentId,
        served: &[(Source, Account)],
        end: Timestamp,
    ) -> Result<Vec<OutboxItem>> {
        let served = served.iter().map(|(source, account)| format!("{source} {account}")).collect();
        let mut values = values![agent.0, end.0];
        values.push(Value::Texts(served));
        self.all(OVERDUE.with(values)).await?.into_iter().map(Stored::decode).collect()
    }

    async fn deliveries_of(&self, turn: TurnId) -> Result<Vec<OutboxItem>> {
        self.all(OF_TURN.with(values![turn.0])).await?.into_iter().map(Stored::decode).collect()
    }

    async fn sent_as(
        &self,
        source: &Source,
        room: Option<&RemoteId>,
        message: &RemoteId,
    ) -> Result<Vec<OutboxItem>> {
        let room = room.map(|id| id.as_str().to_owned());
        let values = values![source.as_str(), message.as_str(), room];
        self.all(SENT_AS.with(values)).await?.into_iter().map(Stored::decode).collect()
    }

    async fn outbox_item(&self, id: DeliveryId) -> Result<Option<OutboxItem>> {
        self.fetch_one(BY_ID.with(values![id.0])).await?.map(Stored::decode).transpose()
    }

    async fn read_back_context(&self, delivery: &Delivery) -> Result<ReadBackContext> {
        let Delivery { id, agent, address, created_at, .. } = delivery;
        let (source, account) = (address.source.as_str(), address.account.0.as_str());
        let remotes =
            |rows: Vec<(String,)>| rows.into_iter().map(|(remote,)| RemoteId(remote)).collect();
        let received = RECEIVED.with(values![address.room.0, created_at.0, id.0]);
        let received = self.all::<(String, i64)>(received).await?;
        let newest = received.iter().map(|(_, seq)| *seq).max();
        let neighbours = NEIGHBOURS.with(values![id.0, agent.0, source, account]);
        let neighbours = self.all::<(bool, String)>(neighbours).await?;
        let newer = self.fetch_one::<(i64,)>(NEWER.with(values![id.0])).await?;
        let others = OTHERS.with(values![agent.0, source, account, newest]);
        let others = self.all::<(String,)>(others).await?;
        let unknown =
            OUTCOME_UNKNOWN_ELSEWHERE.with(values![agent.0, source, account, address.room.0]);
        let mut unknown = self.all::<(String,)>(unknown).await?;
        unknown.extend(self.all::<(String,)>(OUTCOME_UNKNOWN_BEFORE.with(values![id.0])).await?);
        Ok(ReadBackContext {
            received: received.into_iter().map(|(remote, _)| RemoteId(remote)).collect(),
            sent: neighbours
                .iter()
                .filter(|(before, _)| *before)
                .map(|(_, remote)| RemoteId(remote.clone()))
                .collect(),
            ours: neighbours.into_iter().map(|(_, remote)| RemoteId(remote)).collect(),
            others: remotes(others),
            outcome_unknown: remotes(unknown),
            cut: newer.is_some_and(|(newer,)| newer > NEXT),
        })
    }

    async fn outbox(&self, query: &OutboxQuery) -> Result<Vec<OutboxItem>> {
        let states = if query.states.is_empty() { &OutboxState::ALL[..] } else { &query.states };
        let names = states.iter().map(|state| state.as_str().to_owned()).collect();
        let select = SELECTED.with(vec![Value::Texts(names), query.limit.into()]);
        self.all(select).await?.into_iter().map(Stored::decode).collect()
    }

    async fn resolve(&self, id: DeliveryId, resolution: Resolution, at: Timestamp) -> Result<bool> {
        let decided = match resolution {
            Resolution::Retry => RETRY.with(values![id.0, at.0]),
            Resolution::Drop => DROP.with(values![id.0]),
        };
        let before = self.outbox_item(id).await?.map(|item| item.state);
        if before.is_none_or(|state| !resolution.fits(state)) {
            return Ok(false);
        }
        let becomes = match resolution {
            Resolution::Retry => OutboxState::Pending,
            Resolution::Drop => OutboxState::Dead,
        };
        let mut change = Change::default();
        change.push(Write::statement(decided))?;
        self.write(change).await?;
        Ok(self.outbox_item(id).await?.is_some_and(|item| item.state == becomes))
    }

    async fn move_room(&self, room: RoomId, to_room: RoomId, to_remote: &RemoteId) -> Result<()> {
        let mut change = Change::default();
        room::push_move(&mut change, room, to_room, to_remote)?;
        self.write(change).await.map(drop)
    }
}
