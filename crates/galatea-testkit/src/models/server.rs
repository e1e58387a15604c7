//! The server that all dialects share: recording, script, faults.

mod respond;

use std::{
    collections::VecDeque,
    io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use axum::{
    Router,
    body::Bytes,
    extract::{Request, State},
    http::HeaderMap,
    response::Response,
    serve::ListenerExt,
};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use self::respond::{json, respond};
use super::{
    reply::{Answer, Fault, Reply},
    shape::Shape,
};

/// Largest request accepted.
const MAX_REQUEST: usize = 64 << 20;
/// Requests kept for inspection; older ones are forgotten, so that a benchmark does not fill
/// memory.
const KEEP: usize = 4096;

/// One wire format: what it demands and how it answers.
pub trait Dialect: Send + Sync + Sized + 'static {
    /// What the key is called in this dialect's header, and how it is written before the key.
    const KEY: Option<(&'static str, &'static str)>;
    /// Path that clients configure as part of the base address, such as `/v1`.
    const BASE: &'static str;

    /// Checks the request against the document and says what is asked.
    fn inspect(&self, request: &Recorded, shape: &mut Vec<String>) -> Route;
    /// A complete body, and its content type.
    fn answer(&self, route: &Route, answer: &Answer) -> (Vec<u8>, &'static str);
    /// What is answered when nothing is scripted and the route is not a chat.
    fn other(&self, route: &Route) -> Value;
    /// Status and body of a failure; `key` is what the client sent.
    fn failure(&self, fault: &Fault, route: &Route, key: &str) -> (u16, Value);
    /// A success without an answer in it.
    fn empty(&self, route: &Route) -> (Vec<u8>, &'static str);
    /// A piece of a stream that tells of an error.
    fn stream_error(&self, route: &Route) -> Vec<u8>;
    /// How many of an answer's tokens read it says were cached.
    fn cached(&self, input: u64) -> u64 {
        input.min(2)
    }
}

/// What a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// An answer of a text model.
    Chat {
        /// Which.
        model: String,
        /// As a stream.
        stream: bool,
        /// With token counts at the end of the stream.
        usage: bool,
    },
    /// An answer of a text model in OpenAI's newer format.
    Respond {
        /// Which.
        model: String,
        /// As a stream.
        stream: bool,
    },
    /// Vectors for these texts.
    Embed {
        /// Which model.
        model: String,
        /// The texts.
        texts: Vec<String>,
        /// Width asked for.
        width: usize,
    },
    /// The models there are, or one of them.
    Models(Option<String>),
    /// Facts about one model (Ollama).
    Details(String),
    /// Facts about the key (OpenRouter).
    Key,
    /// Nothing this service has.
    Unknown,
}

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// Method.
    pub method: String,
    /// Path, the base included.
    pub path: String,
    /// Query, empty if none.
    pub query: String,
    /// Headers.
    pub headers: HeaderMap,
    /// Body as JSON; null if it is none.
    pub body: Value,
}

impl Recorded {
    /// A header as text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// A request, its body as it came: thousands of taken apart ones would cost the machine more than
/// those who send them.
struct Kept {
    /// Without its body.
    head: Recorded,
    body: Bytes,
}

impl Kept {
    fn recorded(&self) -> Recorded {
        Recorded { body: parse(&self.body), ..self.head.clone() }
    }
}

fn parse(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap_or(Value::Null)
}

type Script = dyn FnMut(&Recorded) -> Reply + Send;

/// A model server on loopback; stops when dropped.
pub struct ModelServer<D: Dialect> {
    shared: Arc<Shared<D>>,
    address: std::net::SocketAddr,
}

struct Shared<D> {
    dialect: D,
    key: Option<String>,
    queue: Mutex<VecDeque<Reply>>,
    script: Mutex<Option<Box<Script>>>,
    requests: Mutex<VecDeque<Kept>>,
    violations: Mutex<Vec<String>>,
    count: AtomicUsize,
    chunk: AtomicUsize,
    stop: CancellationToken,
}

impl<D: Dialect + Default> ModelServer<D> {
    /// Starts a server that accepts this key only.
    ///
    /// # Errors
    /// When no loopback port is free.
    pub async fn start(key: &str) -> io::Result<Self> {
        Self::with(D::default(), Some(key)).await
    }
}

impl<D: Dialect> ModelServer<D> {
    /// Starts a server of a dialect with options; `key` none asks for no key and refuses any.
    ///
    /// # Errors
    /// When no loopback port is free.
    pub async fn with(dialect: D, key: Option<&str>) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            dialect,
            key: key.map(str::to_owned),
            queue: Mutex::default(),
            script: Mutex::new(None),
            requests: Mutex::default(),
            violations: Mutex::default(),
            count: AtomicUsize::new(0),
            chunk: AtomicUsize::new(0),
            stop: CancellationToken::new(),
        });
        let app = Router::new().fallback(handle::<D>).with_state(shared.clone());
        let stop = shared.stop.clone();
        let listener = listener.tap_io(|socket| {
            // Small answers must not wait for the client's acknowledgement.
            let _ = socket.set_nodelay(true);
        });
        tokio::spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                _ = axum::serve(listener, app) => {}
            }
        });
        Ok(Self { shared, address })
    }

    /// The base address as an operator would configure it, such as `http://127.0.0.1:4000/v1`.
    pub fn base_url(&self) -> String {
        format!("http://{}{}", self.address, D::BASE)
    }

    /// Where it listens.
    pub fn address(&self) -> std::net::SocketAddr {
        self.address
    }

    /// Answers next in line with this.
    pub fn enqueue(&self, reply: impl Into<Reply>) {
        lock(&self.shared.queue).push_back(reply.into());
    }

    /// Answers with what the function says whenever the queue is empty.
    pub fn answer_with(&self, script: impl FnMut(&Recorded) -> Reply + Send + 'static) {
        *lock(&self.shared.script) = Some(Box::new(script));
    }

    /// Sends bodies in pieces of this many bytes, so that characters and events are torn apart; 0
    /// sends them whole.
    pub fn tear(&self, bytes: usize) {
        self.shared.chunk.store(bytes, Ordering::Relaxed);
    }

    /// How many of so many tokens read it says were cached.
    pub fn cached(&self, input: u64) -> u64 {
        self.shared.dialect.cached(input)
    }

    /// How many requests came.
    pub fn count(&self) -> usize {
        self.shared.count.load(Ordering::Relaxed)
    }

    /// The requests, oldest first; the last 4,096 are kept.
    pub fn requests(&self) -> Vec<Recorded> {
        lock(&self.shared.requests).iter().map(Kept::recorded).collect()
    }

    /// The newest request.
    pub fn last(&self) -> Option<Recorded> {
        lock(&self.shared.requests).back().map(Kept::recorded)
    }

    /// What clients did against the document.
    pub fn violations(&self) -> Vec<String> {
        lock(&self.shared.violations).clone()
    }

    /// Forgets the violations and returns them: for tests that provoke them.
    pub fn take_violations(&self) -> Vec<String> {
        std::mem::take(&mut *lock(&self.shared.violations))
    }

    /// Panics when a client broke a rule of the document.
    pub fn assert_clean(&self) {
        let violations = self.violations();
        assert!(violations.is_empty(), "requests against the API document: {violations:#?}");
    }
}

impl<D: Dialect> Drop for ModelServer<D> {
    fn drop(&mut self) {
        self.shared.stop.cancel();
        if !std::thread::panicking() {
            self.assert_clean();
        }
    }
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn handle<D: Dialect>(State(shared): State<Arc<Shared<D>>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let bytes = axum::body::to_bytes(body, MAX_REQUEST).await.unwrap_or_default();
    let mut recorded = Recorded {
        method: head.method.as_str().to_owned(),
        path: head.uri.path().to_owned(),
        query: head.uri.query().unwrap_or_default().to_owned(),
        headers: head.headers,
        body: parse(&bytes),
    };
    shared.count.fetch_add(1, Ordering::Relaxed);

    let mut violations = Vec::new();
    let key = check_head(&shared, &recorded, bytes.is_empty(), &mut violations);
    let route = shared.dialect.inspect(&recorded, &mut violations);
    let reply = lock(&shared.queue).pop_front().unwrap_or_else(|| {
        lock(&shared.script).as_mut().map_or(Reply::Auto, |script| script(&recorded))
    });
    let bad_key = shared.key.as_ref().is_some_and(|expected| key.as_ref() != Some(expected));
    recorded.body = Value::Null;
    {
        let mut requests = lock(&shared.requests);
        if requests.len() == KEEP {
            requests.pop_front();
        }
        requests.push_back(Kept { head: recorded, body: bytes });
    }
    let key = key.unwrap_or_default();
    if !violations.is_empty() {
        let told = violations.join("; ");
        lock(&shared.violations).append(&mut violations);
        return json(
            400,
            None,
            &serde_json::json!({ "error": { "message": told, "type": "invalid_request_error", "code": null } }),
        );
    }
    if bad_key {
        let (status, body) = shared.dialect.failure(&Fault::BadKey, &route, &key);
        return json(status, None, &body);
    }
    respond(&shared, &route, reply, &key).await
}

/// Checks what all dialects have in common and returns the key that was sent.
fn check_head<D: Dialect>(
    shared: &Shared<D>,
    request: &Recorded,
    empty: bool,
    violations: &mut Vec<String>,
) -> Option<String> {
    let mut shape = Shape { violations };
    if request.method == "POST" {
        shape.require(
            request.header("content-type") == Some("application/json"),
            "content-type: not application/json",
        );
        shape.require(!request.body.is_null(), "body: not JSON");
    } else {
        shape.require(empty, "body: GET with a body");
    }
    shape.require(!request.query.contains("key="), "query: a key in the address");
    let (name, before) = D::KEY?;
    let sent = request.header(name);
    for other in ["authorization", "x-api-key", "x-goog-api-key", "api-key"] {
        if other != name && request.header(other).is_some() {
            shape.fail(format!("{other}: not a header of this service"));
        }
    }
    if shared.key.is_none() {
        shape.require(sent.is_none(), "a key was sent though none is configured");
        return None;
    }
    match sent.map(|value| value.strip_prefix(before)) {
        Some(Some(key)) => Some(key.to_owned()),
        Some(None) => {
            shape.fail(format!("{name}: does not begin with {before:?}"));
            None
        }
        None => {
            shape.fail(format!("{name}: missing"));
            None
        }
    }
}

#[cfg(test)]
mod tests;
