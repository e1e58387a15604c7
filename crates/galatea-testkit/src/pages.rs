//! A strict web server of pages, for programs that read addresses. It remembers every request, and
//! fails the test if a request carries what a reader of public pages must not send.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::{Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use parking_lot::{Mutex, MutexGuard};
use std::{
    collections::HashMap,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Headers that would tell a foreign server of this program's keys or sessions.
const FORBIDDEN: [header::HeaderName; 3] =
    [header::AUTHORIZATION, header::COOKIE, header::PROXY_AUTHORIZATION];

/// The answers of an address.
#[derive(Debug, Clone)]
pub enum Page {
    /// A text of this media type.
    Text(&'static str, String),
    /// A body of so many bytes; its length is stated in the header if the flag is set.
    Bytes(usize, bool),
    /// A redirect to this address.
    Redirect(String),
    /// This status without a body.
    Status(u16),
}

/// A running server; it stops when dropped, and then fails the test on violations.
pub struct Pages {
    shared: Arc<Shared>,
    address: SocketAddr,
    stop: CancellationToken,
}

#[derive(Default)]
struct Shared {
    pages: Mutex<HashMap<String, Page>>,
    requests: Mutex<Vec<String>>,
    violations: Mutex<Vec<String>>,
}

impl Pages {
    /// Starts on a free port of this address.
    ///
    /// # Panics
    /// When the address has no free port.
    pub async fn on(ip: impl Into<IpAddr>) -> Self {
        let listener = TcpListener::bind((ip.into(), 0)).await.expect("a free port");
        let address = listener.local_addr().unwrap();
        let (shared, stop) = (Arc::new(Shared::default()), CancellationToken::new());
        let app = Router::new().fallback(answer).with_state(Arc::clone(&shared));
        let until = stop.clone();
        tokio::spawn(async move {
            let _ = until.run_until_cancelled(axum::serve(listener, app).into_future()).await;
        });
        Self { shared, address, stop }
    }

    /// The full address of a path such as `/faq.txt`.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Sets the answer of the path from now on; a path without a page answers 404.
    pub fn set(&self, path: &str, page: Page) {
        lock(&self.shared.pages).insert(path.to_owned(), page);
    }

    /// The paths of all requests so far, in their order.
    pub fn requests(&self) -> Vec<String> {
        lock(&self.shared.requests).clone()
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        self.stop.cancel();
        let violations = lock(&self.shared.violations).clone();
        assert!(std::thread::panicking() || violations.is_empty(), "{violations:?}");
    }
}

async fn answer(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    let headers = request.headers();
    let wrong = [
        (request.method() != Method::GET, format!("{} instead of GET", request.method())),
        (request.uri().query().is_some(), "a query that the address has not".to_owned()),
        (!headers.contains_key(header::HOST), "no Host".to_owned()),
    ];
    let sent = FORBIDDEN.iter().filter(|name| headers.contains_key(*name));
    let wrong = wrong.into_iter().filter(|(is, _)| *is).map(|(_, what)| what);
    let wrong: Vec<String> = wrong.chain(sent.map(|name| format!("sends {name}"))).collect();
    lock(&shared.violations).extend(wrong.into_iter().map(|what| format!("{path}: {what}")));
    lock(&shared.requests).push(path.clone());
    let page = lock(&shared.pages).get(&path).cloned();
    match page.unwrap_or(Page::Status(404)) {
        Page::Text(media_type, text) => {
            ([(header::CONTENT_TYPE, media_type)], text).into_response()
        }
        Page::Bytes(size, true) => vec![b'x'; size].into_response(),
        Page::Bytes(size, false) => {
            let chunk = || Ok::<_, std::io::Error>(vec![b'x'; 1 << 16]);
            let chunks = (0..size >> 16).map(move |_| chunk());
            Body::from_stream(futures::stream::iter(chunks)).into_response()
        }
        Page::Redirect(to) => (StatusCode::FOUND, [(header::LOCATION, to)]).into_response(),
        Page::Status(status) => StatusCode::from_u16(status).unwrap().into_response(),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}
