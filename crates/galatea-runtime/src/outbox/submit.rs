//! Claims rows before their commit, and sends them after it.

use galatea_core::{
    Address, Clock, Content, Delivery, DeliveryId, Encoded, Event, Memory, MemoryId, MemoryKind,
    RoomId, Timestamp, TurnId,
    store::{MemoryQuery, NewDelivery},
};
use serde_json::json;
use std::{sync::Arc, time::Duration};

use super::{job::Job, key::idempotency_key, route::Route, state::Outbox};
use crate::{in_flight::InFlightGuard, ownership::LeaseGuard};

/// Time at which rows were made, by a clock that may be set forward before they are sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stamp {
    /// The time.
    pub(crate) at: Timestamp,
    /// Lead of the clock.
    pub(crate) ahead: Duration,
}

impl Stamp {
    /// Now.
    pub(crate) fn now(clock: &dyn Clock) -> Self {
        Self { at: clock.now(), ahead: clock.ahead() }
    }
}

/// Rows about to be committed. They are in flight already, or a poll of the outbox would take them
/// up as well.
pub(crate) struct Prepared {
    rows: Vec<NewDelivery>,
    in_flight: Vec<Option<InFlightGuard<DeliveryId>>>,
    stamp: Stamp,
}

impl Prepared {
    /// The rows to commit.
    pub(crate) fn rows(&self) -> Vec<NewDelivery> {
        self.rows.clone()
    }
}

impl Outbox {
    /// A row for one part of an answer.
    pub(crate) fn row(
        &self,
        turn: TurnId,
        part: u32,
        address: Address,
        body: Encoded,
        memory: Option<MemoryId>,
        stamp: Stamp,
    ) -> NewDelivery {
        let id = DeliveryId::fresh();
        let delivery = Delivery {
            id,
            agent: self.identity.id(),
            turn,
            part,
            address,
            key: idempotency_key(id),
            body,
            attempt: 0,
            created_at: stamp.at,
            previous: None,
        };
        let delivered = self.delivers_by_commit(&delivery.address);
        NewDelivery {
            delivery,
            memory,
            sending: false,
            delivered,
            expires: Some(stamp.at.plus(self.answer_ttl())),
        }
    }

    /// Claims rows before they are committed.
    pub(crate) fn prepare(&self, rows: Vec<NewDelivery>, stamp: Stamp) -> Prepared {
        let in_flight = rows.iter().map(|row| self.in_flight.begin(row.delivery.id)).collect();
        Prepared { rows, in_flight, stamp }
    }

    /// The first part for a Room with nothing before it goes out at once: committing it as
    /// `sending` saves a commit.
    pub(crate) fn commit_first_as_sending(&self, prepared: &mut Prepared) {
        let first = |row: &&mut NewDelivery| row.delivery.part == 0 && !row.delivered;
        for row in prepared.rows.iter_mut().filter(first) {
            let address = &row.delivery.address;
            row.sending = self.lanes.is_idle(&address.room)
                && self.sender(address).is_some_and(|(route, _)| route.backlog.sends.is_cleared());
        }
    }

    /// Committed rows go to their lanes, or stay in the store for the process that sends.
    pub(crate) fn submit(&self, prepared: Prepared) {
        let Prepared { rows, in_flight, stamp } = prepared;
        for (row, in_flight) in rows.into_iter().zip(in_flight) {
            if row.delivered {
                self.publish_delivered(&row);
                continue;
            }
            let address = &row.delivery.address;
            let cleared = |(route, _): &(Arc<Route>, LeaseGuard)| route.backlog.sends.is_cleared();
            if let Some((_, lease)) = self.sender(address).filter(cleared) {
                self.push(Job::committed(row, in_flight, lease, stamp.ahead));
                continue;
            }
            // Let go before the backlog is asked: its reader finds the row in the store, or learns
            // here that it read too early.
            drop(in_flight);
            let Some((route, lease)) = self.sender(address) else {
                self.wake_sender();
                continue;
            };
            if route.backlog.sends.admits()
                && let Some(in_flight) = self.in_flight.begin(row.delivery.id)
            {
                self.push(Job::committed(row, Some(in_flight), lease, stamp.ahead));
            }
        }
    }

    fn delivers_by_commit(&self, address: &Address) -> bool {
        let route = self.routes.any(&address.source, &address.account);
        route.is_some_and(|route| route.handler.delivers_by_commit())
    }

    /// Its commit was the delivery.
    fn publish_delivered(&self, row: &NewDelivery) {
        let Delivery { id, agent, address, attempt, .. } = &row.delivery;
        tracing::debug!(delivery = %id, room = %address.room, "delivered by its commit");
        self.events.publish(Event::DeliverySent {
            agent: *agent,
            room: address.room,
            delivery: *id,
            attempt: *attempt,
        });
    }

    fn sender(&self, address: &Address) -> Option<(Arc<Route>, LeaseGuard)> {
        let route = self.routes.any(&address.source, &address.account)?;
        route.sends().map(|lease| (route, lease))
    }

    /// The agent's own words in another Room are remembered there: a turn in that Room knows what
    /// the agent said.
    pub(crate) async fn memory_elsewhere(
        &self,
        there: &Address,
        mut content: Content,
        now: Timestamp,
    ) -> Memory {
        content.source.get_or_insert_with(|| there.source.to_string());
        let mut metadata = serde_json::Map::new();
        metadata.insert("type".into(), json!("message"));
        metadata.insert("entityName".into(), json!(self.profile.get().view.character.name));
        // Without its World it is found by its Room still.
        let info = self.directory.rooms.load(&*self.store, there.room).await.ok().flatten();
        Memory {
            id: MemoryId::fresh(),
            kind: MemoryKind::Messages,
            agent_id: self.identity.id(),
            entity_id: self.identity.entity(),
            room_id: there.room,
            world_id: info.map(|info| info.room.world_id),
            content,
            metadata,
            created_at: time_of(self.newest(there.room).await, now),
        }
    }

    /// The time of the newest message of a Room; none where there is none, or it cannot be read.
    async fn newest(&self, room: RoomId) -> Option<Timestamp> {
        let agent = self.identity.id();
        let query = MemoryQuery::new(agent, 1).room(room).kind(MemoryKind::Messages);
        let found = self.store.shared_memories(&query).await.ok()?;
        found.first().map(|memory| memory.created_at)
    }
}

/// Two clocks that keep time differ by less.
const CLOCKS_DIFFER: Duration = Duration::from_secs(60);

/// The time of a message that answers none. Its Room has the times of its platform's clock: the
/// message has that of the Room's newest if that is later than this process's clock, or of the last
/// minute by it. Otherwise the Room was quiet, or the clocks differ; the message has the time now.
fn time_of(newest: Option<Timestamp>, now: Timestamp) -> Timestamp {
    newest.filter(|at| now.since(*at) <= CLOCKS_DIFFER).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_stands_behind_the_newest_of_this_minute_and_behind_later_ones() {
        let now = Timestamp(1_000_000);
        let of = |newest: i64| time_of(Some(Timestamp(newest)), now).0;
        assert_eq!([of(1_003_000), of(997_000)], [1_003_000, 997_000]);
        assert_eq!([of(900_000), of(2_000_000)], [1_000_000, 2_000_000]);
        assert_eq!(time_of(None, now), now);
    }
}
