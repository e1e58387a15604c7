//! State of the server, behind one lock that is never held across an await.

use bytes::Bytes;
use galatea_core::{Clock, SystemClock, Timestamp};
use serde_json::{Map, Value};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::{
    faults::Effect,
    flood::{Flood, Pace},
    params::{Params, Upload},
    schema::Method,
    updates::Updates,
    world::{Person, World},
};
use crate::{loopback::Record, telegram::loading::LoadState};

/// Behaviour of the server. `Options::default()` is strict and records everything.
#[derive(Clone)]
pub struct Options {
    /// The bot's token.
    pub token: String,
    /// The bot's name.
    pub bot_name: String,
    /// The bot's username, without `@`.
    pub bot_username: String,
    /// Privacy mode: group messages that do not address the bot are not delivered (on by default
    /// for real bots).
    pub privacy: bool,
    /// Clock of dates, long polls, flood waits and webhook retries.
    pub clock: Arc<dyn Clock>,
    /// Pacing rules; none by default, so that tests need no real time.
    pub pace: Pace,
    /// True if every call is recorded. Off for benchmarks.
    pub history: bool,
    /// True if parameters are checked. Off for benchmarks: `getMe`, `getUpdates`, `sendMessage` and
    /// `sendChatAction` then take a short path.
    pub checks: bool,
    /// `update_id` of the first update.
    pub first_update: i64,
    /// Largest request body in bytes: 50 MB, with some room for the form around it (Bot API,
    /// "Sending files").
    pub max_upload: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            token: "7000000001:AAtestkit-canary-token-0123456789abcd".to_owned(),
            bot_name: "Galatea".to_owned(),
            bot_username: "galatea_test_bot".to_owned(),
            privacy: true,
            clock: Arc::new(SystemClock),
            pace: Pace::default(),
            history: true,
            checks: true,
            first_update: 400_000_001,
            max_upload: 51 * 1024 * 1024,
        }
    }
}

impl Options {
    /// Options for load: nothing is recorded or checked.
    pub fn fast() -> Self {
        Self { history: false, checks: false, ..Self::default() }
    }
}

/// A recorded call.
#[derive(Debug, Clone)]
pub struct Call {
    /// Time of its arrival, by the server's clock.
    pub at: Timestamp,
    /// Time of its arrival, by the machine's clock.
    pub instant: Instant,
    /// Method in its documented spelling; clients may use any case.
    pub method: String,
    /// Parameters as sent; values of forms are strings.
    pub params: Map<String, Value>,
    /// Files as sent.
    pub files: BTreeMap<String, Upload>,
    /// Body of the answer; `None` while it is pending, or when there was none.
    pub answer: Option<Value>,
}

impl Call {
    /// Chat of the call, when given by number.
    pub fn chat(&self) -> Option<i64> {
        let chat = self.params.get("chat_id")?;
        chat.as_i64().or_else(|| chat.as_str()?.parse().ok())
    }

    /// A parameter as text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.params.get(name)?.as_str()
    }

    /// True if the answer has `"ok":true`.
    pub fn is_ok(&self) -> bool {
        self.answer.as_ref().is_some_and(|a| a["ok"] == true)
    }
}

/// A stored file.
#[derive(Debug, Clone)]
pub(crate) struct StoredFile {
    pub(crate) name: String,
    pub(crate) path: String,
    pub(crate) bytes: Bytes,
    /// Size that the server states; may exceed `bytes`, to test size limits.
    pub(crate) size: u64,
}

/// The current webhook.
#[derive(Debug)]
pub(crate) struct Webhook {
    pub(crate) url: String,
    pub(crate) secret: Option<String>,
    pub(crate) max_connections: i64,
    pub(crate) stop: CancellationToken,
    pub(crate) last_error: Option<(i64, String)>,
}

/// The server's state.
pub struct State {
    pub(crate) options: Options,
    pub(crate) world: World,
    pub(crate) updates: Updates,
    pub(crate) webhook: Option<Webhook>,
    pub(crate) commands: BTreeMap<String, Vec<Value>>,
    pub(crate) files: BTreeMap<String, StoredFile>,
    pub(crate) next_file: u64,
    /// Callback queries by id, and whether they were answered.
    pub(crate) callbacks: BTreeMap<String, bool>,
    pub(crate) record: Record<Effect>,
    pub(crate) flood: Flood,
    pub(crate) calls: Vec<Call>,
    pub(crate) late: Vec<(&'static Method, Params)>,
    pub(crate) load: Option<LoadState>,
    /// Chat actions in the order of the calls: chat, thread, action.
    pub(crate) actions: Vec<(i64, Option<i64>, String)>,
    pub(crate) deleted: BTreeSet<(i64, i64)>,
    next_group: u64,
}

impl State {
    pub(crate) fn new(options: Options) -> Self {
        let id =
            options.token.split(':').next().and_then(|id| id.parse().ok()).unwrap_or(7_000_000_001);
        let bot = Person {
            id,
            first_name: options.bot_name.clone(),
            username: Some(options.bot_username.clone()),
            is_bot: true,
        };
        Self {
            world: World::new(bot),
            updates: Updates::new(options.first_update),
            options,
            webhook: None,
            commands: BTreeMap::new(),
            files: BTreeMap::new(),
            next_file: 1,
            callbacks: BTreeMap::new(),
            record: Record::default(),
            flood: Flood::default(),
            calls: Vec::new(),
            late: Vec::new(),
            load: None,
            actions: Vec::new(),
            deleted: BTreeSet::new(),
            next_group: 13_000_000_000_000_001,
        }
    }

    /// The time by the server's clock.
    pub(crate) fn now(&self) -> Timestamp {
        self.options.clock.now()
    }

    /// The time as the Bot API counts it, in Unix seconds.
    pub(crate) fn date(&self) -> i64 {
        self.now().0.div_euclid(1000)
    }

    /// Records a violation and the method that caused it.
    pub(crate) fn violate(&mut self, method: &str, what: &str) {
        self.record.violate(method, what);
    }

    /// A fresh `media_group_id`.
    pub(crate) fn media_group(&mut self) -> String {
        self.next_group += 1;
        self.next_group.to_string()
    }

    /// Stores a file and returns its `file_id`.
    pub(crate) fn keep_file(
        &mut self,
        folder: &str,
        name: &str,
        bytes: Bytes,
        size: u64,
    ) -> String {
        let number = self.next_file;
        self.next_file += 1;
        let id = format!("AgACAgIAAx{number:08}");
        let extension = name.rsplit_once('.').map_or("bin", |(_, e)| e);
        let path = format!("{folder}/file_{number}.{extension}");
        self.files.insert(id.clone(), StoredFile { name: name.to_owned(), path, bytes, size });
        id
    }
}

/// The state and a notification of its changes.
pub(crate) type Shared = crate::loopback::Shared<State>;
