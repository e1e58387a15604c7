//! A connector at work between its loopback platform and a recording gateway.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use galatea_core::{
    Address, AgentIdentity, Capabilities, Connector, Content, Delivery, DeliveryId, Error, Gateway,
    Outgoing, Receipt, RemoteId, Result, RoomId, SendHandler, SystemClock, TurnId,
};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{ConnectorHarness, RecordingGateway, Spot};

/// A running connector, restarted like the runtime does it.
pub struct Scene<H> {
    /// The platform.
    pub platform: H,
    /// The runtime's side.
    pub gateway: Arc<RecordingGateway>,
    connector: Arc<dyn Connector>,
    identity: AgentIdentity,
    errors: Arc<Mutex<Vec<Error>>>,
    stop: CancellationToken,
    task: JoinHandle<Result<()>>,
}

impl<H: ConnectorHarness> Scene<H> {
    /// Starts platform and connector.
    pub async fn start() -> Self {
        let identity = AgentIdentity::new(None, "Galatea");
        Self::with(H::start().await, RecordingGateway::new(identity))
    }

    /// Starts a connector for a platform and gateway that exist.
    pub fn with(platform: H, gateway: Arc<RecordingGateway>) -> Self {
        let identity = AgentIdentity::new(None, "Galatea");
        let connector = platform.connector();
        let (stop, errors) = (CancellationToken::new(), Arc::new(Mutex::default()));
        let handle = Gateway::new(
            connector.info().clone(),
            identity.clone(),
            gateway.clone(),
            Arc::new(SystemClock),
        );
        let task = tokio::spawn(supervise(connector.clone(), handle, stop.clone(), errors.clone()));
        Self { platform, gateway, connector, identity, errors, stop, task }
    }

    /// What the connector can do.
    pub fn can(&self) -> &Capabilities {
        &self.connector.info().capabilities
    }

    /// The connector.
    pub fn connector(&self) -> &Arc<dyn Connector> {
        &self.connector
    }

    /// The send handler, once registered.
    pub async fn handler(&self) -> Arc<dyn SendHandler> {
        self.gateway.wait_for(RecordingGateway::handler).await
    }

    /// Failures of `run` so far, as their reports.
    pub fn failures(&self) -> Vec<String> {
        self.errors
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .map(|e| format!("{} {e:?}", e.report()))
            .collect()
    }

    /// Stops the connector and returns what `run` returned last, with the parts to start another.
    pub async fn stop(self) -> (Result<()>, H, Arc<RecordingGateway>) {
        self.stop.cancel();
        let outcome = self.task.await.unwrap_or_else(|e| panic!("run() panicked: {e}"));
        (outcome, self.platform, self.gateway)
    }

    /// Where a spot is delivered to.
    pub fn address(&self, spot: &Spot) -> Address {
        let info = self.connector.info();
        let room = RoomId(self.identity.swizzle(spot.room.as_str()));
        Address {
            source: info.source.clone(),
            account: info.account.clone(),
            room,
            remote: spot.room.clone(),
        }
    }

    /// The deliveries an outgoing makes, as the outbox would hold them.
    pub async fn deliveries(&self, spot: &Spot, outgoing: &Outgoing) -> Vec<Delivery> {
        let encoded = self
            .handler()
            .await
            .encode(outgoing)
            .unwrap_or_else(|e| panic!("encode failed: {}", e.report()));
        let turn = TurnId::fresh();
        let one = |(part, body)| {
            let id = DeliveryId::fresh();
            // Its end: ids of one millisecond begin alike.
            let key: String = id.0.simple().to_string().chars().skip(10).collect();
            let created_at = galatea_core::Clock::now(&SystemClock);
            let agent = self.identity.id();
            Delivery {
                id,
                agent,
                turn,
                part: u32::try_from(part).unwrap_or(u32::MAX),
                address: self.address(spot),
                key,
                body,
                attempt: 0,
                created_at,
                previous: None,
            }
        };
        encoded.into_iter().enumerate().map(one).collect()
    }

    /// Encodes and sends every part once, as the delivery worker does when nothing goes wrong.
    pub async fn send(&self, spot: &Spot, outgoing: &Outgoing) -> Vec<Receipt> {
        let handler = self.handler().await;
        let mut receipts = Vec::new();
        for delivery in self.deliveries(spot, outgoing).await {
            receipts.push(
                handler
                    .send(&delivery)
                    .await
                    .unwrap_or_else(|e| panic!("send failed: {}", e.report())),
            );
        }
        receipts
    }

    /// Sends plain text and returns the id the platform gave.
    pub async fn send_text(&self, spot: &Spot, text: &str) -> RemoteId {
        let receipts = self.send(spot, &text_of(text)).await;
        receipts
            .into_iter()
            .next()
            .and_then(|r| r.id)
            .unwrap_or_else(|| panic!("a sent message has an id"))
    }

    /// Sends one part that must fail, and returns the delivery and the failure.
    pub async fn send_failing(&self, spot: &Spot, text: &str) -> (Delivery, Error) {
        let delivery = self.deliveries(spot, &text_of(text)).await.swap_remove(0);
        match self.handler().await.send(&delivery).await {
            Ok(receipt) => panic!("the send must fail, it answered {receipt:?}"),
            Err(error) => (delivery, error),
        }
    }
}

/// An outgoing message of plain text.
pub(super) fn text_of(text: &str) -> Outgoing {
    Outgoing::Message { content: Content::text(text), reply_to: None }
}

async fn supervise(
    connector: Arc<dyn Connector>,
    gateway: Gateway,
    stop: CancellationToken,
    errors: Arc<Mutex<Vec<Error>>>,
) -> Result<()> {
    loop {
        let outcome = connector.run(gateway.clone(), stop.clone()).await;
        match outcome {
            Err(error) if !stop.is_cancelled() => {
                errors.lock().unwrap_or_else(PoisonError::into_inner).push(error)
            }
            done => return done,
        }
        // The runtime's first wait is of this order; without one a connector that fails at once
        // would keep the processor.
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            () = tokio::time::sleep(Duration::from_millis(20)) => {}
        }
    }
}
