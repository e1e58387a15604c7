//! State of the server, and the options it starts with.

use base64::Engine;
use bytes::Bytes;
use galatea_core::{Clock, SystemClock, Timestamp};
use serde_json::Value;
use std::{
    collections::{HashMap, VecDeque},
    time::{Duration, Instant},
};
use tokio::sync::broadcast;

use super::{
    faults::{Effect, Order, Silent},
    limits::Limits,
    sessions::Sessions,
    world::World,
};
use crate::{
    discord::{request::Request, world::Interaction},
    load::Load,
    loopback::Record,
};

/// Behaviour of the server.
#[derive(Clone)]
pub struct Options {
    /// The bot's id, which is encoded in its token.
    pub bot: u64,
    /// The application's id.
    pub application: u64,
    /// The bot's name.
    pub name: String,
    /// Interval between heartbeats, as the greeting states it in milliseconds.
    pub heartbeat: Duration,
    /// Number of shards that the server recommends.
    pub shards: u64,
    /// True if the Message Content intent is granted.
    pub content: bool,
    /// True if the Guild Members intent is granted.
    pub members: bool,
    /// Number of sessions that may still begin today.
    pub identifies: u64,
    /// Number of messages that a channel's bucket accepts, and its time window. Discord: 5 in 5 s;
    /// the default is higher, so that suites need not wait.
    pub bucket: (u32, Duration),
    /// True if messages may notify people.
    pub pings: bool,
    /// True if calls are checked, limited and recorded. Off for benchmarks: messages and typing
    /// then take the short path, and sessions may begin at any time.
    pub checks: bool,
    /// True if the bot runs on a clock of its own; the time between two identifies is then not
    /// checked.
    pub own_time: bool,
    /// Close code for every identify and resume; `None` accepts them.
    pub refuse: Option<u16>,
    /// A token of another shape than Discord's; `None` for one of its shape.
    pub token: Option<String>,
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
            token: None,
        }
    }
}

impl Options {
    /// Options for load: no limits, no checks, no recorded messages.
    pub fn fast() -> Self {
        Self { checks: false, ..Self::default() }
    }

    /// The bot's token. One of Discord's shape has the bot's id, a time, and the secret.
    pub(crate) fn token(&self) -> String {
        if let Some(token) = &self.token {
            return token.clone();
        }
        let id = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(self.bot.to_string());
        format!("{id}.GcanAr.dc-canary-0123456789abcdefghijklmnopqrst")
    }
}

/// A recorded call.
#[derive(Debug, Clone)]
pub struct Call {
    /// Time of its arrival.
    pub instant: Instant,
    /// Method and path without ids: `POST /channels/{}/messages`.
    pub route: String,
    /// Channel that the path names, if any.
    pub channel: Option<u64>,
    /// JSON body; of a form, its `payload_json`.
    pub body: Value,
    /// Files of a form: name and bytes.
    pub files: Vec<(String, Bytes)>,
    /// Status and body of the answer; `None` when it was not answered.
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
    /// Messages by channel and enforced nonce.
    pub(crate) nonces: HashMap<(u64, String), u64>,
    /// A benchmark's load.
    pub(crate) load: Option<Load>,
    pub(crate) typing: Vec<u64>,
    /// Ephemeral answers: application, channel, text.
    pub(crate) whispers: Vec<(u64, u64, String)>,
    pub(crate) identified: Vec<(Instant, u64)>,
    /// For each resumed session, the last event that the client had read.
    pub(crate) resumed: Vec<u64>,
    /// Unsolicited actions, sent to every gateway connection.
    pub(crate) orders: broadcast::Sender<Order>,
    /// Number of gateway connections so far.
    pub(crate) connections: u64,
    /// Steps at which the next connections stop sending, in order.
    pub(crate) silences: VecDeque<Silent>,
    /// Number of requests for members over the gateway (op 8).
    pub(crate) member_requests: usize,
}

impl State {
    /// True if the connection that reached this step stops sending here.
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

/// The state and a notification of its changes.
pub(crate) type Shared = crate::loopback::Shared<State>;
