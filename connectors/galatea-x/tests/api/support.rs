//! A connector between a loopback X and a recording gateway.

use galatea_core::{
    Account, Address, AgentIdentity, Clock, Connector, Content, Delivery, DeliveryId, Gateway, Host, Incoming, IncomingMessage, Outgoing, Receipt, RemoteId,
    Result, RoomId, SendHandler, Source, SystemClock, TurnId,
};
use galatea_testkit::{connector_suite::RecordingGateway, x::XApi};
use galatea_x::{Credentials, PollPace, Usd, XConfig, XConnector};
use std::{path::Path, sync::Arc, time::Duration};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// After this long a wait fails: only a wrong test waits so long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Posts for real, looks ten times a second, may spend.
pub(crate) fn config(api: &XApi) -> XConfig {
    let keys = api.keys();
    let credentials = Credentials::OAuth1 {
        api_key: keys.api_key.into(),
        api_secret: keys.api_secret.into(),
        token: keys.token.into(),
        token_secret: keys.token_secret.into(),
    };
    with(credentials, api)
}

/// The same with other credentials.
pub(crate) fn with(credentials: Credentials, api: &XApi) -> XConfig {
    let mut config = XConfig::new(credentials);
    config.api_root = api.url().parse().unwrap();
    config.dry_run = false;
    config.daily_limit = Usd::from_cents(10_000);
    config.poll = PollPace { fastest: Duration::from_millis(200), slowest: Duration::from_millis(200) };
    config
}

pub(crate) fn host(folder: &Path, clock: Arc<dyn Clock>) -> Host {
    Host { agent: AgentIdentity::new(None, "Eliza"), agent_name: "Eliza".into(), data_dir: folder.to_owned(), clock }
}

/// A connector at work, as the runtime runs it once.
pub(crate) struct Running {
    pub(crate) connector: Arc<XConnector>,
    pub(crate) gateway: Arc<RecordingGateway>,
    pub(crate) stop: CancellationToken,
    pub(crate) task: JoinHandle<Result<()>>,
}

impl Running {
    /// Starts it, with a folder and a gateway that outlive it.
    pub(crate) fn start(config: XConfig, folder: &Path, gateway: &Arc<RecordingGateway>) -> Self {
        Self::at(config, folder, gateway, Arc::new(SystemClock))
    }

    pub(crate) fn at(config: XConfig, folder: &Path, gateway: &Arc<RecordingGateway>, clock: Arc<dyn Clock>) -> Self {
        let connector = Arc::new(config.connector(&host(folder, clock.clone())).unwrap());
        let stop = CancellationToken::new();
        let handle = Gateway::new(connector.info().clone(), AgentIdentity::new(None, "Eliza"), gateway.clone(), clock);
        let task = tokio::spawn({
            let (connector, stop) = (connector.clone(), stop.clone());
            async move { connector.run(handle, stop).await }
        });
        Self { connector, gateway: gateway.clone(), stop, task }
    }

    /// The handler, once registered.
    pub(crate) async fn handler(&self) -> Arc<dyn SendHandler> {
        patient("the send handler", self.gateway.wait_for(RecordingGateway::handler)).await
    }

    pub(crate) async fn messages(&self, count: usize) -> Vec<(Incoming, IncomingMessage)> {
        patient("messages", self.gateway.wait_messages(count)).await
    }

    /// Stops it the normal way.
    pub(crate) async fn end(self) {
        self.stop.cancel();
        patient("the end", self.task).await.unwrap().unwrap();
    }

    /// Kills it: nothing gets to finish.
    pub(crate) async fn kill(self) {
        self.task.abort();
        let _ = self.task.await;
    }

    /// What it ends with by itself.
    pub(crate) async fn failure(self) -> galatea_core::Error {
        patient("the failure", self.task).await.unwrap().unwrap_err()
    }
}

pub(crate) async fn patient<T>(what: &str, waiting: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("waited in vain for {what}"))
}

pub(crate) fn gateway() -> Arc<RecordingGateway> {
    RecordingGateway::new(AgentIdentity::new(None, "Eliza"))
}

/// The deliveries of something to be sent to a conversation.
pub(crate) fn deliveries(handler: &dyn SendHandler, api: &XApi, room: &str, outgoing: &Outgoing) -> Vec<Delivery> {
    let turn = TurnId::fresh();
    let one = |(part, body)| Delivery {
        id: DeliveryId::fresh(),
        agent: AgentIdentity::new(None, "Eliza").id(),
        turn,
        part,
        address: Address { source: Source::new("x"), account: Account(api.account().to_string()), room: RoomId::fresh(), remote: RemoteId(room.to_owned()) },
        key: "k".into(),
        body,
        attempt: 0,
        created_at: SystemClock.now(),
    };
    (0..).zip(handler.encode(outgoing).unwrap()).map(one).collect()
}

pub(crate) fn reply(text: &str, to: u64) -> Outgoing {
    Outgoing::Message { content: Content::text(text), reply_to: Some(RemoteId::new(to)) }
}

pub(crate) fn say(text: &str) -> Outgoing {
    Outgoing::Message { content: Content::text(text), reply_to: None }
}

/// Sends every part once.
pub(crate) async fn send(handler: &dyn SendHandler, api: &XApi, room: &str, outgoing: &Outgoing) -> Vec<Result<Receipt>> {
    let mut receipts = Vec::new();
    for delivery in deliveries(handler, api, room, outgoing) {
        receipts.push(handler.send(&delivery).await);
    }
    receipts
}
