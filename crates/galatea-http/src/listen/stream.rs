//! A TCP stream that ends with an error when its timeout passes or it is evicted.

use std::{
    future::Future,
    io,
    pin::Pin,
    task::{Context, Poll},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Instant, Sleep, sleep_until},
};

use super::table::{Connection, WaitLimit};

pub(super) struct Stream {
    inner: TcpStream,
    connection: Connection,
    timer: Pin<Box<Sleep>>,
}

impl Stream {
    pub(super) fn new(inner: TcpStream, connection: Connection) -> Self {
        Self { inner, connection, timer: Box::pin(sleep_until(Instant::now())) }
    }

    pub(super) fn connection(&self) -> Connection {
        self.connection.clone()
    }

    /// Returns `Pending`, or an error once the connection has been silent for too long or was
    /// evicted.
    fn wait<T>(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        match self.connection.note_pending(cx.waker()) {
            WaitLimit::Evicted => Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into())),
            WaitLimit::Busy => Poll::Pending,
            WaitLimit::Until(end) => {
                if self.timer.deadline() != end {
                    self.timer.as_mut().reset(end);
                }
                self.timer.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
            }
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.connection.is_evicted() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        let before = buffer.filled().len();
        match Pin::new(&mut self.inner).poll_read(cx, buffer) {
            Poll::Pending => self.wait(cx),
            done => {
                if buffer.filled().len() > before {
                    self.connection.heard();
                }
                done
            }
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match Pin::new(&mut self.inner).poll_write(cx, bytes) {
            // The client does not read its answer.
            Poll::Pending => self.wait(cx),
            done => done,
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match Pin::new(&mut self.inner).poll_write_vectored(cx, slices) {
            Poll::Pending => self.wait(cx),
            done => done,
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }
}
