//! The listener for calls from outside: webhooks and the health port. However many callers are
//! silent or slow, it holds a bounded number of connections, and one that has something to say
//! finds room: silent ones go, the oldest first.

mod body;
mod stream;
mod table;

pub use body::{Body, read_body};

use axum::{
    Router,
    extract::{ConnectInfo, Request, State, connect_info::Connected},
    http::StatusCode,
    middleware::{self, Next},
    response::{IntoResponse, Response},
    serve::{IncomingStream, Listener},
};
use std::{future::Future, io, net::SocketAddr, sync::Arc, time::Duration};
use tokio::net::TcpListener;

use stream::Stream;
use table::{Connection, Room, Table};

/// How long to wait when the system has no file for another connection.
const OUT_OF_FILES: Duration = Duration::from_millis(100);

/// Bounds of a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most connections at once, and so most file descriptors; one more while it waits for its
    /// place.
    pub connections: usize,
    /// Most connections of one public address (one /64 with IPv6). Private addresses have no share
    /// of their own: a proxy calls for everybody.
    pub per_address: usize,
    /// Longest time from the first byte of a request, or from the connection, to the end of its
    /// head.
    pub head: Duration,
    /// Longest time without a request on a connection that had one.
    pub idle: Duration,
    /// Longest time from the end of the head to the answer, the body included.
    pub answer: Duration,
}

impl Limits {
    /// For a webhook. A head is one packet, so 5 s are plenty; Telegram opens at most 100
    /// connections (Bot API, setWebhook.max_connections), from several addresses. Most systems
    /// allow 1,024 files.
    pub const WEBHOOK: Self = Self {
        connections: 256,
        per_address: 64,
        head: Duration::from_secs(5),
        idle: Duration::from_secs(75),
        answer: Duration::from_secs(60),
    };
    /// For a port that only this machine can reach.
    pub const LOCAL: Self = Self {
        connections: 64,
        per_address: 64,
        head: Duration::from_secs(5),
        idle: Duration::from_secs(30),
        answer: Duration::from_secs(30),
    };
}

/// Answers calls until `stop` ends; calls under way then are answered, silent connections are
/// closed.
///
/// # Errors
/// When the listener breaks.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    limits: Limits,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let table = Table::new(limits);
    let closing = table.clone();
    let stop = async move {
        stop.await;
        closing.close();
    };
    let service = router
        .layer(middleware::from_fn_with_state(limits.answer, in_time))
        .into_make_service_with_connect_info::<Peer>();
    axum::serve(Guarded { listener, table }, service).with_graceful_shutdown(stop).await
}

/// From the end of a request's head to its answer: such a connection is nobody's to close.
async fn in_time(
    State(longest): State<Duration>,
    ConnectInfo(Peer(connection)): ConnectInfo<Peer>,
    request: Request,
    next: Next,
) -> Response {
    let _busy = connection.begin();
    match tokio::time::timeout(longest, next.run(request)).await {
        Ok(response) => response,
        Err(_) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}

struct Guarded {
    listener: TcpListener,
    table: Arc<Table>,
}

impl Listener for Guarded {
    type Io = Stream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Stream, SocketAddr) {
        loop {
            let (stream, address) = match self.listener.accept().await {
                Ok(accepted) => accepted,
                // The other side left before it was taken.
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset
                    ) =>
                {
                    continue;
                }
                Err(_) => {
                    // No file for another connection: one that says nothing gives its own back.
                    self.table.evict_one();
                    tokio::time::sleep(OUT_OF_FILES).await;
                    continue;
                }
            };
            let connection = loop {
                match self.table.room(address.ip()) {
                    Room::Taken(connection) => break Some(connection),
                    Room::Refused => break None,
                    Room::Wait => self.table.changed().await,
                }
            };
            if let Some(connection) = connection {
                // Answers are one small packet.
                let _ = stream.set_nodelay(true);
                return (Stream::new(stream, connection), address);
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// The connection a request came over.
#[derive(Clone)]
struct Peer(Connection);

impl Connected<IncomingStream<'_, Guarded>> for Peer {
    fn connect_info(stream: IncomingStream<'_, Guarded>) -> Self {
        Self(stream.io().connection())
    }
}
