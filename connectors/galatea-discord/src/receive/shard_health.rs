//! How all shards together are doing.

use galatea_core::{Error, Gateway, Health};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::{decode::directory::Directory, error::codes};

/// Reports when it changes.
pub(crate) struct ShardHealth {
    gateway: Gateway,
    name: String,
    lacking: Option<&'static str>,
    directory: Arc<Directory>,
    state: Mutex<State>,
}

struct State {
    shards: Vec<Shard>,
    /// All calls rest, since too many were refused.
    resting: bool,
    /// Where it was addressed and cannot write.
    muted: Option<String>,
}

#[derive(Clone)]
struct Shard {
    /// Why it receives nothing.
    cut_off: Option<Health>,
    /// Why what it hears cannot be stored.
    unstored: Option<Health>,
}

impl ShardHealth {
    /// `lacking` is what it works without.
    pub(crate) fn new(
        gateway: Gateway,
        name: String,
        shards: u16,
        lacking: Option<&'static str>,
        directory: Arc<Directory>,
    ) -> Self {
        let shard = Shard { cut_off: Some(Health::Starting), unstored: None };
        let state = State { shards: vec![shard; usize::from(shards)], resting: false, muted: None };
        Self { gateway, name, lacking, directory, state: Mutex::new(state) }
    }

    /// A shard receives.
    pub(crate) fn up(&self, shard: u16) {
        self.change(shard, |mine| mine.cut_off.take().is_some());
    }

    /// A shard has no session at the moment: it connects again at once.
    pub(crate) fn between(&self, shard: u16) {
        self.change(shard, |mine| {
            let was_up = mine.cut_off.is_none();
            if was_up {
                mine.cut_off = Some(Health::Starting);
            }
            was_up
        });
    }

    /// A shard is cut off; it is tried again after `pause`.
    pub(crate) fn down(&self, shard: u16, error: &Error, pause: Duration) {
        let reason = format!("{error}; next try in {} s", pause.as_secs().max(1));
        self.change(shard, |mine| {
            mine.cut_off = Some(retrying(reason, error));
            true
        });
    }

    /// What a shard hears cannot be stored.
    pub(crate) fn unstored(&self, shard: u16, error: &Error) {
        self.change(shard, |mine| {
            mine.unstored.replace(retrying(error.to_string(), error)).is_none()
        });
    }

    /// What a shard hears is stored again.
    pub(crate) fn stored(&self, shard: u16) {
        self.change(shard, |mine| mine.unstored.take().is_some());
    }

    /// Whether all calls rest because too many were refused.
    pub(crate) fn rests(&self, resting: bool) {
        let mut state = self.lock();
        if std::mem::replace(&mut state.resting, resting) != resting {
            self.tell(&state);
        }
    }

    /// Where it was addressed and cannot write.
    pub(crate) fn muted(&self, muted: Option<String>) {
        let mut state = self.lock();
        if state.muted != muted {
            state.muted = muted;
            self.tell(&state);
        }
    }

    fn change(&self, shard: u16, change: impl FnOnce(&mut Shard) -> bool) {
        let mut state = self.lock();
        if state.shards.get_mut(usize::from(shard)).is_some_and(change) {
            self.tell(&state);
        }
    }

    /// The worst there is: nothing is heard, nothing is stored, not everything works.
    fn tell(&self, state: &State) {
        let trouble = |pick: fn(&Shard) -> &Option<Health>| {
            state.shards.iter().find_map(|shard| pick(shard).clone())
        };
        if let Some(trouble) =
            trouble(|shard| &shard.cut_off).or_else(|| trouble(|shard| &shard.unstored))
        {
            return self.gateway.report(trouble);
        }
        let servers = match self.directory.guilds() {
            0 => String::new(),
            1 => ", 1 server".to_owned(),
            n => format!(", {n} servers"),
        };
        let shards = if state.shards.len() > 1 {
            format!(", {} shards", state.shards.len())
        } else {
            String::new()
        };
        let detail = format!("{}{servers}{shards}", self.name);
        self.gateway.report(Health::Up { detail: detail.clone() });
        let resting = state.resting.then(|| {
            format!(
                "Discord refuses every call, so they rest before it bans this address ({})",
                codes::GUARD
            )
        });
        let lacking: Vec<_> = resting
            .into_iter()
            .chain(self.lacking.map(str::to_owned))
            .chain(state.muted.clone())
            .collect();
        if !lacking.is_empty() {
            self.gateway
                .report(Health::Degraded { reason: format!("{detail}; {}", lacking.join("; ")) });
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn retrying(reason: String, error: &Error) -> Health {
    Health::Retrying { reason, code: error.code().map(str::to_owned) }
}
