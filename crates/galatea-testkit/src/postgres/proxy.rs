//! A way to a server that loses an answer when told to, and lets nobody through while it is shut.

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

/// Passes bytes on between a store and a database.
pub struct Proxy {
    url: String,
    shared: Arc<Shared>,
}

struct Shared {
    /// Answers until one is lost; 0 for none.
    losing: AtomicUsize,
    /// It is shut behind the lost answer.
    shuts: AtomicBool,
    open: watch::Sender<bool>,
}

impl Proxy {
    /// On a port of its own.
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
                // Somebody who comes while it is shut is sent away.
                if *passing.open.borrow() {
                    let upstream = TcpStream::connect(("127.0.0.1", server)).await.unwrap();
                    tokio::spawn(pass(client, upstream, Arc::clone(&passing)));
                }
            }
        });
        Self { url, shared }
    }

    /// The database's address, by this way.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The `nth` answer from now on is thrown away together with its connection: what was asked for
    /// is done, and nobody hears of it.
    pub fn lose(&self, nth: usize) {
        self.shared.losing.store(nth, Ordering::SeqCst);
    }

    /// The same, and then nobody is let through until [`Proxy::open`].
    pub fn lose_and_shut(&self, nth: usize) {
        self.shared.shuts.store(true, Ordering::SeqCst);
        self.lose(nth);
    }

    /// Whether an answer is still to be lost.
    pub fn is_losing(&self) -> bool {
        self.shared.losing.load(Ordering::SeqCst) > 0
    }

    /// Lets everybody through again. An answer that was still to be lost is not.
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
            // An answer ends with ReadyForQuery in idle state, so its transaction is over
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
