//! The listener for webhooks and the health port. It holds a bounded number of connections, however
//! many callers are silent or slow: silent connections are closed to make room for active callers,
//! the oldest first.

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

/// Pause after the system had no file descriptor for another connection.
const OUT_OF_FILES: Duration = Duration::from_millis(100);

/// Bounds of a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most connections at once, and so most file descriptors; one further connection may wait for
    /// a place.
    pub connections: usize,
    /// Most connections of one public address (one /64 with IPv6). Private addresses have no such
    /// limit, since a proxy calls on behalf of many clients.
    pub per_address: usize,
    /// Longest time from the first byte of a request, or from the connection, to the end of its
    /// headers.
    pub head: Duration,
    /// Longest idle time of a connection that has had a request.
    pub idle: Duration,
    /// Longest time from the end of the headers to the answer, including the body.
    pub answer: Duration,
}

impl Limits {
    /// For a webhook. The headers fit into one packet, so 5 s are ample. Telegram opens at most 100
    /// connections (Bot API, setWebhook.max_connections), from several addresses. Most systems
    /// allow 1,024 open files.
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

/// Serves requests until `stop` resolves. Requests in progress are then answered, and silent
/// connections are closed.
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

/// Applies the answer timeout. The connection is busy from the end of the headers to the answer,
/// and a busy connection is not evicted.
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
                // The client closed the connection before it was accepted.
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset
                    ) =>
                {
                    continue;
                }
                Err(_) => {
                    // No file descriptor is left: evicting a silent connection frees one.
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
                // An answer is one small packet, so it must not be delayed.
                let _ = stream.set_nodelay(true);
                return (Stream::new(stream, connection), address);
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// The connection that a request arrived on.
#[derive(Clone)]
struct Peer(Connection);

impl Connected<IncomingStream<'_, Guarded>> for Peer {
    fn connect_info(stream: IncomingStream<'_, Guarded>) -> Self {
        Self(stream.io().connection())
    }
}
