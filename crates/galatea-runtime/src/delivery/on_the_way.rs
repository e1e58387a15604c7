//! On the way: which deliveries this process has in hand, so that what it finds in the store is not taken up twice.

use dashmap::DashMap;
use galatea_core::DeliveryId;
use std::sync::Arc;

/// Deliveries in hand. One is there before its row is committed, and until its end is stored durably.
#[derive(Debug, Clone, Default)]
pub(crate) struct OnTheWay(Arc<DashMap<DeliveryId, ()>>);

impl OnTheWay {
    /// Takes one in hand; none when somebody has it.
    pub(crate) fn begin(&self, id: DeliveryId) -> Option<Ticket> {
        self.0.insert(id, ()).is_none().then(|| Ticket { all: self.clone(), id })
    }

    /// All of them.
    pub(crate) fn ids(&self) -> Vec<DeliveryId> {
        self.0.iter().map(|entry| *entry.key()).collect()
    }
}

/// Holds a delivery in hand until dropped, also by a panic.
#[derive(Debug)]
pub(crate) struct Ticket {
    all: OnTheWay,
    id: DeliveryId,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.all.0.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_hand_at_a_time() {
        let (all, id) = (OnTheWay::default(), DeliveryId::fresh());
        let ticket = all.begin(id);
        assert!(ticket.is_some() && all.begin(id).is_none());
        drop(ticket);
        assert!(all.begin(id).is_some());
    }
}
