//! The server that all dialects share: recording, scripted replies, faults.

mod dialect;
mod form;
mod recorded;
mod respond;
mod thinking;

use axum::{
    Router,
    extract::{Request, State},
    response::Response,
    serve::ListenerExt,
};
use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::{
    reply::{Fault, Reply},
    shape::Shape,
};
use dialect::Shared;
use recorded::{Kept, parse};
use respond::{json, respond};
use thinking::Thinking;

pub use self::dialect::{Dialect, Route};
pub use self::recorded::Recorded;

/// Largest accepted request, in bytes.
const MAX_REQUEST: usize = 64 << 20;
/// Number of requests kept for inspection; older ones are dropped, so that a benchmark does not
/// fill the memory.
const KEEP: usize = 4096;

/// Fewest tokens of which an answer reports some as stored in the cache.
pub(super) const SHORTEST_STORED: u64 = 20;

/// A model server on the loopback; it stops when dropped.
pub struct ModelServer<D: Dialect> {
    shared: Arc<Shared<D>>,
    address: std::net::SocketAddr,
}

impl<D: Dialect + Default> ModelServer<D> {
    /// Starts a server that accepts only this key.
    ///
    /// # Errors
    /// When no loopback port is free.
    pub async fn start(key: &str) -> io::Result<Self> {
        Self::with(D::default(), Some(key)).await
    }
}

impl<D: Dialect> ModelServer<D> {
    /// Starts a server with this dialect. With `key` none it requires no key and refuses requests
    /// with one.
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
            thinking: Thinking::default(),
            stop: CancellationToken::new(),
        });
        let app = Router::new().fallback(handle::<D>).with_state(shared.clone());
        let stop = shared.stop.clone();
        let listener = listener.tap_io(|socket| {
            // Small answers are sent at once instead of waiting for the client's acknowledgement.
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

    /// Base URL as an operator would configure it, such as `http://127.0.0.1:4000/v1`.
    pub fn base_url(&self) -> String {
        format!("http://{}{}", self.address, D::BASE)
    }

    /// Address on which the server listens.
    pub fn address(&self) -> std::net::SocketAddr {
        self.address
    }

    /// Queues a reply.
    pub fn enqueue(&self, reply: impl Into<Reply>) {
        lock(&self.shared.queue).push_back(reply.into());
    }

    /// Answers with this function whenever the queue is empty.
    pub fn answer_with(&self, script: impl FnMut(&Recorded) -> Reply + Send + 'static) {
        *lock(&self.shared.script) = Some(Box::new(script));
    }

    /// Sends bodies in pieces of this many bytes, which splits characters and events; 0 sends them
    /// whole.
    pub fn tear(&self, bytes: usize) {
        self.shared.chunk.store(bytes, Ordering::Relaxed);
    }

    /// Waits so long before each answer; in whole milliseconds.
    pub fn think(&self, time: Duration) {
        self.shared.thinking.set(time);
    }

    /// How long each of the last answers took, at most 1,024, since [`ModelServer::think`] was called.
    pub fn thought(&self) -> Vec<Duration> {
        self.shared.thinking.times()
    }

    /// Number of cached tokens that an answer reports for this number of input tokens.
    pub fn cached(&self, input: u64) -> u64 {
        self.shared.dialect.cached(input)
    }

    /// Numbers of tokens that an answer reports as stored in the cache, for minutes and for an hour.
    pub fn stored(&self, input: u64) -> [u64; 2] {
        self.shared.dialect.stored(input)
    }

    /// Number of requests so far.
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

    /// Requests of clients that broke a rule of the document.
    pub fn violations(&self) -> Vec<String> {
        lock(&self.shared.violations).clone()
    }

    /// Removes and returns the violations, for tests that provoke them.
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
    mutex.lock()
}

async fn handle<D: Dialect>(State(shared): State<Arc<Shared<D>>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let bytes = axum::body::to_bytes(body, MAX_REQUEST).await.unwrap_or_default();
    let mut recorded = Recorded {
        method: head.method.as_str().to_owned(),
        path: head.uri.path().to_owned(),
        query: head.uri.query().unwrap_or_default().to_owned(),
        body: parse(&head.headers, &bytes),
        headers: head.headers,
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
        let message = violations.join("; ");
        lock(&shared.violations).append(&mut violations);
        return json(
            400,
            None,
            &serde_json::json!({ "error": { "message": message, "type": "invalid_request_error", "code": null } }),
        );
    }
    if bad_key {
        let (status, body) = shared.dialect.failure(&Fault::BadKey, &route, &key);
        return json(status, None, &body);
    }
    shared.thinking.wait().await;
    respond(&shared, &route, reply, &key).await
}

/// Checks the headers that all dialects share, and returns the key the client sent.
fn check_head<D: Dialect>(
    shared: &Shared<D>,
    request: &Recorded,
    empty: bool,
    violations: &mut Vec<String>,
) -> Option<String> {
    let mut shape = Shape { violations };
    if request.method == "POST" {
        let form = request.path.ends_with("/audio/transcriptions");
        if form {
            let is_form = form::boundary(&request.headers).is_some();
            shape.require(is_form, "content-type: not multipart/form-data");
        } else {
            shape.require(
                request.header("content-type") == Some("application/json"),
                "content-type: not application/json",
            );
        }
        shape.require(!request.body.is_null(), "body: neither JSON nor a form");
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
