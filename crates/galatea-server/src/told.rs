//! Sockets of the namespace `/`, and what they are told.

use galatea_core::store::CredentialKind;
use serde_json::{Map, Value};
use socketioxide::{SendError, SocketError, SocketIo, extract::SocketRef, socket::Sid};
use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, sleep},
};
use uuid::Uuid;

use crate::presented::Presented;

/// Events that wait for one socket. elizaOS's events are not dropped: a socket whose queue is full is
/// disconnected.
const QUEUE: usize = 1_024;
/// Between two attempts to hand an event to a connection that is full.
const AGAIN: Duration = Duration::from_millis(20);
/// For how long a connection may be full.
const FULL: Duration = Duration::from_secs(30);

/// What a socket wants to see of the log: `agentName` and `level`.
pub(crate) type Filters = Map<String, Value>;

/// An event for a socket.
pub(crate) type Told1 = (&'static str, Arc<Value>);

/// A socket.
pub(crate) struct Peer {
    pub(crate) id: Sid,
    pub(crate) entity: Uuid,
    pub(crate) presented: Presented,
    queue: mpsc::Sender<Told1>,
    gone: watch::Sender<bool>,
    /// Filters of the log that it follows; none if it follows none.
    pub(crate) logs: Mutex<Option<Filters>>,
}

impl Peer {
    /// Tells the socket something, after all that it was told before. One that does not read is
    /// disconnected.
    pub(crate) fn tell(&self, event: &'static str, data: Arc<Value>) {
        if self.queue.try_send((event, data)).is_err() {
            self.gone.send_replace(true);
        }
    }

    /// Whether the request that opened the socket has a token.
    pub(crate) fn has_token(&self) -> bool {
        self.presented.kind() == CredentialKind::Token
    }

    /// Resolves when the socket is gone.
    pub(crate) fn gone(&self) -> watch::Receiver<bool> {
        self.gone.subscribe()
    }

    /// Ends the socket.
    pub(crate) fn end(&self) {
        self.gone.send_replace(true);
    }
}

#[derive(Default)]
struct State {
    peers: HashMap<Sid, Arc<Peer>>,
    /// Sockets of each channel that somebody joined.
    channels: HashMap<String, HashSet<Sid>>,
}

/// The sockets of this process.
#[derive(Default)]
pub(crate) struct Told {
    io: OnceLock<SocketIo>,
    state: Mutex<State>,
    recent: Mutex<Recent>,
}

/// Messages that were told lately. A message comes by two ways: the request that brings it, and the event
/// that it is stored.
#[derive(Default)]
struct Recent {
    ids: HashSet<Uuid>,
    order: VecDeque<Uuid>,
}

/// Messages that are remembered as told.
const RECENT: usize = 4_096;

impl Told {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True for one caller of those that are about to tell a message.
    pub(crate) fn is_first(&self, message: Uuid) -> bool {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let first = recent.ids.insert(message);
        if first {
            recent.order.push_back(message);
            if recent.order.len() > RECENT
                && let Some(old) = recent.order.pop_front()
            {
                recent.ids.remove(&old);
            }
        }
        first
    }

    /// A fresh id for a message that the caller is about to tell.
    pub(crate) fn fresh(&self) -> Uuid {
        let id = Uuid::now_v7();
        self.is_first(id);
        id
    }

    /// Keeps the server of sockets for as long as the process serves.
    pub(crate) fn serve(&self, io: SocketIo) {
        let _ = self.io.set(io);
    }

    /// Tells every socket of a channel something.
    pub(crate) fn tell(&self, channel: Uuid, event: &'static str, data: Value) {
        self.tell_but(&channel.to_string(), None, event, data);
    }

    /// Tells every socket of a channel but one.
    pub(crate) fn tell_but(
        &self,
        channel: &str,
        but: Option<Sid>,
        event: &'static str,
        data: Value,
    ) {
        let data = Arc::new(data);
        for peer in self.in_channel(channel) {
            if Some(peer.id) != but {
                peer.tell(event, Arc::clone(&data));
            }
        }
    }

    fn in_channel(&self, channel: &str) -> Vec<Arc<Peer>> {
        let state = self.state();
        let ids = state.channels.get(channel);
        ids.into_iter().flatten().filter_map(|id| state.peers.get(id).cloned()).collect()
    }

    /// Whether a socket of this process joined a channel.
    pub(crate) fn is_joined(&self, channel: &str) -> bool {
        self.state().channels.contains_key(channel)
    }

    /// Every socket.
    pub(crate) fn all(&self) -> Vec<Arc<Peer>> {
        self.state().peers.values().cloned().collect()
    }

    pub(crate) fn join(&self, peer: &Peer, channel: &str) {
        let mut state = self.state();
        if state.peers.contains_key(&peer.id) {
            state.channels.entry(channel.to_owned()).or_default().insert(peer.id);
        }
    }

    pub(crate) fn leave(&self, peer: &Peer, channel: &str) {
        let mut state = self.state();
        if let Some(ids) = state.channels.get_mut(channel) {
            ids.remove(&peer.id);
            if ids.is_empty() {
                state.channels.remove(channel);
            }
        }
    }

    /// Adds a socket, and begins to hand over what it is told.
    pub(crate) fn add(
        self: &Arc<Self>,
        socket: &SocketRef,
        entity: Uuid,
        presented: Presented,
    ) -> Arc<Peer> {
        let (queue, waiting) = mpsc::channel(QUEUE);
        let peer = Arc::new(Peer {
            id: socket.id,
            entity,
            presented,
            queue,
            gone: watch::Sender::new(false),
            logs: Mutex::default(),
        });
        self.state().peers.insert(peer.id, Arc::clone(&peer));
        tokio::spawn(hand_over(Arc::clone(self), socket.clone(), waiting, Arc::clone(&peer)));
        peer
    }

    /// Removes a socket.
    pub(crate) fn remove(&self, id: Sid) {
        let mut state = self.state();
        if let Some(peer) = state.peers.remove(&id) {
            peer.end();
        }
        state.channels.retain(|_, ids| {
            ids.remove(&id);
            !ids.is_empty()
        });
    }
}

/// Whether a connection took an event.
pub(crate) enum Taken {
    Yes,
    /// It is full: the program reads too slowly.
    Full,
    /// The socket is closed.
    Closed,
}

/// Hands one event to a connection.
pub(crate) fn emit(socket: &SocketRef, event: &str, data: &Value) -> Taken {
    match socket.emit(event, data) {
        Ok(()) => Taken::Yes,
        Err(SendError::Socket(SocketError::InternalChannelFull)) => Taken::Full,
        Err(_) => Taken::Closed,
    }
}

async fn hand_over(
    told: Arc<Told>,
    socket: SocketRef,
    mut waiting: mpsc::Receiver<Told1>,
    peer: Arc<Peer>,
) {
    let mut gone = peer.gone();
    'all: loop {
        let next = tokio::select! {
            biased;
            _ = gone.wait_for(|gone| *gone) => break,
            next = waiting.recv() => next,
        };
        let Some((event, data)) = next else { break };
        let until = Instant::now() + FULL;
        loop {
            match emit(&socket, event, &data) {
                Taken::Yes => break,
                Taken::Full if Instant::now() < until => sleep(AGAIN).await,
                Taken::Full | Taken::Closed => break 'all,
            }
        }
    }
    told.remove(peer.id);
    let _ = socket.disconnect();
}
