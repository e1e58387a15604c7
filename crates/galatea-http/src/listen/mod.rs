//! The listener for webhooks and the health port. It holds a bounded number of connections, however
//! many callers are silent or slow: silent connections are closed to make room for active callers,
//! the oldest first.

mod body;
mod limits;
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
use table::{Connection, ConnectionTable, TableRoom};

pub use self::limits::Limits;

/// Pause after the system had no file descriptor for another connection.
const OUT_OF_FILES: Duration = Duration::from_millis(100);

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
    let table = ConnectionTable::new(limits);
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
    table: Arc<ConnectionTable>,
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
                    TableRoom::Taken(connection) => break Some(connection),
                    TableRoom::Refused => break None,
                    TableRoom::Wait => self.table.changed().await,
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
