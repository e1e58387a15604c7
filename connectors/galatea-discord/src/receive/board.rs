//! How all shards together are doing.

use galatea_core::{Error, Gateway, Health};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::{decode::directory::Directory, error::codes};

/// Reports when it changes.
pub(crate) struct Board {
    gateway: Gateway,
    name: String,
    lacking: Option<&'static str>,
    directory: Arc<Directory>,
    state: Mutex<State>,
}

struct State {
    up: Vec<bool>,
    all_up: bool,
    /// All calls rest, since too many were refused.
    resting: bool,
}

impl Board {
    /// `lacking` is what it works without.
    pub(crate) fn new(gateway: Gateway, name: String, shards: u16, lacking: Option<&'static str>, directory: Arc<Directory>) -> Self {
        let state = State { up: vec![false; usize::from(shards)], all_up: false, resting: false };
        Self { gateway, name, lacking, directory, state: Mutex::new(state) }
    }

    /// A shard receives.
    pub(crate) fn up(&self, shard: u16) {
        let mut state = self.lock();
        if let Some(mine) = state.up.get_mut(usize::from(shard)) {
            *mine = true;
        }
        if !state.all_up && state.up.iter().all(|up| *up) {
            state.all_up = true;
            self.tell(&state);
        }
    }

    /// A shard is cut off; it is tried again after `pause`.
    pub(crate) fn down(&self, shard: u16, error: &Error, pause: Duration) {
        let mut state = self.lock();
        if let Some(mine) = state.up.get_mut(usize::from(shard)) {
            *mine = false;
        }
        state.all_up = false;
        self.gateway.report(Health::Retrying { reason: format!("{error}; next try in {} s", pause.as_secs().max(1)), code: error.code().map(str::to_owned) });
    }

    /// Whether all calls rest because too many were refused.
    pub(crate) fn rests(&self, resting: bool) {
        let mut state = self.lock();
        if std::mem::replace(&mut state.resting, resting) != resting && state.all_up {
            self.tell(&state);
        }
    }

    fn tell(&self, state: &State) {
        let servers = match self.directory.guilds() {
            0 => String::new(),
            1 => ", 1 server".to_owned(),
            n => format!(", {n} servers"),
        };
        let shards = if state.up.len() > 1 { format!(", {} shards", state.up.len()) } else { String::new() };
        let detail = format!("{}{servers}{shards}", self.name);
        self.gateway.report(Health::Up { detail: detail.clone() });
        let resting = state.resting.then(|| format!("Discord refuses every call, so they rest before it bans this address ({})", codes::GUARD));
        let lacking: Vec<_> = resting.into_iter().chain(self.lacking.map(str::to_owned)).collect();
        if !lacking.is_empty() {
            self.gateway.report(Health::Degraded { reason: format!("{detail}; {}", lacking.join("; ")) });
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
