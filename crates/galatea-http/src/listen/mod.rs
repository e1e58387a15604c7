//! The listener for webhooks and the control plane. It holds a bounded number of connections, however
//! many callers are silent or slow: silent connections are closed to make room for active callers,
//! the oldest first. Answers that go on (server-sent events, WebSockets) are never closed for others,
//! and have limits of their own.

mod body;
mod ending;
mod limits;
mod stream;
mod table;

pub use body::{Body, read_body};
pub use ending::Ending;

use axum::{
    Extension, Router,
    body::HttpBody as _,
    extract::{ConnectInfo, Request, State, connect_info::Connected},
    http::{StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    serve::{IncomingStream, Listener},
};
use futures::StreamExt as _;
use std::{future::Future, io, net::SocketAddr, sync::Arc, time::Duration};
use tokio::net::TcpListener;

use stream::Stream;
use table::{Connection, ConnectionTable, TableRoom};

pub use self::limits::{Limits, StreamLimits};

/// Pause after the system had no file descriptor for another connection.
const OUT_OF_FILES: Duration = Duration::from_millis(100);
/// Seconds after which a client may ask again for a stream that had no place.
const RETRY_STREAM: &str = "5";

/// Serves requests until `stop` resolves. Requests in progress are then answered, and silent
/// connections are closed. Streams have the time of [`StreamLimits::farewell`] for their last words.
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
    let (closing, last) = (table.clone(), table.clone());
    let (end, ending) = Ending::new();
    let stop = async move {
        stop.await;
        end.send_replace(true);
        closing.close();
        tokio::spawn(async move {
            tokio::time::sleep(limits.streams.farewell).await;
            closing.close_streams();
        });
    };
    let service = router
        .layer(middleware::from_fn_with_state(limits.answer, in_time))
        .layer(Extension(ending))
        .into_make_service_with_connect_info::<Peer>();
    axum::serve(Guarded { listener, table }, service).with_graceful_shutdown(stop).await?;
    // Connections that became WebSockets are not among those that the line above waits for.
    let _ = tokio::time::timeout(limits.streams.farewell, last.empty()).await;
    Ok(())
}

/// Applies the answer timeout. The connection is busy from the end of the headers to the answer,
/// and a busy connection is not evicted. An answer that goes on makes it a stream.
async fn in_time(
    State(longest): State<Duration>,
    ConnectInfo(Peer(connection)): ConnectInfo<Peer>,
    request: Request,
    next: Next,
) -> Response {
    let busy = connection.begin();
    let Ok(response) = tokio::time::timeout(longest, next.run(request)).await else {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    };
    let upgraded = response.status() == StatusCode::SWITCHING_PROTOCOLS;
    if !upgraded && response.body().size_hint().exact().is_some() {
        return response;
    }
    let Some(streaming) = busy.into_stream() else {
        let retry = [(header::RETRY_AFTER, RETRY_STREAM)];
        return (StatusCode::SERVICE_UNAVAILABLE, retry).into_response();
    };
    if upgraded {
        streaming.keep();
        return response;
    }
    let (parts, body) = response.into_parts();
    let pieces = body.into_data_stream().inspect(move |_| {
        let _stream = &streaming;
    });
    Response::from_parts(parts, axum::body::Body::from_stream(pieces))
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
