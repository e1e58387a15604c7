//! Everything the server knows.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64},
    },
    time::{Duration, Instant},
};

use base64::Engine;
use bytes::Bytes;
use galatea_core::{Clock, SystemClock, Timestamp};
use serde_json::Value;
use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;

use super::{
    faults::{Fault, Order},
    http::Request,
    interactions::Interaction,
    limits::Limits,
    sessions::Sessions,
    world::World,
};

/// How the server behaves.
#[derive(Clone)]
pub struct Options {
    /// The bot's id, which its token spells.
    pub bot: u64,
    /// The application's id.
    pub application: u64,
    /// The bot's name.
    pub name: String,
    /// Milliseconds between heartbeats, as the greeting tells.
    pub heartbeat: Duration,
    /// Shards that are recommended.
    pub shards: u64,
    /// The Message Content intent is granted.
    pub content: bool,
    /// The Guild Members intent is granted.
    pub members: bool,
    /// How many sessions may still be begun today.
    pub identifies: u64,
    /// Messages a bucket takes, and within how long. Discord: 5 in 5 s; more here, so that suites need not wait.
    pub bucket: (u32, Duration),
    /// Messages may notify people.
    pub pings: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            bot: 112_233_445_566_778_899,
            application: 112_233_445_566_778_800,
            name: "Galatea".to_owned(),
            heartbeat: Duration::from_millis(41_250),
            shards: 1,
            content: true,
            members: true,
            identifies: 1000,
            bucket: (200, Duration::from_secs(5)),
            pings: false,
        }
    }
}

impl Options {
    /// A token of Discord's shape: the bot's id, a time, and the secret.
    pub(crate) fn token(&self) -> String {
        let id = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(self.bot.to_string());
        format!("{id}.GcanAr.dc-canary-0123456789abcdefghijklmnopqrst")
    }
}

/// One call.
#[derive(Debug, Clone)]
pub struct Call {
    /// When.
    pub instant: Instant,
    /// Method and path without ids: `POST /channels/{}/messages`.
    pub route: String,
    /// The channel, where the path names one.
    pub channel: Option<u64>,
    /// JSON of the body; of a form, its `payload_json`.
    pub body: Value,
    /// Files of a form: name and bytes.
    pub files: Vec<(String, Bytes)>,
    /// Status and body of the answer; none when it was not answered.
    pub answer: Option<(u16, Value)>,
}

pub(crate) struct State {
    pub(crate) options: Options,
    pub(crate) base: String,
    pub(crate) world: World,
    pub(crate) sessions: Sessions,
    pub(crate) limits: Limits,
    pub(crate) faults: Vec<Fault>,
    pub(crate) calls: Vec<Call>,
    pub(crate) late: Vec<Request>,
    pub(crate) commands: Vec<Value>,
    pub(crate) command_writes: usize,
    pub(crate) interactions: HashMap<u64, Interaction>,
    /// Enforced nonces: author's nonce and channel to message.
    pub(crate) nonces: HashMap<(u64, String), u64>,
    pub(crate) typing: Vec<u64>,
    /// Ephemeral lines: application, channel, text.
    pub(crate) whispers: Vec<(u64, u64, String)>,
    pub(crate) identified: Vec<(Instant, u64)>,
    pub(crate) resumed: usize,
    pub(crate) violations: Vec<String>,
    pub(crate) allowed: Vec<String>,
}

impl State {
    pub(crate) fn now(&self) -> Timestamp {
        SystemClock.now()
    }

    pub(crate) fn violate(&mut self, place: &str, what: &str) {
        self.violations.push(format!("{place}: {what}"));
    }

    pub(crate) fn unexpected(&self) -> Vec<String> {
        self.violations.iter().filter(|v| !self.allowed.iter().any(|a| v.contains(a))).cloned().collect()
    }
}

pub(crate) struct Shared {
    state: Mutex<State>,
    pub(crate) changed: watch::Sender<u64>,
    pub(crate) orders: broadcast::Sender<Order>,
    pub(crate) connections: AtomicU64,
    pub(crate) stop: CancellationToken,
    pub(crate) unreachable: AtomicBool,
}

impl Shared {
    pub(crate) fn new(options: Options, address: SocketAddr) -> Self {
        let state = State {
            base: format!("http://{address}"),
            world: World::new(options.bot, &options.name),
            options,
            sessions: Sessions::default(),
            limits: Limits::default(),
            faults: Vec::new(),
            calls: Vec::new(),
            late: Vec::new(),
            commands: Vec::new(),
            command_writes: 0,
            interactions: HashMap::new(),
            nonces: HashMap::new(),
            typing: Vec::new(),
            whispers: Vec::new(),
            identified: Vec::new(),
            resumed: 0,
            violations: Vec::new(),
            allowed: Vec::new(),
        };
        Self {
            state: Mutex::new(state),
            changed: watch::Sender::new(0),
            orders: broadcast::Sender::new(64),
            connections: AtomicU64::new(0),
            stop: CancellationToken::new(),
            unreachable: AtomicBool::new(false),
        }
    }

    pub(crate) fn lock(self: &Arc<Self>) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes everybody who waits for a change.
    pub(crate) fn bump(&self) {
        self.changed.send_modify(|n| *n = n.wrapping_add(1));
    }
}
