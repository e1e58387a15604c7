//! An in-memory platform with one person, a direct chat and a group. It keeps numbered events until
//! they are acknowledged.

use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use galatea_core::RemoteId;
use galatea_testkit::connector_suite::{PlatformFault, Shown};
use tokio::sync::watch;

/// An action of a person.
#[derive(Debug, Clone)]
pub(crate) enum Did {
    Said { id: RemoteId, text: String, mention: bool, reply_to: Option<RemoteId>, to_us: bool },
    Edited { id: RemoteId, text: String },
    Deleted { id: RemoteId },
    Reacted { id: RemoteId, emoji: String },
    Pressed { number: usize, message: RemoteId, data: String },
}

#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) number: usize,
    pub(crate) room: RemoteId,
    pub(crate) did: Did,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) events: Vec<Event>,
    /// Events below this number are acknowledged.
    pub(crate) acknowledged: usize,
    pub(crate) again: bool,
    pub(crate) shown: Vec<(RemoteId, Shown)>,
    pub(crate) reactions: Vec<(RemoteId, String)>,
    pub(crate) typing: bool,
    pub(crate) fault: Option<PlatformFault>,
    pub(crate) away: bool,
    next: usize,
}

#[derive(Clone)]
pub(crate) struct Platform {
    state: Arc<Mutex<State>>,
    pub(crate) changed: watch::Sender<u64>,
}

impl Default for Platform {
    fn default() -> Self {
        Self { state: Arc::default(), changed: watch::Sender::new(0) }
    }
}

/// Result of a send.
pub(crate) enum Sent {
    Shown(RemoteId),
    SlowDown(std::time::Duration),
    Broken,
    Lost,
    Forbidden,
    Away,
}

impl Platform {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let made = change(&mut self.lock());
        self.changed.send_modify(|n| *n += 1);
        made
    }

    pub(crate) fn fresh(&self) -> RemoteId {
        let mut state = self.lock();
        state.next += 1;
        RemoteId(format!("m{}", state.next))
    }

    pub(crate) fn record_event(&self, room: &RemoteId, did: Did) {
        self.change(|s| {
            let number = s.events.len();
            s.events.push(Event { number, room: room.clone(), did });
        });
    }

    /// Sends a message to the platform.
    pub(crate) fn send(
        &self,
        room: &RemoteId,
        text: &str,
        reply_to: Option<RemoteId>,
        buttons: Vec<Vec<(String, String)>>,
        files: Vec<(String, Bytes)>,
    ) -> Sent {
        if self.lock().away {
            return Sent::Away;
        }
        assert!(text.chars().count() <= super::split::MAX, "too long for the platform");
        let fault = self.change(|s| s.fault.take());
        match fault {
            Some(PlatformFault::SlowDown(wait)) => return Sent::SlowDown(wait),
            Some(PlatformFault::ServerError) => return Sent::Broken,
            Some(PlatformFault::Forbidden) => return Sent::Forbidden,
            Some(PlatformFault::LostResponse) | None => {}
        }
        let id = self.fresh();
        let shown =
            Shown { id: id.clone(), text: text.to_owned(), code: None, reply_to, buttons, files };
        self.change(|s| s.shown.push((room.clone(), shown)));
        if fault.is_some() { Sent::Lost } else { Sent::Shown(id) }
    }
}
