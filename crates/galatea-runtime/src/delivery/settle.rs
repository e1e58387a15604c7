//! Settle: outcomes are stored in groups, off the path of the next send.

use galatea_core::{Store, store::Settlement};
use std::{sync::Arc, time::Duration};
use tokio::sync::mpsc;

/// Where outcomes go.
#[derive(Clone)]
pub(crate) struct Settler(mpsc::Sender<Settlement>);

/// Settlements that may wait; beyond that senders wait, which slows sending down to what the store takes.
const WAITING: usize = 4096;
const GROUP: usize = 256;
const PAUSE: Duration = Duration::from_millis(500);

impl Settler {
    /// Hands over an outcome.
    pub(crate) async fn settle(&self, settlement: Settlement) {
        // The receiving task lives as long as any sender.
        let _ = self.0.send(settlement).await;
    }
}

/// A settler and the work that stores what it is given; the work ends when the last settler is dropped.
pub(crate) fn settler(store: Arc<dyn Store>) -> (Settler, impl Future<Output = ()> + Send) {
    let (sender, receiver) = mpsc::channel(WAITING);
    (Settler(sender), write(store, receiver))
}

async fn write(store: Arc<dyn Store>, mut receiver: mpsc::Receiver<Settlement>) {
    let mut group = Vec::with_capacity(GROUP);
    while receiver.recv_many(&mut group, GROUP).await > 0 {
        let settlements = std::mem::take(&mut group);
        // What was sent must not be forgotten: keep trying while the disk is full or the database away.
        while let Err(error) = store.settle(settlements.clone()).await {
            tracing::error!(count = settlements.len(), error = %error.report(), "outcomes of sends could not be stored; trying again");
            tokio::time::sleep(PAUSE).await;
        }
    }
}
