//! A connector at work between a platform and a recording gateway, for a connector's own tests.

use std::{any::Any, path::Path, sync::Arc, time::Duration};

use galatea_core::{
    Address, AgentIdentity, Clock, Connector, Delivery, DeliveryId, Error, Gateway, Host, Incoming,
    IncomingMessage, Outgoing, Receipt, Result, SendHandler, SystemClock, TurnId,
};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::RecordingGateway;

/// After this long a wait fails: only a wrong test waits so long.
const PATIENCE: Duration = Duration::from_secs(60);

/// The agent all of them serve.
pub fn identity() -> AgentIdentity {
    AgentIdentity::new(None, "Eliza")
}

/// What a connector is built with.
pub fn host(folder: &Path, clock: Arc<dyn Clock>) -> Host {
    Host { agent: identity(), agent_name: "Eliza".into(), data_dir: folder.to_owned(), clock }
}

/// Waits, but not for ever.
///
/// # Panics
/// After a minute.
pub async fn patient<T>(what: &str, waiting: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, waiting)
        .await
        .unwrap_or_else(|_| panic!("waited in vain for {what}"))
}

/// A connector at work, as the runtime runs it once.
pub struct Running<C> {
    /// It.
    pub connector: Arc<C>,
    /// What it hands over.
    pub gateway: Arc<RecordingGateway>,
    /// Stops it.
    pub stop: CancellationToken,
    /// Its run.
    pub task: JoinHandle<Result<()>>,
    kept: Option<Box<dyn Any + Send>>,
}

impl<C: Connector + 'static> Running<C> {
    /// Starts it.
    pub fn start(connector: C, gateway: Arc<RecordingGateway>, clock: Arc<dyn Clock>) -> Self {
        let (connector, stop) = (Arc::new(connector), CancellationToken::new());
        let handle = Gateway::new(connector.info().clone(), identity(), gateway.clone(), clock);
        let task = tokio::spawn({
            let (connector, stop) = (connector.clone(), stop.clone());
            async move { connector.run(handle, stop).await }
        });
        Self { connector, gateway, stop, task, kept: None }
    }

    /// Keeps something, such as its folder, as long as it runs.
    #[must_use]
    pub fn keeping(mut self, what: impl Any + Send) -> Self {
        self.kept = Some(Box::new(what));
        self
    }

    /// The handler, once registered.
    pub async fn handler(&self) -> Arc<dyn SendHandler> {
        patient("the send handler", self.gateway.wait_for(RecordingGateway::handler)).await
    }

    /// At least so many messages, with all that came with them.
    pub async fn messages(&self, count: usize) -> Vec<(Incoming, IncomingMessage)> {
        patient(&format!("{count} messages"), self.gateway.wait_messages(count)).await
    }

    /// At least so many messages.
    pub async fn heard(&self, count: usize) -> Vec<IncomingMessage> {
        self.messages(count).await.into_iter().map(|(_, message)| message).collect()
    }

    /// Something of the first event that has it.
    pub async fn event<T>(&self, what: &str, pick: impl Fn(&Incoming) -> Option<T>) -> T {
        self.until(what, |gateway| gateway.events().iter().find_map(&pick)).await
    }

    /// Something the gateway shows sooner or later.
    pub async fn until<T>(&self, what: &str, look: impl Fn(&RecordingGateway) -> Option<T>) -> T {
        patient(what, self.gateway.wait_for(look)).await
    }

    /// Stops it the normal way.
    ///
    /// # Panics
    /// When it ends with a failure.
    pub async fn end(self) -> Arc<RecordingGateway> {
        self.stop.cancel();
        match patient("the end", self.task).await {
            Ok(Ok(())) => self.gateway,
            other => panic!("it was to stop, and ended with {other:?}"),
        }
    }

    /// Kills it: nothing gets to finish.
    pub async fn kill(self) {
        self.task.abort();
        let _ = self.task.await;
    }

    /// What it ends with by itself.
    ///
    /// # Panics
    /// When it ends without a failure.
    pub async fn failure(self) -> Error {
        match patient("the failure", self.task).await {
            Ok(Err(error)) => error,
            other => panic!("it was to fail, and ended with {other:?}"),
        }
    }
}

/// The deliveries of something to be sent.
///
/// # Panics
/// When it cannot be encoded.
pub fn deliveries(
    handler: &dyn SendHandler,
    address: &Address,
    outgoing: &Outgoing,
) -> Vec<Delivery> {
    let bodies = handler.encode(outgoing).unwrap_or_else(|e| panic!("it cannot be encoded: {e}"));
    let turn = TurnId::fresh();
    let one = |(part, body)| {
        let id = DeliveryId::fresh();
        // As short as the runtime's keys are, 22 characters.
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

/// Sends every part once.
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
