//! Combines the health of all shards into one report.

use galatea_core::{Error, Gateway, Health};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::{decode::directory::Directory, error::codes};

/// The health of all shards. Every change is reported to the gateway.
pub(crate) struct ShardHealth {
    gateway: Gateway,
    name: String,
    lacking: Option<&'static str>,
    directory: Arc<Directory>,
    state: Mutex<State>,
}

struct State {
    shards: Vec<Shard>,
    /// The guard has paused all calls, because too many were refused.
    resting: bool,
    /// The channels in which the bot was addressed but cannot write, as text.
    muted: Option<String>,
}

#[derive(Clone)]
struct Shard {
    /// Why the shard receives nothing.
    cut_off: Option<Health>,
    /// Why its events cannot be stored.
    unstored: Option<Health>,
}

impl ShardHealth {
    /// All shards begin as starting. `lacking` is a limitation to report for the whole run, such as
    /// a missing intent.
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

    /// The shard has a session.
    pub(crate) fn up(&self, shard: u16) {
        self.change(shard, |mine| mine.cut_off.take().is_some());
    }

    /// The shard has lost its session and reconnects at once.
    pub(crate) fn between(&self, shard: u16) {
        self.change(shard, |mine| {
            let was_up = mine.cut_off.is_none();
            if was_up {
                mine.cut_off = Some(Health::Starting);
            }
            was_up
        });
    }

    /// The shard cannot connect; it retries after `pause`.
    pub(crate) fn down(&self, shard: u16, error: &Error, pause: Duration) {
        let reason = format!("{error}; next try in {} s", pause.as_secs().max(1));
        self.change(shard, |mine| {
            mine.cut_off = Some(retrying(reason, error));
            true
        });
    }

    /// The shard's events cannot be stored; the worker retries.
    pub(crate) fn unstored(&self, shard: u16, error: &Error) {
        self.change(shard, |mine| {
            mine.unstored.replace(retrying(error.to_string(), error)).is_none()
        });
    }

    /// The shard's events can be stored again.
    pub(crate) fn stored(&self, shard: u16) {
        self.change(shard, |mine| mine.unstored.take().is_some());
    }

    /// Records whether the guard has paused all calls because too many were refused.
    pub(crate) fn rests(&self, resting: bool) {
        let mut state = self.lock();
        if std::mem::replace(&mut state.resting, resting) != resting {
            self.report_worst(&state);
        }
    }

    /// Records in which channels the bot was addressed but cannot write.
    pub(crate) fn muted(&self, muted: Option<String>) {
        let mut state = self.lock();
        if state.muted != muted {
            state.muted = muted;
            self.report_worst(&state);
        }
    }

    fn change(&self, shard: u16, change: impl FnOnce(&mut Shard) -> bool) {
        let mut state = self.lock();
        if state.shards.get_mut(usize::from(shard)).is_some_and(change) {
            self.report_worst(&state);
        }
    }

    /// Reports the worst problem: a shard that receives nothing, then one whose events cannot be
    /// stored, then a limitation.
    fn report_worst(&self, state: &State) {
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
