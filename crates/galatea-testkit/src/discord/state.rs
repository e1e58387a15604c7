//! Everything the server knows.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::{Duration, Instant},
};

use base64::Engine;
use bytes::Bytes;
use galatea_core::{Clock, SystemClock, Timestamp};
use serde_json::Value;
use tokio::sync::broadcast;

use axum::Router;

use super::{
    faults::{Effect, Order, Silent},
    http,
    http::Request,
    interactions::Interaction,
    limits::Limits,
    sessions::Sessions,
    world::World,
};
use crate::{
    load::Load,
    loopback::{Record, Scene},
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
    /// Messages a bucket takes, and within how long. Discord: 5 in 5 s; more here, so that suites
    /// need not wait.
    pub bucket: (u32, Duration),
    /// Messages may notify people.
    pub pings: bool,
    /// Check calls, limit them and remember them. Off for benchmarks: then messages and typing are
    /// fast, and sessions may begin at any time.
    pub checks: bool,
    /// The bot lives by a clock of its own: how far apart its sessions are begun is not checked.
    pub own_time: bool,
    /// Takes every identify and resume, and closes the connection with this code.
    pub refuse: Option<u16>,
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
            checks: true,
            own_time: false,
            refuse: None,
        }
    }
}

impl Options {
    /// For load: nothing limited, nothing checked, no message remembered.
    pub fn fast() -> Self {
        Self { checks: false, ..Self::default() }
    }

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

pub struct State {
    pub(crate) options: Options,
    pub(crate) base: String,
    pub(crate) world: World,
    pub(crate) sessions: Sessions,
    pub(crate) limits: Limits,
    pub(crate) record: Record<Effect>,
    pub(crate) calls: Vec<Call>,
    pub(crate) late: Vec<Request>,
    pub(crate) commands: Vec<Value>,
    pub(crate) command_writes: usize,
    pub(crate) interactions: HashMap<u64, Interaction>,
    /// Enforced nonces: author's nonce and channel to message.
    pub(crate) nonces: HashMap<(u64, String), u64>,
    /// A benchmark's load.
    pub(crate) load: Option<Load>,
    pub(crate) typing: Vec<u64>,
    /// Ephemeral lines: application, channel, text.
    pub(crate) whispers: Vec<(u64, u64, String)>,
    pub(crate) identified: Vec<(Instant, u64)>,
    pub(crate) resumed: usize,
    /// What the gateway is to do out of turn, to every connection.
    pub(crate) orders: broadcast::Sender<Order>,
    /// Gateway connections so far.
    pub(crate) connections: u64,
    /// Steps at which coming connections fall silent, in order.
    pub(crate) silences: VecDeque<Silent>,
    /// Members that were asked for over the gateway (op 8).
    pub(crate) member_requests: usize,
}

impl State {
    /// Whether the connection that got to this step is to fall silent at it.
    pub(crate) fn falls_silent(&mut self, step: Silent) -> bool {
        let meant = self.silences.front() == Some(&step);
        if meant {
            self.silences.pop_front();
        }
        meant
    }

    pub(crate) fn now(&self) -> Timestamp {
        SystemClock.now()
    }

    pub(crate) fn violate(&mut self, place: &str, what: &str) {
        self.record.violate(place, what);
    }
}

/// The scene, and waiting for its changes.
pub(crate) type Shared = crate::loopback::Shared<State>;

impl Scene for State {
    type Options = Options;
    type Effect = Effect;
    const RULES: &'static str = "Discord's rules";

    fn new(options: Options, base: &str) -> Self {
        Self {
            base: base.to_owned(),
            world: World::new(options.bot, &options.name),
            options,
            sessions: Sessions::default(),
            limits: Limits::default(),
            record: Record::default(),
            calls: Vec::new(),
            late: Vec::new(),
            commands: Vec::new(),
            command_writes: 0,
            interactions: HashMap::new(),
            nonces: HashMap::new(),
            load: None,
            typing: Vec::new(),
            whispers: Vec::new(),
            identified: Vec::new(),
            resumed: 0,
            orders: broadcast::Sender::new(64),
            connections: 0,
            silences: VecDeque::new(),
            member_requests: 0,
        }
    }

    fn router(shared: Arc<Shared>) -> Router {
        http::router(shared)
    }

    fn record(&self) -> &Record<Effect> {
        &self.record
    }

    fn record_mut(&mut self) -> &mut Record<Effect> {
        &mut self.record
    }

    fn story(&self) -> Vec<String> {
        let brief = |value: &Value| value.to_string().chars().take(300).collect::<String>();
        let answer = |c: &Call| {
            c.answer.as_ref().map_or("no answer".to_owned(), |(status, body)| {
                format!("{status} {}", brief(body))
            })
        };
        let calls = self
            .calls
            .iter()
            .map(|c| format!("{} {:?} {} -> {}", c.route, c.channel, brief(&c.body), answer(c)));
        let sessions = self.sessions.all.values();
        calls
            .chain(sessions.map(|s| {
                format!(
                    "session {} at {}, told {}, connection {:?}",
                    s.id, s.sequence, s.acknowledged, s.connection
                )
            }))
            .collect()
    }
}
