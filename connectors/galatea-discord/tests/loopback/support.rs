//! A runtime in miniature: it remembers what the connector hands over.

use async_trait::async_trait;
use galatea_core::{
    Address, AgentIdentity, Batch, Clock, Connection, Connector, ConnectorInfo, Cursor, Delivery, DeliveryId, Encoded, EntityId, Error, ErrorKind, Gateway,
    GatewayBackend, Health, Host, Incoming, IncomingEvent, IncomingMessage, Outgoing, Place, Receipt, Received, RemoteId, Result, RoomId, SecretString,
    SendHandler, Source, SystemClock, TurnId, WorldId, message::WorldSync,
};
use galatea_discord::{DiscordConfig, DiscordConnector};
use galatea_testkit::discord::Handle;
use std::{
    collections::{HashMap, HashSet},
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{sync::watch, task::JoinHandle};
use tokio_util::sync::CancellationToken;

/// After this long a wait fails: only a wrong test waits so long.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) events: Vec<Incoming>,
    pub(crate) cursors: HashMap<String, Cursor>,
    /// Ids of messages stored: what comes again is counted, as the runtime does.
    known: HashSet<RemoteId>,
    pub(crate) duplicates: usize,
    pub(crate) syncs: Vec<WorldSync>,
    pub(crate) health: Vec<Health>,
    pub(crate) handler: bool,
    pub(crate) broken: bool,
    pub(crate) refused: usize,
}

pub(crate) struct Backend {
    pub(crate) seen: Mutex<Seen>,
    changed: watch::Sender<u64>,
}

impl Backend {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { seen: Mutex::default(), changed: watch::Sender::new(0) })
    }

    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Seen) -> T) -> T {
        let made = change(&mut self.seen.lock().unwrap());
        self.changed.send_modify(|n| *n += 1);
        made
    }

    /// Waits, by notification, until `look` finds something.
    pub(crate) async fn wait<T>(&self, what: &str, look: impl Fn(&Seen) -> Option<T>) -> T {
        let mut changes = self.changed.subscribe();
        let waiting = async {
            loop {
                if let Some(found) = look(&self.seen.lock().unwrap()) {
                    return found;
                }
                changes.changed().await.unwrap();
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("waited in vain for {what}"))
    }

    pub(crate) async fn messages(&self, count: usize) -> Vec<IncomingMessage> {
        self.wait(&format!("{count} messages"), |seen| {
            let all: Vec<_> = seen.events.iter().filter_map(|e| if let IncomingEvent::Message(m) = &e.event { Some(m.clone()) } else { None }).collect();
            (all.len() >= count).then_some(all)
        })
        .await
    }

    pub(crate) async fn event<T>(&self, what: &str, pick: impl Fn(&Incoming) -> Option<T>) -> T {
        self.wait(what, |seen| seen.events.iter().find_map(&pick)).await
    }
}

#[async_trait]
impl GatewayBackend for Backend {
    async fn ensure_connection(&self, _: &ConnectorInfo, _: &Connection) -> Result<Place> {
        Ok(Place { world: WorldId::fresh(), room: RoomId::fresh(), entity: EntityId::fresh() })
    }
    async fn ensure_connections(&self, _: &ConnectorInfo, world: WorldSync) -> Result<()> {
        self.change(|seen| seen.syncs.push(world));
        Ok(())
    }
    async fn receive(&self, _: &ConnectorInfo, batch: Batch) -> Result<Received> {
        self.change(|seen| {
            if seen.broken {
                seen.refused += 1;
                return Err(Error::new(ErrorKind::Unavailable, "the store is full"));
            }
            let mut received = Received::default();
            for event in batch.events {
                if let IncomingEvent::Message(m) = &event.event
                    && !seen.known.insert(m.id.clone())
                {
                    received.duplicates += 1;
                    continue;
                }
                received.stored += 1;
                seen.events.push(event);
            }
            seen.duplicates += received.duplicates;
            if let Some(cursor) = batch.cursor {
                seen.cursors.insert(cursor.stream.clone(), cursor);
            }
            Ok(received)
        })
    }
    async fn cursor(&self, _: &ConnectorInfo, stream: &str) -> Result<Option<Cursor>> {
        Ok(self.seen.lock().unwrap().cursors.get(stream).cloned())
    }
    fn register_send_handler(&self, _: &ConnectorInfo, _: Arc<dyn SendHandler>) {
        self.change(|seen| seen.handler = true);
    }
    fn report(&self, _: &ConnectorInfo, health: Health) {
        self.change(|seen| seen.health.push(health));
    }
}

pub(crate) fn config(api: &Handle) -> DiscordConfig {
    let mut config = DiscordConfig::new(SecretString::from(api.token()));
    config.api_root = api.url().parse().unwrap();
    config
}

pub(crate) fn build(config: DiscordConfig, folder: &Path, clock: Arc<dyn Clock>) -> DiscordConnector {
    let host = Host { agent: AgentIdentity::new(None, "Eliza"), agent_name: "Eliza".into(), data_dir: folder.to_owned(), clock };
    config.connector(&host).unwrap()
}

/// A connector at work.
pub(crate) struct Running {
    pub(crate) connector: Arc<DiscordConnector>,
    pub(crate) backend: Arc<Backend>,
    pub(crate) stop: CancellationToken,
    pub(crate) task: JoinHandle<Result<()>>,
    _folder: tempfile::TempDir,
}

impl Running {
    pub(crate) fn start(config: DiscordConfig) -> Self {
        Self::with(config, Backend::new(), Arc::new(SystemClock))
    }

    pub(crate) fn with(config: DiscordConfig, backend: Arc<Backend>, clock: Arc<dyn Clock>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let connector = Arc::new(build(config, folder.path(), clock.clone()));
        let stop = CancellationToken::new();
        let gateway = Gateway::new(connector.info().clone(), AgentIdentity::new(None, "Eliza"), backend.clone(), clock);
        let task = tokio::spawn({
            let (connector, stop) = (connector.clone(), stop.clone());
            async move { connector.run(gateway, stop).await }
        });
        Self { connector, backend, stop, task, _folder: folder }
    }

    /// Stops it the normal way.
    pub(crate) async fn end(self) -> Arc<Backend> {
        self.stop.cancel();
        tokio::time::timeout(PATIENCE, self.task).await.expect("it stops soon").unwrap().unwrap();
        self.backend
    }

    /// What it ends with by itself.
    pub(crate) async fn failure(self) -> Error {
        tokio::time::timeout(PATIENCE, self.task).await.expect("it ends").unwrap().unwrap_err()
    }
}

/// The deliveries of something to be sent to a room.
pub(crate) fn deliveries(handler: &dyn SendHandler, room: &str, outgoing: &Outgoing) -> Vec<Delivery> {
    handler.encode(outgoing).unwrap().into_iter().enumerate().map(|(n, body)| delivery(room, n, body)).collect()
}

fn delivery(room: &str, part: usize, body: Encoded) -> Delivery {
    Delivery {
        id: DeliveryId::fresh(),
        agent: AgentIdentity::new(None, "Eliza").id(),
        turn: TurnId::fresh(),
        part: u32::try_from(part).unwrap(),
        address: address(room),
        key: DeliveryId::fresh().0.simple().to_string()[10..].to_owned(),
        body,
        attempt: 0,
        created_at: SystemClock.now(),
    }
}

pub(crate) fn address(room: &str) -> Address {
    Address {
        source: Source::new("discord"),
        account: galatea_core::Account("112233445566778899".into()),
        room: RoomId::fresh(),
        remote: RemoteId(room.to_owned()),
    }
}

pub(crate) async fn send(handler: &dyn SendHandler, room: &str, outgoing: &Outgoing) -> Vec<Result<Receipt>> {
    let mut receipts = Vec::new();
    for delivery in deliveries(handler, room, outgoing) {
        receipts.push(handler.send(&delivery).await);
    }
    receipts
}
