//! Listens on the socket and serves one conversation per connected client.

use galatea_core::{AgentIdentity, Batch, Error, Gateway, Health, MemoryId, Result};
use std::{
    os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::{
    io::BufReader,
    net::{
        UnixListener, UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::{RwLock, mpsc},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

use crate::{
    decode::{self, check_name},
    error,
    frame::{self, FromClient, Lines, ToClient, VERSION},
    send::{Clients, QUEUE, Sender},
};

/// Most clients at the same time; further ones are turned away. A person has a handful of terminals
/// open.
const MAX_CLIENTS: usize = 64;
/// Timeout for a client's hello.
const HELLO_TIMEOUT: Duration = Duration::from_secs(10);
/// Pause after the system failed to accept a connection, usually for lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// Time for which conversations stay open after `stop`, so that answers in progress still arrive:
/// somewhat longer than the longest drain.
const FAREWELL: Duration = Duration::from_secs(30);

/// Listens until `stop`, then removes the socket. After it returns, no new `say` is accepted;
/// answers in progress still reach their client.
pub(crate) async fn run(
    socket: &Path,
    agent_name: &str,
    gateway: Gateway,
    stop: CancellationToken,
) -> Result<()> {
    let clients = Clients::default();
    let sender = Sender {
        agent: gateway.agent().clone(),
        clients: clients.clone(),
        clock: gateway.clock().clone(),
    };
    gateway.register_send_handler(Arc::new(sender));
    let listener = listen(socket).await?;
    let owner =
        tokio::fs::metadata(socket).await.map_err(|e| error::cannot_listen(socket, e))?.uid();
    let _remove = Remove(socket.to_owned());
    gateway.report(Health::Up { detail: format!("listening on {}", socket.display()) });
    let intake = Arc::new(RwLock::new(Intake::Open));
    let session = ClientSession {
        agent_name: agent_name.into(),
        agent: gateway.agent().clone(),
        gateway,
        clients,
        owner,
        intake: Arc::clone(&intake),
    };
    let mut tasks = JoinSet::new();
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            Some(_) = tasks.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) if tasks.len() < MAX_CLIENTS => {
                    tasks.spawn(session.clone().serve(stream, stop.clone()));
                }
                Ok(_) => tracing::warn!(limit = MAX_CLIENTS, "too many terminals are connected; closed a new connection"),
                Err(error) => {
                    tracing::warn!(%error, "failed to accept a terminal connection; listening again in 200 ms");
                    session.gateway.clock().sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }
    // Taking the write lock waits for every `say` that is being stored.
    *intake.write().await = Intake::Closed;
    tasks.detach_all();
    Ok(())
}

/// Removes the socket's file when it is dropped.
struct Remove(PathBuf);

impl Drop for Remove {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// True if a process answers on this socket.
pub(crate) async fn answers(socket: &Path) -> Result<bool> {
    match tokio::fs::symlink_metadata(socket).await {
        Ok(found) if found.file_type().is_socket() => Ok(UnixStream::connect(socket).await.is_ok()),
        Ok(_) => Err(error::not_a_socket(socket)),
        Err(_) => Ok(false),
    }
}

/// Binds under a temporary name and renames after setting the mode, so that the socket is never
/// open to other users. The rename also replaces a socket left behind by a crash.
async fn listen(socket: &Path) -> Result<UnixListener> {
    if answers(socket).await? {
        return Err(error::socket_taken(socket));
    }
    let mut draft = socket.as_os_str().to_owned();
    draft.push("~");
    let draft = PathBuf::from(draft);
    let failed = |e| error::cannot_listen(socket, e);
    match tokio::fs::remove_file(&draft).await {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(failed(e)),
        _ => {}
    }
    let listener = UnixListener::bind(&draft).map_err(failed)?;
    tokio::fs::set_permissions(&draft, std::fs::Permissions::from_mode(0o600))
        .await
        .map_err(failed)?;
    tokio::fs::rename(&draft, socket).await.map_err(failed)?;
    Ok(listener)
}

/// State shared by all conversations.
#[derive(Clone)]
struct ClientSession {
    agent: AgentIdentity,
    agent_name: Arc<str>,
    gateway: Gateway,
    clients: Clients,
    owner: u32,
    /// Locked for reading while a `say` is stored.
    intake: Arc<RwLock<Intake>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Intake {
    Open,
    Closed,
}

impl ClientSession {
    async fn serve(self, stream: UnixStream, stop: CancellationToken) {
        // Some systems do not check write permission on the socket's file (unix(7)), so the peer's
        // user id is checked as well.
        let allowed =
            stream.peer_cred().is_ok_and(|peer| peer.uid() == self.owner || peer.uid() == 0);
        if !allowed {
            tracing::warn!(
                "closed the connection of a terminal: its user is neither the socket's owner nor root"
            );
            return;
        }
        let (read, write) = stream.into_split();
        let (frames, queued) = mpsc::channel(QUEUE);
        let writer = tokio::spawn(write_frames(write, queued));
        if let Err(error) = self.converse(read, &frames, &stop).await {
            tracing::debug!(
                code = error.code(),
                "closed a terminal connection after an error: {error}"
            );
            let _ = frames.try_send(complaint(&error, None));
        }
        drop(frames);
        // A client that does not read must not block the end of its conversation. Dropping `frames`
        // ends the writer once its queue is written; after 1 s it is aborted.
        let clock = self.gateway.clock().clone();
        let abort = writer.abort_handle();
        tokio::select! {
            _ = writer => {}
            () = clock.sleep(Duration::from_secs(1)) => abort.abort(),
        }
    }

    async fn converse(
        &self,
        read: OwnedReadHalf,
        frames: &mpsc::Sender<ToClient>,
        stop: &CancellationToken,
    ) -> Result<()> {
        let mut lines = Lines::new(BufReader::new(read));
        let hello = tokio::select! {
            () = stop.cancelled() => return Ok(()),
            line = lines.next() => line?,
            () = self.gateway.clock().sleep(HELLO_TIMEOUT) => return Err(error::expected_hello()),
        };
        let Some(hello) = hello else { return Ok(()) };
        let name = match frame::parse(&hello)? {
            FromClient::Hello { v: VERSION, name } => name,
            FromClient::Hello { v, .. } => return Err(error::wrong_version(VERSION, v)),
            _ => return Err(error::expected_hello()),
        };
        check_name(&name)?;
        // The hello is queued first, before any message can be.
        let _ = frames.try_send(ToClient::Hello {
            v: VERSION,
            agent: self.agent_name.to_string(),
            agent_id: self.agent.id(),
        });
        let guard = ClientGuard {
            id: self.clients.join(&name, frames.clone()),
            clients: self.clients.clone(),
        };
        let farewell = async {
            stop.cancelled().await;
            let _ = frames.try_send(complaint(&error::stopping(), None));
            self.gateway.clock().sleep(FAREWELL).await;
        };
        tokio::pin!(farewell);
        loop {
            let line = tokio::select! {
                () = &mut farewell => return Ok(()),
                line = lines.next() => line?,
            };
            let Some(line) = line else { return Ok(()) };
            let answer = match frame::parse(&line) {
                Ok(FromClient::Say { id, text }) => Some(self.say(&name, id, &text).await),
                Ok(FromClient::Ack { key }) => {
                    self.clients.confirm(guard.id, &key);
                    None
                }
                Ok(FromClient::Hello { .. }) => Some(complaint(
                    &Error::invalid("hello was said already").with_code("GAL-TERM-HELLO"),
                    None,
                )),
                Err(error) => Some(complaint(&error, None)),
            };
            if let Some(answer) = answer
                && frames.send(answer).await.is_err()
            {
                return Ok(());
            }
        }
    }

    /// Stores a `say`. The returned frame is sent only after the commit.
    async fn say(&self, name: &str, id: String, text: &str) -> ToClient {
        let intake = self.intake.read().await;
        if *intake == Intake::Closed {
            return complaint(&error::stopping(), Some(id));
        }
        let stored = match decode::decode(name, &id, text, self.gateway.clock().now()) {
            Ok(incoming) => {
                self.gateway.receive(Batch { events: vec![incoming], ..Batch::default() }).await
            }
            Err(error) => Err(error),
        };
        match stored {
            Ok(_) => {
                let memory = MemoryId(self.agent.swizzle(decode::message_of(name, &id).as_str()));
                ToClient::Received { id, memory }
            }
            Err(error) => complaint(&error, Some(id)),
        }
    }
}

/// Registers a client among the connected ones until it is dropped.
struct ClientGuard {
    id: u64,
    clients: Clients,
}

impl Drop for ClientGuard {
    fn drop(&mut self) {
        self.clients.leave(self.id);
    }
}

async fn write_frames(mut write: OwnedWriteHalf, mut queued: mpsc::Receiver<ToClient>) {
    while let Some(frame) = queued.recv().await {
        if frame::write(&mut write, &frame).await.is_err() {
            break;
        }
    }
}

fn complaint(error: &Error, id: Option<String>) -> ToClient {
    ToClient::Error {
        code: error.code().unwrap_or("GAL-UNEXPECTED").to_owned(),
        message: error.to_string(),
        fix: error.fix().map(str::to_owned),
        id,
    }
}
