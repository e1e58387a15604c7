//! Runs a connector between a platform and a recording gateway, for a connector's own tests.

use std::{any::Any, path::Path, sync::Arc, time::Duration};

use galatea_core::{
    Address, AgentIdentity, Clock, Connector, Delivery, DeliveryId, Error, Gateway, Host, Incoming,
    IncomingMessage, Outgoing, Receipt, Result, SendHandler, SystemClock, TurnId,
};
use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::RecordingGateway;

/// Limit for one wait; only a faulty test or connector reaches it.
const PATIENCE: Duration = Duration::from_secs(60);

/// Identity of the agent that all of these connectors serve.
pub fn identity() -> AgentIdentity {
    AgentIdentity::new(None, "Eliza")
}

/// The host that a connector under test is built with.
pub fn host(folder: &Path, clock: Arc<dyn Clock>) -> Host {
    Host { agent: identity(), agent_name: "Eliza".into(), data_dir: folder.to_owned(), clock }
}

/// The hosts of a suite's connectors. Each has a data folder of its own, which is removed with this
/// value.
#[derive(Debug, Default)]
pub struct Hosts(Mutex<Vec<tempfile::TempDir>>);

impl Hosts {
    /// A host with an empty folder and the machine's clock.
    ///
    /// # Panics
    /// If no folder can be made.
    pub fn fresh(&self) -> Host {
        let folder = tempfile::tempdir().unwrap_or_else(|e| panic!("no folder: {e}"));
        let host = host(folder.path(), Arc::new(SystemClock));
        self.0.lock().push(folder);
        host
    }
}

/// Awaits `waiting` for at most a minute.
///
/// # Panics
/// After a minute, naming `what`.
pub async fn patient<T>(what: &str, waiting: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, waiting)
        .await
        .unwrap_or_else(|_| panic!("waited in vain for {what}"))
}

/// A connector that runs once, without a restart after it ends.
pub struct Running<C> {
    /// The connector.
    pub connector: Arc<C>,
    /// Records what the connector hands over.
    pub gateway: Arc<RecordingGateway>,
    /// Stops the connector when cancelled.
    pub stop: CancellationToken,
    /// The task of the connector's `run`.
    pub task: JoinHandle<Result<()>>,
    kept: Option<Box<dyn Any + Send>>,
}

impl<C: Connector + 'static> Running<C> {
    /// Starts the connector.
    pub fn start(connector: C, gateway: Arc<RecordingGateway>, clock: Arc<dyn Clock>) -> Self {
        let (connector, stop) = (Arc::new(connector), CancellationToken::new());
        let handle = Gateway::new(connector.info().clone(), identity(), gateway.clone(), clock);
        let task = tokio::spawn({
            let (connector, stop) = (connector.clone(), stop.clone());
            async move { connector.run(handle, stop).await }
        });
        Self { connector, gateway, stop, task, kept: None }
    }

    /// Keeps a value, such as its data folder, alive as long as the connector runs.
    #[must_use]
    pub fn keeping(mut self, what: impl Any + Send) -> Self {
        self.kept = Some(Box::new(what));
        self
    }

    /// Waits for the send handler.
    pub async fn handler(&self) -> Arc<dyn SendHandler> {
        patient("the send handler", self.gateway.wait_for(RecordingGateway::handler)).await
    }

    /// Waits for at least `count` messages and returns them with their events.
    pub async fn messages(&self, count: usize) -> Vec<(Incoming, IncomingMessage)> {
        patient(&format!("{count} messages"), self.gateway.wait_messages(count)).await
    }

    /// Waits for at least `count` messages and returns them.
    pub async fn heard(&self, count: usize) -> Vec<IncomingMessage> {
        self.messages(count).await.into_iter().map(|(_, message)| message).collect()
    }

    /// Waits for an event in which `pick` finds something, and returns it.
    pub async fn event<T>(&self, what: &str, pick: impl Fn(&Incoming) -> Option<T>) -> T {
        self.until(what, |gateway| gateway.events().iter().find_map(&pick)).await
    }

    /// Waits until `look` finds something in the gateway, and returns it.
    pub async fn until<T>(&self, what: &str, look: impl Fn(&RecordingGateway) -> Option<T>) -> T {
        patient(what, self.gateway.wait_for(look)).await
    }

    /// Stops the connector through its token and waits for its end.
    ///
    /// # Panics
    /// When `run` returns an error.
    pub async fn end(self) -> Arc<RecordingGateway> {
        self.stop.cancel();
        match patient("the end", self.task).await {
            Ok(Ok(())) => self.gateway,
            other => panic!("it was to stop, and ended with {other:?}"),
        }
    }

    /// Aborts the connector's task, as a crash does.
    pub async fn kill(self) {
        self.task.abort();
        let _ = self.task.await;
    }

    /// Waits until the connector ends by itself, and returns its error.
    ///
    /// # Panics
    /// When `run` returns Ok.
    pub async fn failure(self) -> Error {
        match patient("the failure", self.task).await {
            Ok(Err(error)) => error,
            other => panic!("it was to fail, and ended with {other:?}"),
        }
    }
}

/// Encodes outgoing content into deliveries, as the outbox would hold them.
///
/// # Panics
/// When the content cannot be encoded.
pub fn deliveries(
    handler: &dyn SendHandler,
    address: &Address,
    outgoing: &Outgoing,
) -> Vec<Delivery> {
    let bodies = handler.encode(outgoing).unwrap_or_else(|e| panic!("it cannot be encoded: {e}"));
    let turn = TurnId::fresh();
    let one = |(part, body)| {
        let id = DeliveryId::fresh();
        // 22 characters, as the runtime's keys are.
        let key = id.0.simple().to_string()[10..].to_owned();
        Delivery {
            id,
            agent: identity().id(),
            turn,
            part,
            address: address.clone(),
            key,
            body,
            attempt: 0,
            created_at: SystemClock.now(),
            previous: None,
        }
    };
    (0..).zip(bodies).map(one).collect()
}

/// Sends every delivery once.
pub async fn send(
    handler: &dyn SendHandler,
    address: &Address,
    outgoing: &Outgoing,
) -> Vec<Result<Receipt>> {
    let mut receipts = Vec::new();
    for delivery in deliveries(handler, address, outgoing) {
        receipts.push(handler.send(&delivery).await);
    }
    receipts
}
