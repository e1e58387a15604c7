//! Socket.IO on the server's own port: the wire of elizaOS 1.7.2 in the namespace `/`, live events in
//! `/live`.
//!
//! Each socket has a queue in either direction: what a program sends is carried out in order, and what it
//! gets arrives in order. A program that does not read is disconnected when its queue is full; it reads the
//! channel when it comes back.

mod channel;
mod follow;
mod handshake;
mod live;
mod logs;

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::Response,
};
use serde_json::Value;
use socketioxide::{
    SocketIo, TransportType,
    extract::{SocketRef, TryData},
    handler::ConnectHandler as _,
    layer::SocketIoLayer,
};
use std::{sync::Arc, time::Duration};

use crate::{app::App, auth};

/// The address of sockets, as the client of npm knows it.
const PATH: &str = "/socket.io";
/// Longest frame in bytes, as in elizaOS.
const FRAME: usize = 1_000_000;
/// Packets that wait for a program that reads slowly, in the connection itself.
const BUFFER: usize = 256;

/// The layer that answers sockets. Layers that guard have to lie around it.
pub(crate) fn layer(app: &Arc<App>) -> SocketIoLayer {
    let (layer, io) = SocketIo::builder()
        .req_path(PATH)
        .ping_interval(Duration::from_secs(25))
        .ping_timeout(Duration::from_secs(20))
        .connect_timeout(Duration::from_secs(10))
        .max_payload(FRAME as u64)
        .ws_max_message_size(FRAME)
        .ws_max_frame_size(FRAME)
        .max_buffer_size(BUFFER)
        .transports([TransportType::Websocket, TransportType::Polling])
        .build_layer();
    let (elizaos, checks) = (Arc::clone(app), Arc::clone(app));
    let connected = move |socket: SocketRef,
                          TryData(auth): TryData<Value>,
                          presented: handshake::MaybePresented| {
        channel::connected(Arc::clone(&elizaos), socket, auth.ok(), presented.0)
    };
    let check = move |TryData(auth): TryData<Value>, presented: handshake::MaybePresented| {
        let app = Arc::clone(&checks);
        async move { handshake::elizaos(&app, auth.ok().as_ref(), presented.0).await.map(drop) }
    };
    io.ns("/", connected.with(check));
    let (followed, checks) = (Arc::clone(app), Arc::clone(app));
    let connected = move |socket: SocketRef,
                          TryData(auth): TryData<Value>,
                          presented: handshake::MaybePresented| {
        live::connected(Arc::clone(&followed), socket, auth.ok(), presented.0)
    };
    let check = move |TryData(auth): TryData<Value>, presented: handshake::MaybePresented| {
        let app = Arc::clone(&checks);
        async move { handshake::live(&app, auth.ok().as_ref(), presented.0).await.map(drop) }
    };
    io.ns("/live", connected.with(check));
    app.told.serve(io);
    follow::start(app);
    layer
}

/// Finds out who opens a socket, as for the API.
pub(crate) async fn identify(app: State<Arc<App>>, request: Request, next: Next) -> Response {
    if request.uri().path().starts_with(PATH) {
        return auth::identify(app, request, next).await;
    }
    next.run(request).await
}
