//! Stores outcomes in groups, off the path of the next send, in the order they were handed over.

use galatea_core::{Clock, DeliveryId, Store, kill_point, store::Settlement};
use std::{sync::Arc, time::Duration};
use tokio::sync::{mpsc, oneshot};

use crate::in_flight::InFlightGuard;

/// Takes outcomes, and stores them in the order in which it gets them.
#[derive(Clone)]
pub(crate) struct Settler(mpsc::Sender<SettleOrder>);

struct SettleOrder {
    settlement: Option<Settlement>,
    stored: Option<oneshot::Sender<bool>>,
    in_flight: Option<InFlightGuard<DeliveryId>>,
}

/// Settlements that may wait; beyond that senders wait, which slows sending down to what the store
/// takes.
const WAITING: usize = 4096;
const GROUP: usize = 256;
const PAUSE: Duration = Duration::from_millis(500);

impl Settler {
    /// Hands over an outcome.
    pub(crate) async fn settle(&self, settlement: Settlement) {
        // The receiving task lives as long as any sender.
        let _ = self
            .0
            .send(SettleOrder { settlement: Some(settlement), stored: None, in_flight: None })
            .await;
    }

    /// Hands over how a delivery ended; it stays in flight until that is durable.
    pub(crate) async fn end(
        &self,
        settlement: Settlement,
        in_flight: Option<InFlightGuard<DeliveryId>>,
    ) {
        let _ = self
            .0
            .send(SettleOrder { settlement: Some(settlement), stored: None, in_flight })
            .await;
    }

    /// Hands over a change of state and waits until it is durable. It cannot overtake what was
    /// handed over before. False when it is refused: the part is another process's by now.
    pub(crate) async fn settle_now(&self, settlement: Settlement) -> bool {
        self.wait(Some(settlement)).await
    }

    /// Waits until everything handed over before is durable.
    pub(crate) async fn flush(&self) {
        self.wait(None).await;
    }

    async fn wait(&self, settlement: Option<Settlement>) -> bool {
        let (stored, done) = oneshot::channel();
        let handed_over = self
            .0
            .send(SettleOrder { settlement, stored: Some(stored), in_flight: None })
            .await
            .is_ok();
        handed_over && done.await.unwrap_or(false)
    }
}

/// A settler and the work that stores what it is given; the work ends when the last settler is
/// dropped.
pub(crate) fn settler(
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
) -> (Settler, impl Future<Output = ()> + Send) {
    let (sender, receiver) = mpsc::channel(WAITING);
    (Settler(sender), write(store, clock, receiver))
}

async fn write(
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    mut receiver: mpsc::Receiver<SettleOrder>,
) {
    let mut group = Vec::with_capacity(GROUP);
    while receiver.recv_many(&mut group, GROUP).await > 0 {
        let (mut settlements, mut waiting, mut guards) =
            (Vec::with_capacity(group.len()), Vec::new(), Vec::new());
        for order in group.drain(..) {
            let id = order.settlement.as_ref().map(|settlement| settlement.id);
            settlements.extend(order.settlement);
            waiting.extend(order.stored.map(|stored| (id, stored)));
            guards.extend(order.in_flight);
        }
        if !guards.is_empty() {
            kill_point("settle.before");
        }
        let refused = loop {
            if settlements.is_empty() {
                break Vec::new();
            }
            // A sent part must not be forgotten: keep trying while the disk is full or the
            // database away.
            match store.settle(settlements.clone()).await {
                Ok(refused) => break refused,
                Err(error) => {
                    tracing::error!(count = settlements.len(), error = %error.report(), "failed to store delivery outcomes; retrying");
                    clock.sleep(PAUSE).await;
                }
            }
        };
        if !guards.is_empty() {
            kill_point("settle.after");
        }
        drop(guards);
        for (id, stored) in waiting {
            let _ = stored.send(id.is_none_or(|id| !refused.contains(&id)));
        }
    }
}
