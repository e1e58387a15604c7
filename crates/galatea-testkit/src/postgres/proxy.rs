//! A proxy in front of a database that loses an answer on request, and refuses connections while it
//! is shut.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
};

use super::Database;

/// Passes bytes between a store and a database.
pub struct Proxy {
    url: String,
    shared: Arc<Shared>,
}

struct Shared {
    /// Number of answers until one is lost; 0 when none is to be lost.
    losing: AtomicUsize,
    /// True if the proxy shuts after the lost answer.
    shuts: AtomicBool,
    open: watch::Sender<bool>,
}

impl Proxy {
    /// Starts the proxy on a free port.
    pub async fn start(database: &Database) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (server, port) = (database.server().port(), listener.local_addr().unwrap().port());
        let url = database.url().replace(&format!(":{server}/"), &format!(":{port}/"));
        let shared = Arc::new(Shared {
            losing: AtomicUsize::new(0),
            shuts: AtomicBool::new(false),
            open: watch::Sender::new(true),
        });
        let passing = Arc::clone(&shared);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                // While it is shut, the connection is dropped.
                if *passing.open.borrow() {
                    let upstream = TcpStream::connect(("127.0.0.1", server)).await.unwrap();
                    tokio::spawn(pass(client, upstream, Arc::clone(&passing)));
                }
            }
        });
        Self { url, shared }
    }

    /// URL of the database through the proxy.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Drops the `nth` answer from now on together with its connection: the statement took effect,
    /// and the client does not learn of it.
    pub fn lose(&self, nth: usize) {
        self.shared.losing.store(nth, Ordering::SeqCst);
    }

    /// As [`Proxy::lose`]; afterwards the proxy refuses connections until [`Proxy::open`].
    pub fn lose_and_shut(&self, nth: usize) {
        self.shared.shuts.store(true, Ordering::SeqCst);
        self.lose(nth);
    }

    /// True if an answer is still to be lost.
    pub fn is_losing(&self) -> bool {
        self.shared.losing.load(Ordering::SeqCst) > 0
    }

    /// Accepts connections again, and cancels an answer that was still to be lost.
    pub fn open(&self) {
        self.lose(0);
        self.shared.shuts.store(false, Ordering::SeqCst);
        self.shared.open.send_replace(true);
    }
}

impl Shared {
    fn loses(&self) -> bool {
        let before = self
            .losing
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        let loses = before == Ok(1);
        if loses && self.shuts.load(Ordering::SeqCst) {
            self.open.send_replace(false);
        }
        loses
    }
}

async fn pass(client: TcpStream, server: TcpStream, shared: Arc<Shared>) {
    let ((mut from_client, mut to_client), (mut from_server, mut to_server)) =
        (client.into_split(), server.into_split());
    let mut open = shared.open.subscribe();
    let asking = tokio::io::copy(&mut from_client, &mut to_server);
    let answering = async {
        let mut buffer = vec![0; 64 << 10];
        while let Ok(n @ 1..) = from_server.read(&mut buffer).await {
            // An answer that ends with ReadyForQuery in idle state has ended its transaction
            // (<https://www.postgresql.org/docs/current/protocol-message-formats.html>).
            let finished = buffer[..n].ends_with(&[b'Z', 0, 0, 0, 5, b'I']);
            if (finished && shared.loses()) || to_client.write_all(&buffer[..n]).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        _ = asking => {}
        () = answering => {}
        _ = open.wait_for(|open| !*open) => {}
    }
}
