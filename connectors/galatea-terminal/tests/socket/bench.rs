//! Test support: a running connector with a gateway that records its events.

use async_trait::async_trait;
use galatea_core::{
    Address, AgentId, AgentIdentity, Batch, Connection, ConnectionIds, Connector, ConnectorConfig,
    ConnectorInfo, Content, Cursor, Delivery, DeliveryId, Error, ErrorKind, Gap, Gateway,
    GatewayBackend, Health, Host, IncomingEvent, MemoryId, Outgoing, Received, RemoteId, Result,
    RoomId, SendHandler, Settings, SystemClock, Timestamp, TurnId, WorldSync,
};
use galatea_terminal::{Config, Heard, TerminalClient};
use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
};
use tokio::{sync::watch, task::JoinHandle};
use tokio_util::sync::CancellationToken;

/// What the gateway recorded.
pub(crate) struct Recorder {
    pub(crate) ids: Mutex<Vec<String>>,
    pub(crate) broken: Mutex<bool>,
    pub(crate) health: watch::Sender<Health>,
    pub(crate) handler: watch::Sender<Option<Arc<dyn SendHandler>>>,
}

#[async_trait]
impl GatewayBackend for Recorder {
    async fn ensure_connection(&self, _: &ConnectorInfo, _: &Connection) -> Result<ConnectionIds> {
        Err(Error::unexpected("receive does it"))
    }
    async fn ensure_connections(&self, _: &ConnectorInfo, _: WorldSync) -> Result<()> {
        Ok(())
    }
    async fn receive(&self, _: &ConnectorInfo, batch: Batch) -> Result<Received> {
        if *self.broken.lock().unwrap() {
            return Err(
                Error::new(ErrorKind::Unavailable, "the disk is full").with_code("GAL-DB-FULL")
            );
        }
        let mut ids = self.ids.lock().unwrap();
        let mut received = Received::default();
        for event in batch.events {
            let IncomingEvent::Message(message) = event.event else { panic!("{:?}", event.event) };
            let id = message.id.to_string();
            if ids.contains(&id) {
                received.duplicates += 1;
            } else {
                ids.push(id);
                received.stored += 1;
            }
        }
        Ok(received)
    }
    async fn note_gap(&self, _: &ConnectorInfo, _: Gap) -> Result<()> {
        Ok(())
    }
    async fn state(&self, _: &ConnectorInfo, _: &str) -> Result<Option<serde_json::Value>> {
        Ok(None)
    }
    async fn cursor(&self, _: &ConnectorInfo, _: &str) -> Result<Option<Cursor>> {
        Ok(None)
    }
    fn register_send_handler(&self, _: &ConnectorInfo, handler: Arc<dyn SendHandler>) {
        self.handler.send_replace(Some(handler));
    }
    fn report(&self, _: &ConnectorInfo, health: Health) {
        self.health.send_replace(health);
    }
}

pub(crate) struct Bench {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) connector: Arc<dyn Connector>,
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) stop: CancellationToken,
    pub(crate) task: JoinHandle<Result<()>>,
}

pub(crate) fn agent() -> AgentIdentity {
    AgentIdentity::new(None, "Eliza")
}

pub(crate) fn connector(dir: &tempfile::TempDir) -> Arc<dyn Connector> {
    let host = Host {
        agent: agent(),
        agent_name: "Eliza".into(),
        data_dir: dir.path().to_owned(),
        clock: Arc::new(SystemClock),
    };
    Config::from_settings(&Settings::default()).unwrap().unwrap().build(&host).unwrap()
}

impl Bench {
    pub(crate) async fn start() -> Self {
        Self::start_in(tempfile::tempdir().unwrap()).await
    }

    pub(crate) async fn start_in(dir: tempfile::TempDir) -> Self {
        let connector = connector(&dir);
        let recorder = Arc::new(Recorder {
            ids: Mutex::default(),
            broken: Mutex::default(),
            health: watch::Sender::new(Health::Starting),
            handler: watch::Sender::new(None),
        });
        let gateway = Gateway::new(
            connector.info().clone(),
            agent(),
            recorder.clone(),
            Arc::new(SystemClock),
        );
        let stop = CancellationToken::new();
        let task = tokio::spawn({
            let (connector, stop) = (connector.clone(), stop.clone());
            async move { connector.run(gateway, stop).await }
        });
        let bench = Self { dir, connector, recorder, stop, task };
        bench
            .recorder
            .health
            .subscribe()
            .wait_for(|h| matches!(h, Health::Up { .. }))
            .await
            .unwrap();
        bench
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.dir.path().join("terminal.sock")
    }

    pub(crate) async fn client(&self, name: &str) -> TerminalClient {
        TerminalClient::connect(&self.socket(), name).await.unwrap()
    }

    pub(crate) fn handler(&self) -> Arc<dyn SendHandler> {
        self.recorder.handler.borrow().clone().unwrap()
    }

    pub(crate) fn deliveries(
        &self,
        name: &str,
        key: &str,
        text: &str,
        answers: Option<MemoryId>,
    ) -> Vec<Delivery> {
        let content = Content { in_reply_to: answers, ..Content::text(text) };
        let turn = TurnId::fresh();
        let bodies = self.handler().encode(&Outgoing::Message { content, reply_to: None }).unwrap();
        bodies
            .into_iter()
            .enumerate()
            .map(|(i, body)| Delivery {
                id: DeliveryId::fresh(),
                agent: AgentId(agent().id().0),
                turn,
                part: u32::try_from(i).unwrap(),
                address: address(&format!("terminal-{name}")),
                key: format!("{key}{i}"),
                body,
                attempt: 0,
                created_at: Timestamp(0),
                previous: None,
            })
            .collect()
    }

    pub(crate) async fn end(self) {
        self.stop.cancel();
        self.task.await.unwrap().unwrap();
    }
}

pub(crate) fn address(room: &str) -> Address {
    Address {
        source: galatea_terminal::SOURCE,
        account: galatea_core::Account("local".into()),
        room: RoomId(agent().swizzle(room)),
        remote: RemoteId::new(room),
    }
}

pub(crate) async fn heard(client: &mut TerminalClient) -> Heard {
    client.next().await.unwrap().expect("the connection is open")
}
