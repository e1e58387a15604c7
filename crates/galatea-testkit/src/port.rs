//! Ports of the loopback for programs that bind them later, and for what refuses connections.

use std::{
    net::{Ipv4Addr, TcpListener},
    ops::Range,
};

/// Ports below those that the kernel gives to sockets without a port of their own (Linux,
/// `net.ipv4.ip_local_port_range`: 32768 and up), and above those of well-known servers.
const LOW: Range<u16> = 10_000..32_768;
/// Ports that are tried before none counts as free.
const TRIES: usize = 200;

/// A port of the loopback that is free. The program or server that is started with it may bind it
/// seconds later: until then the kernel gives it to no other test.
///
/// # Panics
/// When no port is free.
pub fn free_port() -> u16 {
    let free = (0..TRIES)
        .map(|_| {
            let [high, low, ..] = uuid::Uuid::new_v4().into_bytes();
            LOW.start + u16::from_be_bytes([high, low]) % (LOW.end - LOW.start)
        })
        .find(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok());
    free.unwrap_or_else(|| panic!("no free port"))
}

/// A port of the loopback that refuses every connection as long as this lives. A socket that does not
/// listen holds it: a port that is merely free may be given to the server of another test.
#[derive(Debug)]
pub struct RefusedPort {
    number: u16,
    _held: tokio::net::TcpSocket,
}

impl RefusedPort {
    /// Takes a free port.
    ///
    /// # Panics
    /// When no port is free.
    pub fn take() -> Self {
        let taken = tokio::net::TcpSocket::new_v4().and_then(|socket| {
            socket.bind(std::net::SocketAddr::from(([127, 0, 0, 1], 0)))?;
            Ok(Self { number: socket.local_addr()?.port(), _held: socket })
        });
        taken.unwrap_or_else(|e| panic!("no free port: {e}"))
    }

    /// Its number.
    pub fn number(&self) -> u16 {
        self.number
    }

    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.number)
    }
}
