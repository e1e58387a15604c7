//! An outbox row in memory, on its way.

use galatea_core::{
    Clock, Delivery, DeliveryId,
    protocol::Part,
    store::{NewDelivery, OutboxItem},
};
use std::time::Duration;

use crate::{in_flight::InFlightGuard, ownership::LeaseGuard};

/// An outbox row in memory.
#[derive(Debug)]
pub(super) struct Job {
    /// The call to make.
    pub(super) delivery: Delivery,
    /// State of its delivery.
    pub(super) part: Part,
    /// Held until its end is stored.
    pub(super) in_flight: Option<InFlightGuard<DeliveryId>>,
    /// Sent only while this process holds the account.
    pub(super) lease: LeaseGuard,
    /// Lead of the clock when its times were set.
    pub(super) ahead: Duration,
    /// It was read while another lane or process may have ended it: its row is read again before it
    /// is sent.
    pub(super) recheck: bool,
}

impl Job {
    /// A row that was just committed.
    pub(super) fn committed(
        row: NewDelivery,
        in_flight: Option<InFlightGuard<DeliveryId>>,
        lease: LeaseGuard,
        ahead: Duration,
    ) -> Self {
        let NewDelivery { delivery, sending, expires, .. } = row;
        Self {
            part: Part { marked: sending, ..Part::new(delivery.created_at, expires) },
            delivery,
            in_flight,
            lease,
            ahead,
            recheck: false,
        }
    }

    /// A stored row, to be sent.
    pub(super) fn stored(
        clock: &dyn Clock,
        item: OutboxItem,
        in_flight: InFlightGuard<DeliveryId>,
        lease: &LeaseGuard,
    ) -> Self {
        Self {
            part: Part::stored(&item).by(item.delivery.created_at, clock.now()),
            delivery: item.delivery,
            in_flight: Some(in_flight),
            lease: lease.clone(),
            ahead: clock.ahead(),
            recheck: false,
        }
    }

    /// Goes on from the row as the store has it now.
    pub(super) fn reread(&mut self, clock: &dyn Clock, item: OutboxItem) {
        self.part = Part::stored(&item).by(item.delivery.created_at, clock.now());
        self.delivery = item.delivery;
        self.recheck = false;
    }

    /// A clock that was set forward meanwhile makes it no older.
    pub(super) fn follow_clock(&mut self, ahead: Duration) {
        let set = ahead.saturating_sub(self.ahead);
        self.part.expires = self.part.expires.map(|end| end.plus(set));
        self.ahead = ahead;
    }
}
