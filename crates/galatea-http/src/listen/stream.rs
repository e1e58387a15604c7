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

use super::table::{Connection, Direction, WaitLimit};

pub(super) struct Stream {
    inner: TcpStream,
    connection: Connection,
    /// For what waits to read, and for what waits to write.
    timers: [Pin<Box<Sleep>>; 2],
}

impl Stream {
    pub(super) fn new(inner: TcpStream, connection: Connection) -> Self {
        let timer = || Box::pin(sleep_until(Instant::now()));
        Self { inner, connection, timers: [timer(), timer()] }
    }

    pub(super) fn connection(&self) -> Connection {
        self.connection.clone()
    }

    /// Returns `Pending`, or an error once the connection has been silent for too long or was
    /// evicted.
    fn wait<T>(&mut self, direction: Direction, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        let [reading, writing] = &mut self.timers;
        let timer = if direction == Direction::Read { reading } else { writing };
        match self.connection.note_pending(direction, cx.waker()) {
            WaitLimit::Evicted => Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into())),
            WaitLimit::Busy => Poll::Pending,
            WaitLimit::Until(end) => {
                if timer.deadline() != end {
                    timer.as_mut().reset(end);
                }
                timer.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
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
            Poll::Pending => self.wait(Direction::Read, cx),
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
            Poll::Pending => self.wait(Direction::Write, cx),
            done => {
                self.connection.taken();
                done
            }
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
            Poll::Pending => self.wait(Direction::Write, cx),
            done => {
                self.connection.taken();
                done
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }
}
