//! The terminal connector against real sockets: order of commit and confirmation, keys, permissions, hostile clients.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use async_trait::async_trait;
use galatea_core::{
    Address, AgentId, AgentIdentity, Batch, Connection, Connector, ConnectorConfig, ConnectorInfo, Content, Cursor, Delivery, DeliveryId, Error, ErrorKind,
    Found, Gap, Gateway, GatewayBackend, Health, Host, IncomingEvent, MemoryId, Outgoing, Place, Received, RemoteId, Result, RoomId, SendHandler, Settings,
    SystemClock, Timestamp, Trail, TurnId, WorldSync, error::Sent,
};
use galatea_terminal::{Config, Heard, TerminalClient};
use std::{
    collections::HashSet,
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    sync::{Arc, Mutex},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{UnixListener, UnixStream},
    sync::watch,
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

/// What the connector told its gateway.
struct Recorder {
    ids: Mutex<Vec<String>>,
    broken: Mutex<bool>,
    health: watch::Sender<Health>,
    handler: watch::Sender<Option<Arc<dyn SendHandler>>>,
}

#[async_trait]
impl GatewayBackend for Recorder {
    async fn ensure_connection(&self, _: &ConnectorInfo, _: &Connection) -> Result<Place> {
        Err(Error::unexpected("receive does it"))
    }
    async fn ensure_connections(&self, _: &ConnectorInfo, _: WorldSync) -> Result<()> {
        Ok(())
    }
    async fn receive(&self, _: &ConnectorInfo, batch: Batch) -> Result<Received> {
        if *self.broken.lock().unwrap() {
            return Err(Error::new(ErrorKind::Unavailable, "the disk is full").with_code("GAL-DB-FULL"));
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

struct Bench {
    dir: tempfile::TempDir,
    connector: Arc<dyn Connector>,
    recorder: Arc<Recorder>,
    stop: CancellationToken,
    task: JoinHandle<Result<()>>,
}

fn agent() -> AgentIdentity {
    AgentIdentity::new(None, "Eliza")
}

fn connector(dir: &tempfile::TempDir) -> Arc<dyn Connector> {
    let host = Host { agent: agent(), agent_name: "Eliza".into(), data_dir: dir.path().to_owned(), clock: Arc::new(SystemClock) };
    Config::from_settings(&Settings::default()).unwrap().unwrap().build(&host).unwrap()
}

impl Bench {
    async fn start() -> Self {
        Self::start_in(tempfile::tempdir().unwrap()).await
    }

    async fn start_in(dir: tempfile::TempDir) -> Self {
        let connector = connector(&dir);
        let recorder = Arc::new(Recorder {
            ids: Mutex::default(),
            broken: Mutex::default(),
            health: watch::Sender::new(Health::Starting),
            handler: watch::Sender::new(None),
        });
        let gateway = Gateway::new(connector.info().clone(), agent(), recorder.clone(), Arc::new(SystemClock));
        let stop = CancellationToken::new();
        let task = tokio::spawn({
            let (connector, stop) = (connector.clone(), stop.clone());
            async move { connector.run(gateway, stop).await }
        });
        let bench = Self { dir, connector, recorder, stop, task };
        bench.recorder.health.subscribe().wait_for(|h| matches!(h, Health::Up { .. })).await.unwrap();
        bench
    }

    fn socket(&self) -> PathBuf {
        self.dir.path().join("terminal.sock")
    }

    async fn client(&self, name: &str) -> TerminalClient {
        TerminalClient::connect(&self.socket(), name).await.unwrap()
    }

    fn handler(&self) -> Arc<dyn SendHandler> {
        self.recorder.handler.borrow().clone().unwrap()
    }

    fn deliveries(&self, name: &str, key: &str, text: &str, answers: Option<MemoryId>) -> Vec<Delivery> {
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
            })
            .collect()
    }

    async fn end(self) {
        self.stop.cancel();
        self.task.await.unwrap().unwrap();
    }
}

fn address(room: &str) -> Address {
    Address {
        source: galatea_terminal::SOURCE,
        account: galatea_core::Account("local".into()),
        room: RoomId(agent().swizzle(room)),
        remote: RemoteId::new(room),
    }
}

async fn heard(client: &mut TerminalClient) -> Heard {
    client.next().await.unwrap().expect("the connection is open")
}

#[tokio::test]
async fn a_conversation_there_and_back() {
    let bench = Bench::start().await;
    let mut maria = bench.client("maria").await;
    assert_eq!((maria.agent(), maria.agent_id()), ("Eliza", agent().id()));

    let said = maria.say("hello").await.unwrap();
    let Heard::Received { id, memory } = heard(&mut maria).await else { panic!() };
    assert_eq!(id, said);
    assert_eq!(*bench.recorder.ids.lock().unwrap(), [format!("terminal-maria/{said}")], "stored before it is confirmed");

    bench.handler().typing(&address("terminal-maria")).await.unwrap();
    assert_eq!(heard(&mut maria).await, Heard::Typing);

    let [delivery] = bench.deliveries("maria", "k", "Hello.", Some(memory)).try_into().unwrap();
    let sending = tokio::spawn({
        let (handler, delivery) = (bench.handler(), delivery.clone());
        async move { handler.send(&delivery).await }
    });
    let Heard::Message(message) = heard(&mut maria).await else { panic!() };
    assert_eq!((message.part.text.as_str(), message.part.in_reply_to, message.part.last), ("Hello.", Some(memory), true));
    assert!(!sending.is_finished(), "only a confirmed message counts as sent");
    maria.confirm(&message).await.unwrap();
    assert_eq!(sending.await.unwrap().unwrap().id, Some(RemoteId::new("terminal-maria/k0")));
    assert!(matches!(bench.handler().find(&delivery, &Trail::default()).await.unwrap(), Found::Sent(_)));
    bench.end().await;
}

#[tokio::test]
async fn a_say_that_could_not_be_stored_is_not_confirmed_and_can_be_said_again() {
    let bench = Bench::start().await;
    let mut maria = bench.client("maria").await;
    *bench.recorder.broken.lock().unwrap() = true;
    maria.say_as("m-1", "hello").await.unwrap();
    let Heard::Refused { code, id, .. } = heard(&mut maria).await else { panic!() };
    assert_eq!((code.as_str(), id.as_deref()), ("GAL-DB-FULL", Some("m-1")));
    *bench.recorder.broken.lock().unwrap() = false;
    for _ in 0..2 {
        maria.say_as("m-1", "hello").await.unwrap();
        assert!(matches!(heard(&mut maria).await, Heard::Received { .. }));
    }
    assert_eq!(bench.recorder.ids.lock().unwrap().len(), 1, "the same id is one message");
    bench.end().await;
}

#[tokio::test]
async fn an_answer_waits_for_its_room_and_reaches_nobody_else() {
    let bench = Bench::start().await;
    let [delivery] = bench.deliveries("maria", "k", "Hello.", None).try_into().unwrap();
    let mut other = bench.client("other").await;
    let error = bench.handler().send(&delivery).await.unwrap_err();
    assert_eq!((error.kind(), error.sent(), error.code()), (ErrorKind::RateLimited, Sent::No, Some("GAL-TERM-OFFLINE")), "its room waits, no breaker opens");

    let mut maria = bench.client("maria").await;
    let handler = bench.handler();
    let (sent, message) = tokio::join!(handler.send(&delivery), async {
        let Heard::Message(message) = heard(&mut maria).await else { panic!() };
        maria.confirm(&message).await.unwrap();
        message
    });
    sent.unwrap();
    assert_eq!(message.part.text, "Hello.");
    bench.handler().typing(&address("terminal-other")).await.unwrap();
    assert_eq!(heard(&mut other).await, Heard::Typing, "the first thing the other room hears");
    bench.end().await;
}

#[tokio::test]
async fn a_key_is_shown_once_however_often_it_is_sent() {
    let bench = Bench::start().await;
    let [delivery] = bench.deliveries("maria", "k", "Hello.", None).try_into().unwrap();

    // The terminal goes away before it confirms: nobody knows whether it was read.
    let mut gone = bench.client("maria").await;
    let handler = bench.handler();
    let (sent, ()) = tokio::join!(handler.send(&delivery), async move {
        assert!(matches!(heard(&mut gone).await, Heard::Message(_)));
        gone.close().await;
    });
    assert_eq!(sent.unwrap_err().sent(), Sent::Maybe);
    assert_eq!(bench.handler().find(&delivery, &Trail::default()).await.unwrap(), Found::Unknown);

    // One that stays confirms the repetition by itself and shows it once.
    let mut maria = bench.client("maria").await;
    let (sent, ()) = tokio::join!(handler.send(&delivery), async {
        let Heard::Message(message) = heard(&mut maria).await else { panic!() };
        maria.confirm(&message).await.unwrap();
    });
    sent.unwrap();
    handler.send(&delivery).await.unwrap();
    bench.handler().typing(&address("terminal-maria")).await.unwrap();
    assert_eq!(heard(&mut maria).await, Heard::Typing, "the second attempt showed nothing");
    bench.end().await;
}

#[tokio::test]
async fn a_key_known_to_the_client_is_confirmed_after_the_server_forgot_it() {
    let bench = Bench::start().await;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("fake.sock");
    let server = UnixListener::bind(&path).unwrap();
    let client = tokio::spawn(async move {
        let mut client = TerminalClient::connect(&path, "maria").await.unwrap();
        let mut shown = 0;
        while let Some(heard) = client.next().await.unwrap() {
            let Heard::Message(message) = heard else { panic!("{heard:?}") };
            client.confirm(&message).await.unwrap();
            shown += 1;
        }
        client.close().await;
        shown
    });
    let (mut stream, _) = server.accept().await.unwrap();
    let hello = format!("{{\"type\":\"hello\",\"v\":1,\"agent\":\"E\\u001b[2Jliza\",\"agent_id\":\"{}\"}}\n", agent().id());
    stream.write_all(hello.as_bytes()).await.unwrap();
    let line = format!("{{\"type\":\"message\",\"key\":\"k\",\"turn\":\"{}\",\"text\":\"x\",\"last\":true,\"new_field\":1}}\n", TurnId::fresh());
    stream.write_all(line.repeat(2).as_bytes()).await.unwrap();
    let mut read = String::new();
    while read.matches("\"ack\"").count() < 2 {
        let mut buffer = [0; 1024];
        let n = stream.read(&mut buffer).await.unwrap();
        assert!(n > 0, "both were to be confirmed: {read}");
        read.push_str(std::str::from_utf8(&buffer[..n]).unwrap());
    }
    drop(stream);
    assert_eq!(client.await.unwrap(), 1);
    bench.end().await;
}

#[tokio::test]
async fn the_socket_is_private_replaces_a_stale_one_and_goes_away() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("terminal.sock");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(path.exists(), "left behind by a crash");
    let bench = Bench::start_in(dir).await;
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let findings = bench.connector.check().await;
    assert_eq!((findings.len(), findings[0].id.as_str()), (1, "GAL-TERM-OK"));

    let second = connector(&bench.dir);
    let gateway = Gateway::new(second.info().clone(), agent(), bench.recorder.clone(), Arc::new(SystemClock));
    let error = second.run(gateway, CancellationToken::new()).await.unwrap_err();
    assert_eq!(error.code(), Some("GAL-TERM-TAKEN"));
    drop(bench.client("maria").await);

    bench.stop.cancel();
    bench.task.await.unwrap().unwrap();
    assert!(!path.exists());
}

#[tokio::test]
async fn a_file_in_its_place_and_a_path_too_long_are_told_not_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("terminal.sock"), "precious").unwrap();
    let findings = connector(&dir).check().await;
    assert_eq!(findings[0].id, "GAL-TERM-PATH");
    assert!(findings[0].fix.is_some());
    assert_eq!(std::fs::read_to_string(dir.path().join("terminal.sock")).unwrap(), "precious");

    let host = Host { agent: agent(), agent_name: "Eliza".into(), data_dir: format!("/tmp/{}", "d".repeat(120)).into(), clock: Arc::new(SystemClock) };
    let long = Config::from_settings(&Settings::default()).unwrap().unwrap().build(&host).unwrap();
    assert_eq!(long.check().await[0].id, "GAL-TERM-PATH");
}

/// Writes lines as they are and reads frames until the other side closes or `until` frames came.
async fn raw(bench: &Bench, lines: &str, until: usize) -> Vec<serde_json::Value> {
    let mut stream = UnixStream::connect(bench.socket()).await.unwrap();
    stream.write_all(lines.as_bytes()).await.unwrap();
    let (mut text, mut buffer) = (String::new(), [0; 4096]);
    while text.lines().count() < until {
        match stream.read(&mut buffer).await.unwrap() {
            0 => break,
            n => text.push_str(std::str::from_utf8(&buffer[..n]).unwrap()),
        }
    }
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn hostile_lines_end_in_a_clear_error_and_disturb_nobody() {
    let bench = Bench::start().await;
    let hello = "{\"type\":\"hello\",\"v\":1,\"name\":\"eve\"}\n";
    for (lines, code) in [
        ("{\"type\":\"say\",\"id\":\"1\",\"text\":\"x\"}\n", "GAL-TERM-HELLO"),
        ("{\"type\":\"hello\",\"v\":99,\"name\":\"eve\"}\n", "GAL-TERM-VERSION"),
        ("{\"type\":\"hello\",\"v\":1,\"name\":\"a/b\"}\n", "GAL-TERM-NAME"),
        ("GET / HTTP/1.1\r\n", "GAL-TERM-FRAME"),
    ] {
        let frames = raw(&bench, lines, usize::MAX).await;
        assert_eq!(frames.last().unwrap()["code"], code, "and the connection closes: {frames:?}");
    }
    let frames =
        raw(&bench, &format!("{hello}[]\n{{\"type\":\"say\",\"id\":\"a/b\",\"text\":\"x\"}}\n{{\"type\":\"say\",\"id\":\"1\",\"text\":\"x\"}}\n"), 4).await;
    let codes: Vec<_> = frames.iter().map(|f| f["code"].as_str().or(f["type"].as_str()).unwrap()).collect();
    assert_eq!(codes, ["hello", "GAL-TERM-FRAME", "GAL-TERM-SAY", "received"], "one bad line does not end the conversation");

    let endless = format!("{hello}{}", "x".repeat(galatea_terminal::frame::MAX_LINE + 1));
    let mut stream = UnixStream::connect(bench.socket()).await.unwrap();
    let (mut read, mut write) = stream.split();
    let mut answer = Vec::new();
    let (_, read) = tokio::join!(write.write_all(endless.as_bytes()), read.read_to_end(&mut answer));
    // The rest of the line is still on its way when the other side closes, which the system may report as a reset.
    drop(read);
    assert!(String::from_utf8_lossy(&answer).contains("GAL-TERM-LINE"), "{}", String::from_utf8_lossy(&answer));
    drop(stream);

    let mut maria = bench.client("maria").await;
    maria.say("still there?").await.unwrap();
    assert!(matches!(heard(&mut maria).await, Heard::Received { .. }));
    bench.end().await;
}

#[tokio::test]
async fn a_client_cannot_confirm_what_it_was_not_given() {
    let bench = Bench::start().await;
    let [delivery] = bench.deliveries("maria", "k", "Hello.", None).try_into().unwrap();
    let mut maria = bench.client("maria").await;
    let frames = "{\"type\":\"hello\",\"v\":1,\"name\":\"eve\"}\n{\"type\":\"ack\",\"key\":\"k0\"}\n[]\n";
    let (handler, before) = (bench.handler(), Arc::new(Mutex::new(HashSet::new())));
    let (sent, ()) = tokio::join!(handler.send(&delivery), async {
        let Heard::Message(message) = heard(&mut maria).await else { panic!() };
        raw(&bench, frames, 2).await;
        assert_eq!(handler.find(&delivery, &Trail::default()).await.unwrap(), Found::Unknown, "eve's word does not count");
        before.lock().unwrap().insert(message.key.clone());
        maria.confirm(&message).await.unwrap();
    });
    sent.unwrap();
    assert_eq!(before.lock().unwrap().len(), 1);
    bench.end().await;
}

#[tokio::test]
async fn after_a_stop_nothing_is_taken_in_and_answers_under_way_still_arrive() {
    let bench = Bench::start().await;
    let mut maria = bench.client("maria").await;
    let [delivery] = bench.deliveries("maria", "k", "Hello.", None).try_into().unwrap();
    let (socket, handler, recorder) = (bench.socket(), bench.handler(), bench.recorder.clone());
    bench.end().await;
    let Err(error) = TerminalClient::connect(&socket, "late").await else { panic!() };
    assert_eq!(error.code(), Some("GAL-TERM-CONNECT"));

    let refused = |heard| matches!(heard, Heard::Refused { code, .. } if code == "GAL-TERM-STOPPING");
    assert!(refused(heard(&mut maria).await), "it is told");
    maria.say("too late").await.unwrap();
    assert!(refused(heard(&mut maria).await));
    assert!(recorder.ids.lock().unwrap().is_empty());

    let (sent, ()) = tokio::join!(handler.send(&delivery), async {
        let Heard::Message(message) = heard(&mut maria).await else { panic!() };
        maria.confirm(&message).await.unwrap();
    });
    sent.unwrap();
}

#[tokio::test]
async fn connecting_to_nothing_names_the_next_action() {
    let dir = tempfile::tempdir().unwrap();
    let Err(error) = TerminalClient::connect(&dir.path().join("terminal.sock"), "maria").await else { panic!() };
    assert_eq!(error.code(), Some("GAL-TERM-CONNECT"));
    assert!(error.fix().unwrap().contains("galatea start"));
}
