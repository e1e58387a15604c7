//! A strict Wren server on loopback: it refuses what the protocol does not allow, and remembers
//! every line.

use std::{net::SocketAddr, sync::Arc};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, tcp::OwnedWriteHalf},
    sync::{Mutex, Notify},
    task::JoinHandle,
};

pub(crate) const SECRET: &str = "canary";

#[derive(Default)]
struct Seen {
    lines: Vec<String>,
    out: Option<OwnedWriteHalf>,
    logins: usize,
}

/// The server; its connections end with it.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Seen>>,
    news: Arc<Notify>,
    task: JoinHandle<()>,
}

impl Server {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (seen, news) = (Arc::<Mutex<Seen>>::default(), Arc::<Notify>::default());
        let task = tokio::spawn(serve(listener, seen.clone(), news.clone()));
        Self { address, seen, news, task }
    }

    /// Sends a line to all clients that are logged in.
    pub(crate) async fn says(&self, line: &str) {
        let mut seen = self.seen.lock().await;
        seen.out
            .as_mut()
            .expect("an account is logged in")
            .write_all(format!("{line}\n").as_bytes())
            .await
            .unwrap();
    }

    /// Ends the connection.
    pub(crate) async fn hangs_up(&self) {
        self.seen.lock().await.out = None;
    }

    /// Lines received so far, once there are so many.
    pub(crate) async fn lines(&self, count: usize) -> Vec<String> {
        self.until(|seen| (seen.lines.len() >= count).then(|| seen.lines.clone())).await
    }

    /// Waits for so many logins.
    pub(crate) async fn logins(&self, count: usize) {
        self.until(|seen| (seen.logins >= count).then_some(())).await;
    }

    async fn until<T>(&self, look: impl Fn(&Seen) -> Option<T>) -> T {
        loop {
            let news = self.news.notified();
            if let Some(found) = look(&*self.seen.lock().await) {
                return found;
            }
            news.await;
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(listener: TcpListener, seen: Arc<Mutex<Seen>>, news: Arc<Notify>) {
    while let Ok((stream, _)) = listener.accept().await {
        let (read, mut out) = stream.into_split();
        let (seen, news) = (seen.clone(), news.clone());
        tokio::spawn(async move {
            let mut lines = BufReader::new(read).lines();
            let login = lines.next_line().await.ok().flatten().unwrap_or_default();
            if login.split(' ').nth(2) != Some(SECRET) {
                let _ = out.write_all(b"no wrong secret\n").await;
                return;
            }
            out.write_all(b"hello there\n").await.unwrap();
            {
                let mut seen = seen.lock().await;
                seen.out = Some(out);
                seen.logins += 1;
                news.notify_waiters();
            }
            while let Ok(Some(line)) = lines.next_line().await {
                assert!(
                    line.len() < 512 && !line.chars().any(char::is_control),
                    "against the protocol: {line:?}"
                );
                seen.lock().await.lines.push(line);
                news.notify_waiters();
            }
        });
    }
}
