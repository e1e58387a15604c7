//! A strict NATS core server on the loopback interface (NATS documentation, "NATS Client Protocol"): publish, subscribe, wildcards, login.

use serde_json::{Value, json};
use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
    sync::{mpsc, watch},
    task::JoinHandle,
};

/// As the server's own default (`max_payload`).
const MAX_PAYLOAD: usize = 1024 * 1024;

/// A server; ends when dropped, and then fails the test if somebody broke the protocol.
#[derive(Debug)]
pub struct NatsServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    login: Option<(String, String)>,
    state: Mutex<State>,
    changed: watch::Sender<u64>,
    reachable: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct State {
    connections: u64,
    subscriptions: Vec<Subscription>,
    published: Vec<String>,
    refused: usize,
    violations: Vec<String>,
}

#[derive(Debug)]
struct Subscription {
    connection: u64,
    id: String,
    subject: String,
    out: mpsc::UnboundedSender<Vec<u8>>,
}

impl NatsServer {
    /// One that lets everybody in.
    pub async fn start() -> Self {
        Self::with(None).await
    }

    /// One that wants this name and password.
    pub async fn guarded(user: &str, password: &str) -> Self {
        Self::with(Some((user.to_owned(), password.to_owned()))).await
    }

    async fn with(login: Option<(String, String)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap_or_else(|e| panic!("no port on the loopback interface: {e}"));
        let address = listener.local_addr().unwrap_or_else(|e| panic!("no address: {e}"));
        let shared = Arc::new(Shared { login, state: Mutex::default(), changed: watch::Sender::new(0), reachable: watch::Sender::new(true) });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Self { address, shared, accepting }
    }

    /// Its address, without a login.
    pub fn url(&self) -> String {
        format!("nats://{}", self.address)
    }

    /// Its address, with this login.
    pub fn url_as(&self, user: &str, password: &str) -> String {
        format!("nats://{user}:{password}@{}", self.address)
    }

    /// Subjects published so far, in order.
    pub fn published(&self) -> Vec<String> {
        self.shared.lock().published.clone()
    }

    /// Logins refused so far.
    pub fn refused(&self) -> usize {
        self.shared.lock().refused
    }

    /// Waits until so many subscriptions are there.
    pub async fn wait_subscribed(&self, count: usize) {
        self.wait(|state| state.subscriptions.len() >= count).await;
    }

    /// Waits until nobody is connected who had subscribed.
    pub async fn wait_gone(&self) {
        self.wait(|state| state.subscriptions.is_empty()).await;
    }

    /// Waits until a subject was published.
    pub async fn wait_published(&self, subject: &str) {
        self.wait(|state| state.published.iter().any(|known| known == subject)).await;
    }

    /// Waits until a login was refused.
    pub async fn wait_refused(&self) {
        self.wait(|state| state.refused > 0).await;
    }

    /// Closes every connection and every new one, or takes them again.
    pub fn set_reachable(&self, reachable: bool) {
        self.shared.reachable.send_replace(reachable);
    }

    async fn wait(&self, reached: impl Fn(&State) -> bool) {
        let mut changes = self.shared.changed.subscribe();
        while !reached(&self.shared.lock()) {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        self.accepting.abort();
        self.shared.reachable.send_replace(false);
        let violations = std::mem::take(&mut self.shared.lock().violations);
        assert!(violations.is_empty() || std::thread::panicking(), "the client broke NATS's protocol: {violations:?}");
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.send_modify(|count| *count += 1);
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let mut number = 0;
            shared.change(|state| {
                state.connections += 1;
                number = state.connections;
            });
            let mut reachable = shared.reachable.subscribe();
            let outcome = tokio::select! {
                outcome = serve(stream, number, &shared) => outcome,
                _ = reachable.wait_for(|reachable| !reachable) => Ok(()),
            };
            shared.change(|state| {
                state.subscriptions.retain(|subscription| subscription.connection != number);
                state.violations.extend(outcome.err());
            });
        });
    }
}

async fn serve(stream: TcpStream, number: u64, shared: &Arc<Shared>) -> Result<(), String> {
    let (reader, mut writer) = stream.into_split();
    let (out, mut outgoing) = mpsc::unbounded_channel::<Vec<u8>>();
    let info = json!({
        "server_id": "TEST", "server_name": "test", "version": "2.9.10", "proto": 1, "go": "go1", "host": "127.0.0.1", "port": 4222, "headers": true,
        "max_payload": MAX_PAYLOAD, "client_id": number, "auth_required": shared.login.is_some(),
    });
    let _ = out.send(format!("INFO {info}\r\n").into_bytes());
    let writing = async {
        while let Some(bytes) = outgoing.recv().await {
            if writer.write_all(&bytes).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        outcome = read(BufReader::new(reader), number, shared, out) => outcome,
        () = writing => Ok(()),
    }
}

/// Reads until the end; the error says which rule was broken.
async fn read(mut reader: BufReader<tokio::net::tcp::OwnedReadHalf>, number: u64, shared: &Shared, out: mpsc::UnboundedSender<Vec<u8>>) -> Result<(), String> {
    let mut options: Option<Value> = None;
    loop {
        let mut line = String::new();
        if !matches!(reader.read_line(&mut line).await, Ok(n) if n > 0) {
            return Ok(());
        }
        let Some(line) = line.strip_suffix("\r\n") else { return Err(format!("a line without an end: {line:?}")) };
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        if options.is_none() && !verb.eq_ignore_ascii_case("CONNECT") {
            return Err(format!("{verb} before CONNECT"));
        }
        let words: Vec<&str> = rest.split_whitespace().collect();
        match (verb.to_ascii_uppercase().as_str(), words.as_slice()) {
            ("CONNECT", _) => {
                let said: Value = serde_json::from_str(rest).map_err(|error| format!("CONNECT {rest}: {error}"))?;
                let login = (said["user"].as_str().unwrap_or_default().to_owned(), said["pass"].as_str().unwrap_or_default().to_owned());
                if shared.login.as_ref().is_some_and(|wanted| *wanted != login) {
                    let _ = out.send(b"-ERR 'Authorization Violation'\r\n".to_vec());
                    shared.change(|state| state.refused += 1);
                    // The writer has to get it out before the connection closes.
                    tokio::task::yield_now().await;
                    return Ok(());
                }
                options = Some(said);
            }
            ("PING", []) => drop(out.send(b"PONG\r\n".to_vec())),
            ("PONG", []) => {}
            ("SUB", [subject, id] | [subject, _, id]) => {
                let subscription = Subscription { connection: number, id: (*id).to_owned(), subject: (*subject).to_owned(), out: out.clone() };
                shared.change(|state| state.subscriptions.push(subscription));
            }
            ("UNSUB", [id, ..]) => shared.change(|state| state.subscriptions.retain(|s| s.connection != number || s.id != *id)),
            ("PUB", [subject, .., size]) => {
                let size: usize = size.parse().map_err(|_| format!("no size: {line}"))?;
                if size > MAX_PAYLOAD || subject.contains(['*', '>']) {
                    return Err(format!("not to be published: {line}"));
                }
                let mut payload = vec![0; size + 2];
                if reader.read_exact(&mut payload).await.is_err() {
                    return Ok(());
                }
                if !payload.ends_with(b"\r\n") {
                    return Err(format!("a payload of another size: {line}"));
                }
                let echo = options.as_ref().is_none_or(|options| options["echo"] != json!(false));
                publish(shared, subject, &payload, echo, number);
            }
            _ => return Err(format!("unknown: {line}")),
        }
    }
}

fn publish(shared: &Shared, subject: &str, payload: &[u8], echo: bool, from: u64) {
    shared.change(|state| {
        state.published.push(subject.to_owned());
        for to in state.subscriptions.iter().filter(|s| (echo || s.connection != from) && fits(&s.subject, subject)) {
            let head = format!("MSG {subject} {} {}\r\n", to.id, payload.len() - 2);
            let _ = to.out.send([head.as_bytes(), payload].concat());
        }
    });
}

/// `*` is one word of a subject, `>` all that follow ("Subject-Based Messaging").
fn fits(pattern: &str, subject: &str) -> bool {
    let (mut wanted, mut there) = (pattern.split('.'), subject.split('.'));
    loop {
        match (wanted.next(), there.next()) {
            (None, None) => return true,
            (Some(">"), Some(_)) => return true,
            (Some(word), Some(is)) if word == "*" || word == is => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn subjects_fit_their_patterns() {
        for (pattern, subject, is) in [("a.*", "a.b", true), ("a.*", "a.b.c", false), ("a.>", "a.b.c", true), ("a.>", "a", false), ("a.b", "a.c", false)] {
            assert_eq!(fits(pattern, subject), is, "{pattern} {subject}");
        }
    }
}
