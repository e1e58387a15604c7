//! Combines the health of all shards into one report.

use galatea_core::{Error, Gateway, Health};
use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;
use std::{collections::HashSet, time::Duration};

use crate::{decode::raw::id, error::codes};

/// The health of all shards. Every change is reported to the gateway.
pub(crate) struct ShardHealth {
    gateway: Gateway,
    name: String,
    lacking: Option<&'static str>,
    invitation: String,
    state: Mutex<HealthState>,
}

struct HealthState {
    shards: Vec<Shard>,
    /// Number of servers that the bot is in, as Discord told when the run began, changed by what
    /// came since.
    told: Option<u64>,
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
    /// The shard's servers, as READY listed them and events changed it; none for a session that another
    /// process began.
    servers: Option<HashSet<u64>>,
}

impl ShardHealth {
    /// All shards begin as starting. `lacking` is a limitation to report for the whole run, such as
    /// a missing intent; `told` the number of servers, where Discord tells it; `invitation` the address at
    /// which the bot is invited.
    pub(crate) fn new(
        gateway: Gateway,
        name: String,
        shards: u16,
        lacking: Option<&'static str>,
        (told, invitation): (Option<u64>, String),
    ) -> Self {
        let shard = Shard { cut_off: Some(Health::Starting), unstored: None, servers: None };
        let shards = vec![shard; usize::from(shards)];
        let state = HealthState { shards, told, resting: false, muted: None };
        Self { gateway, name, lacking, invitation, state: Mutex::new(state) }
    }

    /// Counts the servers that an event tells of.
    pub(crate) fn servers(&self, shard: u16, event: &str, data: &Value) {
        let guild = id(&data["id"]);
        let mut state = self.lock();
        let before = state.servers();
        let HealthState { shards, told, .. } = &mut *state;
        let Some(shard) = shards.get_mut(usize::from(shard)) else { return };
        match (event, guild) {
            ("READY", _) => {
                let listed = data["guilds"].as_array().into_iter().flatten();
                shard.servers = Some(listed.filter_map(|guild| id(&guild["id"])).collect());
            }
            ("GUILD_CREATE", Some(guild)) => match &mut shard.servers {
                Some(known) => drop(known.insert(guild)),
                // In a session of another process it is the word of a server that the bot joined, or
                // that came back after an outage; only a join is new.
                None if data["unavailable"] != true && data["joined_at"].is_string() => {
                    *told = told.map(|told| told.max(1));
                }
                None => {}
            },
            ("GUILD_DELETE", Some(guild)) if data["unavailable"] != true => {
                match &mut shard.servers {
                    Some(known) => drop(known.remove(&guild)),
                    None => *told = told.map(|told| told.saturating_sub(1)),
                }
            }
            _ => return,
        }
        if state.servers() != before {
            self.report_worst(&state);
        }
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
    fn report_worst(&self, state: &HealthState) {
        let trouble = |pick: fn(&Shard) -> &Option<Health>| {
            state.shards.iter().find_map(|shard| pick(shard).clone())
        };
        if let Some(trouble) =
            trouble(|shard| &shard.cut_off).or_else(|| trouble(|shard| &shard.unstored))
        {
            return self.gateway.report(trouble);
        }
        let servers = match state.servers() {
            None => String::new(),
            Some(0) => format!(", in no server; invite it: {}", self.invitation),
            Some(1) => ", 1 server".to_owned(),
            Some(n) => format!(", {n} servers"),
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

    fn lock(&self) -> MutexGuard<'_, HealthState> {
        self.state.lock()
    }
}

impl HealthState {
    /// Number of servers that the bot is in; none where that is not known.
    fn servers(&self) -> Option<u64> {
        let counted: Option<usize> =
            self.shards.iter().map(|shard| shard.servers.as_ref().map(HashSet::len)).sum();
        counted.and_then(|counted| u64::try_from(counted).ok()).or(self.told)
    }
}

fn retrying(reason: String, error: &Error) -> Health {
    Health::Retrying { reason, code: error.code().map(str::to_owned) }
}
