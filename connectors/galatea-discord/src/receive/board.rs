//! How all shards together are doing.

use galatea_core::{Error, Gateway, Health};
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use crate::decode::directory::Directory;

/// Reports when it changes.
pub(crate) struct Board {
    gateway: Gateway,
    name: String,
    lacking: Option<&'static str>,
    directory: Arc<Directory>,
    up: Mutex<(Vec<bool>, bool)>,
}

impl Board {
    /// `lacking` is what it works without.
    pub(crate) fn new(gateway: Gateway, name: String, shards: u16, lacking: Option<&'static str>, directory: Arc<Directory>) -> Self {
        Self { gateway, name, lacking, directory, up: Mutex::new((vec![false; usize::from(shards)], false)) }
    }

    /// A shard receives.
    pub(crate) fn up(&self, shard: u16) {
        let mut state = self.up.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mine) = state.0.get_mut(usize::from(shard)) {
            *mine = true;
        }
        if state.1 || !state.0.iter().all(|up| *up) {
            return;
        }
        state.1 = true;
        let servers = match self.directory.guilds() {
            0 => String::new(),
            1 => ", 1 server".to_owned(),
            n => format!(", {n} servers"),
        };
        let shards = if state.0.len() > 1 { format!(", {} shards", state.0.len()) } else { String::new() };
        let detail = format!("{}{servers}{shards}", self.name);
        self.gateway.report(Health::Up { detail: detail.clone() });
        if let Some(lacking) = self.lacking {
            self.gateway.report(Health::Degraded { reason: format!("{detail}; {lacking}") });
        }
    }

    /// A shard is cut off; it is tried again after `pause`.
    pub(crate) fn down(&self, shard: u16, error: &Error, pause: Duration) {
        let mut state = self.up.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mine) = state.0.get_mut(usize::from(shard)) {
            *mine = false;
        }
        state.1 = false;
        self.gateway.report(Health::Retrying { reason: format!("{error}; next try in {} s", pause.as_secs().max(1)), code: error.code().map(str::to_owned) });
    }
}
