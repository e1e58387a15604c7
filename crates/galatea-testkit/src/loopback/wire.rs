//! Connections that the server can cut after any byte.

use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    task::{Context, Poll},
};

use axum::{extract::connect_info::Connected, serve::IncomingStream};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
};

const WHOLE: i64 = -1;

/// Switch of one connection, held by its request handler.
#[derive(Debug, Clone)]
pub(crate) struct Wire(Arc<AtomicI64>);

impl Wire {
    /// Removes the limit on bytes.
    pub(crate) fn open(&self) {
        self.0.store(WHOLE, Ordering::Release);
    }

    /// Lets `bytes` more bytes through, then closes the connection.
    pub(crate) fn cut_after(&self, bytes: usize) {
        self.0.store(i64::try_from(bytes).unwrap_or(i64::MAX), Ordering::Release);
    }
}

/// A TCP stream controlled by a [`Wire`].
pub(crate) struct Line {
    stream: TcpStream,
    wire: Wire,
}

impl AsyncRead for Line {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Line {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let left = self.wire.0.load(Ordering::Acquire);
        let Ok(allowed) = usize::try_from(left) else {
            return Pin::new(&mut self.stream).poll_write(cx, buf);
        };
        if allowed == 0 {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        let chunk = &buf[..buf.len().min(allowed)];
        let written = std::task::ready!(Pin::new(&mut self.stream).poll_write(cx, chunk))?;
        self.wire.cut_after(allowed - written);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// A listener that puts a [`Wire`] on each accepted connection.
pub(crate) struct Door(pub(crate) TcpListener);

impl axum::serve::Listener for Door {
    type Io = Line;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Line, SocketAddr) {
        loop {
            match self.0.accept().await {
                Ok((stream, from)) => {
                    let _ = stream.set_nodelay(true);
                    return (Line { stream, wire: Wire(Arc::new(AtomicI64::new(WHOLE))) }, from);
                }
                // Accepting failed: no file descriptors are left, or the client has gone. Other
                // tasks run before the next attempt.
                Err(_) => tokio::task::yield_now().await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

impl Connected<IncomingStream<'_, Door>> for Wire {
    fn connect_info(stream: IncomingStream<'_, Door>) -> Self {
        stream.io().wire.clone()
    }
}
