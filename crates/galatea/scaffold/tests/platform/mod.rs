//! The platform in this process: one account, one person, a direct room and a group. It is strict:
//! a request that breaks the rules of the platform fails the test.

mod http;

use galatea_testkit::connector_suite::PlatformFault;
use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard},
};
use tokio::{net::TcpListener, sync::watch, task::JoinHandle};

/// The account's number.
pub(crate) const ACCOUNT: u64 = 7;
/// Its token, of which nothing behind the colon may be shown.
pub(crate) const TOKEN: &str = "7:canary-hush-hush";
/// A person.
pub(crate) const ANN: u64 = 9;
/// The room of Ann and the account.
pub(crate) const DIRECT: u64 = 3;
/// A room of several.
pub(crate) const BAND: u64 = 4;
/// Longest time a poll may ask to be held, in seconds.
pub(crate) const MAX_WAIT: u64 = 60;
/// Longest text, in code points.
pub(crate) const MAX_TEXT: usize = 2000;

/// Something said.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    pub(crate) id: u64,
    pub(crate) room: u64,
    pub(crate) from: u64,
    pub(crate) text: String,
    pub(crate) mentions: Vec<u64>,
    pub(crate) reply_to: Option<u64>,
}

/// All there is.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) messages: Vec<Message>,
    /// Messages that the account receives; the number of an event is its place in here, from 1.
    pub(crate) events: Vec<u64>,
    /// Events up to this number are stored, says the connector.
    pub(crate) acknowledged: u64,
    /// The next poll begins from the start once more.
    pub(crate) again: bool,
    pub(crate) typing: BTreeSet<u64>,
    /// What goes wrong with the next post.
    pub(crate) fault: Option<PlatformFault>,
    pub(crate) away: bool,
    /// Broken rules.
    pub(crate) violations: Vec<String>,
}

impl State {
    /// Events the connector has not said to have stored.
    pub(crate) fn pending(&self) -> usize {
        self.events.len() - usize::try_from(self.acknowledged).unwrap()
    }

    /// Adds a message and returns its id.
    pub(crate) fn add(
        &mut self,
        room: u64,
        from: u64,
        text: &str,
        mentions: Vec<u64>,
        reply_to: Option<u64>,
    ) -> u64 {
        let id = 100 + self.messages.len() as u64;
        self.messages.push(Message { id, room, from, text: text.to_owned(), mentions, reply_to });
        id
    }

    pub(crate) fn message(&self, id: u64) -> Option<&Message> {
        self.messages.iter().find(|m| m.id == id)
    }
}

/// State that tells when it has changed.
#[derive(Clone)]
pub(crate) struct Shared {
    state: Arc<Mutex<State>>,
    changed: watch::Sender<u64>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub(crate) fn look<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.lock())
    }

    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let made = change(&mut self.lock());
        self.changed.send_modify(|n| *n += 1);
        made
    }

    /// Waits, by notification, until `look` finds something.
    pub(crate) async fn wait_for<T>(&self, look: impl Fn(&State) -> Option<T>) -> T {
        let mut changes = self.changed.subscribe();
        loop {
            if let Some(found) = self.look(&look) {
                return found;
            }
            changes.changed().await.unwrap();
        }
    }
}

/// The running server.
pub(crate) struct Platform {
    pub(crate) url: String,
    shared: Shared,
    server: JoinHandle<()>,
}

impl Platform {
    pub(crate) async fn start() -> Self {
        let shared = Shared { state: Arc::default(), changed: watch::Sender::new(0) };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let routes = http::routes(shared.clone());
        let server = tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self { url, shared, server }
    }

    /// Lets Ann say something.
    pub(crate) fn say(
        &self,
        room: u64,
        text: &str,
        mentions: Vec<u64>,
        reply_to: Option<u64>,
    ) -> u64 {
        self.change(|s| {
            let id = s.add(room, ANN, text, mentions, reply_to);
            s.events.push(id);
            id
        })
    }
}

impl std::ops::Deref for Platform {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.shared
    }
}

impl Drop for Platform {
    fn drop(&mut self) {
        self.server.abort();
        let violations = self.look(|s| s.violations.clone());
        // A second panic would hide the first.
        assert!(
            violations.is_empty() || std::thread::panicking(),
            "the connector broke the platform's rules:\n{}",
            violations.join("\n")
        );
    }
}
