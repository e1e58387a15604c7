//! A platform that the test controls: it records what it shows and fails on request.

mod plugged;

use galatea_core::{
    Account, Capabilities, Clock, ConnectorInfo, Delivery, Gateway, ReadBack, Receipt, RemoteId,
    Source, TextUnit, Timestamp,
};
use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::sync::watch;

pub(crate) use self::plugged::Plugged;

pub(crate) const SOURCE: Source = Source::new("stage");

/// Limit for every wait in these tests; reaching it fails the test.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Behaviour of one attempt to send.
#[derive(Debug, Clone)]
pub(crate) enum Doing {
    /// 429 with Retry-After, for the room.
    Flood(Duration),
    /// 429 with Retry-After, for every room of the world.
    FloodWorld(Duration),
    /// 429 with Retry-After, for the whole account.
    FloodAll(Duration),
    /// Refused connection: the request was not sent.
    Unavailable,
    /// The message is shown, and the answer is lost.
    LostAfter,
    /// The message is not shown, and the outcome is unknown.
    LostBefore,
    /// A final refusal.
    Never,
    /// The message is shown.
    Fine,
    /// No answer at all; the message is not shown.
    Hang,
    /// The message is shown, and no answer comes.
    ShowThenHang,
    /// The connector crashes.
    Panic,
}

/// A message that the platform shows.
#[derive(Debug, Clone)]
pub(crate) struct Shown {
    pub(crate) room: String,
    pub(crate) text: String,
    pub(crate) reply_to: Option<String>,
    pub(crate) label: Option<String>,
    /// Addresses of its files.
    pub(crate) files: Vec<String>,
    pub(crate) key: String,
    /// Time at which it was shown, if the platform has a clock.
    pub(crate) at: Option<Timestamp>,
}

#[derive(Default)]
struct State {
    clock: Option<Arc<dyn Clock>>,
    /// Behaviour of all attempts in turn; it precedes the behaviour set per room.
    outage: VecDeque<Doing>,
    shown: Vec<Shown>,
    attempts: usize,
    finds: usize,
    typed: Vec<String>,
    /// Behaviour of all calls that show typing; fine without.
    typing: Option<Doing>,
    doings: HashMap<String, VecDeque<Doing>>,
    blind: bool,
    /// Pairs of room and person who may not write there.
    restricted: Vec<(String, String)>,
    barred: Option<String>,
    /// Files that can be downloaded, by address.
    files: HashMap<String, Vec<u8>>,
    /// Downloads that fail before any works.
    failing: usize,
    /// Runs once a message with these words is encoded, before its turn is committed.
    meanwhile: Option<Meanwhile>,
}

/// An event, and the words of the message that it waits for.
type Meanwhile = (&'static str, Box<dyn FnOnce() + Send>);

pub(crate) struct Platform {
    info: ConnectorInfo,
    state: Mutex<State>,
    changes: watch::Sender<usize>,
    gateway: watch::Sender<Option<Gateway>>,
    shared: AtomicBool,
}

impl Platform {
    pub(crate) fn new(account: &str) -> Arc<Self> {
        Self::with(account, |_| {})
    }

    pub(crate) fn with(account: &str, change: impl FnOnce(&mut Capabilities)) -> Arc<Self> {
        Self::of(SOURCE, account, change)
    }

    /// Another platform.
    pub(crate) fn of(
        source: Source,
        account: &str,
        change: impl FnOnce(&mut Capabilities),
    ) -> Arc<Self> {
        let mut capabilities = Capabilities {
            max_text: 4096,
            text_unit: TextUnit::Utf16,
            edit: true,
            delete: true,
            react: true,
            typing: false,
            buttons: true,
            files: false,
            threads: true,
            read_back: ReadBack::Find,
            public: false,
        };
        change(&mut capabilities);
        let info = ConnectorInfo { source, account: Account(account.to_owned()), capabilities };
        Arc::new(Self {
            info,
            state: Mutex::default(),
            changes: watch::Sender::new(0),
            gateway: watch::Sender::new(None),
            shared: AtomicBool::new(false),
        })
    }

    /// Sets the behaviour of the next attempts to send to a room.
    pub(crate) fn does(&self, room: &str, doings: impl IntoIterator<Item = Doing>) {
        self.lock().doings.entry(room.to_owned()).or_default().extend(doings);
    }

    /// Gives the platform a clock, from which messages get their time.
    pub(crate) fn dated(&self, clock: Arc<dyn Clock>) {
        self.lock().clock = Some(clock);
    }

    /// Makes every attempt behave like these, in turn; an empty list ends the outage.
    pub(crate) fn outage(&self, doings: impl IntoIterator<Item = Doing>) {
        self.lock().outage = doings.into_iter().collect();
    }

    /// Marks a room in which the connector knows that the agent cannot write; `None` clears the
    /// mark.
    pub(crate) fn bar(&self, room: Option<&str>) {
        self.lock().barred = room.map(str::to_owned);
    }

    /// Offers a file at an address.
    pub(crate) fn offers(&self, address: &str, file: Vec<u8>) {
        self.lock().files.insert(address.to_owned(), file);
    }

    /// Makes so many downloads fail.
    pub(crate) fn fails_downloads(&self, count: usize) {
        self.lock().failing = count;
    }

    /// Makes every read-back fail to decide.
    pub(crate) fn blind(&self) {
        self.lock().blind = true;
    }

    /// Forbids a person to write in a room from now on.
    pub(crate) fn restrict(&self, room: &str, person: &str) {
        self.lock().restricted.push((room.to_owned(), person.to_owned()));
    }

    /// Makes calls that show typing do so from now on.
    pub(crate) fn typing_does(&self, doing: Doing) {
        self.lock().typing = Some(doing);
    }

    /// Makes calls that show typing succeed again.
    pub(crate) fn typing_works(&self) {
        self.lock().typing = None;
    }

    pub(crate) fn shown(&self) -> Vec<Shown> {
        self.lock().shown.clone()
    }

    /// Texts shown in a room, in order.
    pub(crate) fn texts(&self, room: &str) -> Vec<String> {
        self.lock().shown.iter().filter(|s| s.room == room).map(|s| s.text.clone()).collect()
    }

    /// Lets something happen once, when a message with these words is encoded: after its turn has
    /// read what it says, and before it is committed.
    pub(crate) fn meanwhile(&self, words: &'static str, happens: impl FnOnce() + Send + 'static) {
        self.lock().meanwhile = Some((words, Box::new(happens)));
    }

    /// Number of attempts to send so far.
    pub(crate) fn attempts(&self) -> usize {
        self.lock().attempts
    }

    /// Number of read-backs so far.
    pub(crate) fn finds(&self) -> usize {
        self.lock().finds
    }

    /// Rooms in which the agent showed typing.
    pub(crate) fn typed(&self) -> Vec<String> {
        self.lock().typed.clone()
    }

    /// Waits until the platform satisfies `enough`; checks after every attempt.
    pub(crate) async fn until(&self, what: &str, enough: impl Fn(&Self) -> bool) {
        let mut changes = self.changes.subscribe();
        let wait = async {
            while !enough(self) {
                changes.changed().await.unwrap();
            }
        };
        let ended = tokio::time::timeout(PATIENCE, wait).await;
        assert!(ended.is_ok(), "never happened: {what}; shown: {:#?}", self.shown());
    }

    /// Waits until this many texts are shown in a room.
    pub(crate) async fn until_shown(&self, room: &str, count: usize) -> Vec<String> {
        self.until(&format!("{count} texts in {room}"), |p| p.texts(room).len() >= count).await;
        self.texts(room)
    }

    /// Waits for the gateway that the running connector received.
    pub(crate) async fn gateway(&self) -> Gateway {
        let mut gateway = self.gateway.subscribe();
        let ready = tokio::time::timeout(PATIENCE, gateway.wait_for(Option::is_some))
            .await
            .expect("the connector never ran")
            .unwrap();
        ready.clone().unwrap()
    }

    /// Makes account and Rooms subject to leases, as in a cluster.
    pub(crate) fn share(&self) {
        self.shared.store(true, Ordering::Relaxed);
    }

    /// Forgets the gateway, for the next run of the program.
    pub(crate) fn unplug(&self) {
        self.gateway.send_replace(None);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn show(&self, delivery: &Delivery) -> Receipt {
        let body = &delivery.body.0;
        let text = |key: &str| body.get(key).and_then(|v| v.as_str()).map(str::to_owned);
        let mut state = self.lock();
        let at = state.clock.as_ref().map(|clock| clock.now());
        state.shown.push(Shown {
            room: delivery.address.remote.to_string(),
            text: text("text").unwrap_or_default(),
            reply_to: text("replyTo"),
            label: text("label"),
            files: body
                .get("files")
                .and_then(|files| serde_json::from_value(files.clone()).ok())
                .unwrap_or_default(),
            key: delivery.key.clone(),
            at,
        });
        Receipt { id: Some(RemoteId::new(format!("own-{}", state.shown.len()))), moved_to: None }
    }
}
