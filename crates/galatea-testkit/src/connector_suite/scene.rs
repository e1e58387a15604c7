//! Runs a connector between its loopback platform and a recording gateway, for the suite's cases.

use parking_lot::Mutex;
use std::{sync::Arc, time::Duration};

use galatea_core::{
    Address, AgentIdentity, Capabilities, Connector, Content, Delivery, DeliveryId, Error, Gateway,
    Outgoing, Receipt, RemoteId, Result, RoomId, SendHandler, SystemClock, TurnId,
};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{ConnectorHarness, RecordingGateway, Spot};

/// A running connector that is restarted after each failure, as the runtime does.
pub struct Scene<H> {
    /// The platform and its people.
    pub platform: H,
    /// The gateway in place of the runtime.
    pub gateway: Arc<RecordingGateway>,
    connector: Arc<dyn Connector>,
    identity: AgentIdentity,
    errors: Arc<Mutex<Vec<Error>>>,
    stop: CancellationToken,
    task: JoinHandle<Result<()>>,
}

impl<H: ConnectorHarness> Scene<H> {
    /// Starts a fresh platform and its connector.
    pub async fn start() -> Self {
        let identity = AgentIdentity::new(None, "Galatea");
        Self::with(H::start().await, RecordingGateway::new(identity))
    }

    /// Starts a connector for an existing platform and gateway.
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

    /// Capabilities the connector declares.
    pub fn can(&self) -> &Capabilities {
        &self.connector.info().capabilities
    }

    /// The running connector.
    pub fn connector(&self) -> &Arc<dyn Connector> {
        &self.connector
    }

    /// Waits for the send handler.
    pub async fn handler(&self) -> Arc<dyn SendHandler> {
        self.gateway.wait_for(RecordingGateway::handler).await
    }

    /// Errors that `run` has returned so far, as reports.
    pub fn failures(&self) -> Vec<String> {
        self.errors.lock().iter().map(|e| format!("{} {e:?}", e.report())).collect()
    }

    /// Stops the connector. Returns the last result of `run`, and what is needed to start another
    /// one.
    pub async fn stop(self) -> (Result<()>, H, Arc<RecordingGateway>) {
        self.stop.cancel();
        let outcome = self.task.await.unwrap_or_else(|e| panic!("run() panicked: {e}"));
        (outcome, self.platform, self.gateway)
    }

    /// Address of deliveries to a spot.
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

    /// Encodes outgoing content into deliveries, as the outbox would hold them.
    pub async fn deliveries(&self, spot: &Spot, outgoing: &Outgoing) -> Vec<Delivery> {
        let encoded = self
            .handler()
            .await
            .encode(outgoing)
            .unwrap_or_else(|e| panic!("encode failed: {}", e.report()));
        let turn = TurnId::fresh();
        let one = |(part, body)| {
            let id = DeliveryId::fresh();
            // The end of the id is used: ids of one millisecond begin alike.
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

    /// Encodes content and sends every part once, as the delivery worker does when every send
    /// succeeds.
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

    /// Sends plain text and returns the platform's message id.
    pub async fn send_text(&self, spot: &Spot, text: &str) -> RemoteId {
        let receipts = self.send(spot, &text_of(text)).await;
        receipts
            .into_iter()
            .next()
            .and_then(|r| r.id)
            .unwrap_or_else(|| panic!("a sent message has an id"))
    }

    /// Sends one part that must fail; returns the delivery and the error.
    pub async fn send_failing(&self, spot: &Spot, text: &str) -> (Delivery, Error) {
        let delivery = self.deliveries(spot, &text_of(text)).await.swap_remove(0);
        match self.handler().await.send(&delivery).await {
            Ok(receipt) => panic!("the send must fail, it answered {receipt:?}"),
            Err(error) => (delivery, error),
        }
    }
}

/// An outgoing message with plain text.
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
            Err(error) if !stop.is_cancelled() => errors.lock().push(error),
            done => return done,
        }
        // About as long as the runtime's first backoff. Without a pause, a connector that fails at
        // once would keep the processor busy.
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            () = tokio::time::sleep(Duration::from_millis(20)) => {}
        }
    }
}
