//! State of a platform server, and the handle with which a test changes it, waits and schedules
//! faults.

use parking_lot::{Mutex, MutexGuard};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::Router;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{Fault, Record};

/// Limit for one wait; it then fails with the calls seen. Only a faulty test reaches it.
const PATIENCE: Duration = Duration::from_secs(60);

/// State of one platform server, behind a lock that is never held across an await.
pub trait Scene: Sized + Send + 'static {
    /// Options of the server.
    type Options: Default;
    /// Effects of faults on this platform.
    type Effect: Clone + Send;
    /// Name of the rules that violations break, for failure messages.
    const RULES: &'static str;

    /// A fresh state for a server at this address (`http://127.0.0.1:<port>`).
    fn new(options: Self::Options, base: &str) -> Self;
    /// The server's HTTP routes.
    fn router(shared: Arc<Shared<Self>>) -> Router;
    /// Faults and violations.
    fn record(&self) -> &Record<Self::Effect>;
    /// Faults and violations, mutable.
    fn record_mut(&mut self) -> &mut Record<Self::Effect>;
    /// The calls so far, one per line, without secrets.
    fn story(&self) -> Vec<String>;
}

/// The state and a notification of its changes.
pub struct Shared<S> {
    state: Mutex<S>,
    pub(crate) changed: watch::Sender<u64>,
    pub(crate) stop: CancellationToken,
    pub(crate) unreachable: AtomicBool,
}

impl<S> Shared<S> {
    pub(super) fn new(state: S) -> Self {
        Self {
            state: Mutex::new(state),
            changed: watch::Sender::new(0),
            stop: CancellationToken::new(),
            unreachable: AtomicBool::new(false),
        }
    }

    /// Locks the state, also after a test panicked while holding the lock.
    pub(crate) fn lock(&self) -> MutexGuard<'_, S> {
        self.state.lock()
    }

    /// Wakes every task that waits for a change.
    pub(crate) fn bump(&self) {
        self.changed.send_modify(|n| *n = n.wrapping_add(1));
    }
}

/// A cheap handle to a running server.
pub struct Handle<S> {
    pub(crate) shared: Arc<Shared<S>>,
    base: Arc<str>,
}

impl<S> Clone for Handle<S> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), base: Arc::clone(&self.base) }
    }
}

impl<S: Scene> Handle<S> {
    pub(super) fn new(shared: Arc<Shared<S>>, base: String) -> Self {
        Self { shared, base: base.into() }
    }

    /// Base URL of the server, `http://127.0.0.1:<port>`, to be used in place of the platform's.
    pub fn url(&self) -> &str {
        &self.base
    }

    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut S) -> T) -> T {
        let made = change(&mut self.shared.lock());
        self.shared.bump();
        made
    }

    /// Schedules a fault.
    pub fn fault(&self, fault: Fault<S::Effect>) {
        self.change(|s| s.record_mut().schedule(fault));
    }

    /// Number of scheduled faults that have not occurred yet.
    pub fn waiting_faults(&self) -> usize {
        self.shared.lock().record_mut().waiting_faults()
    }

    /// Removes the faults that have not occurred yet.
    pub fn end_faults(&self) {
        self.change(|s| s.record_mut().end_faults());
    }

    /// Sets whether the server answers connections; while it does not, open sockets (a gateway) are
    /// dropped.
    pub fn set_reachable(&self, reachable: bool) {
        self.shared.unreachable.store(!reachable, Ordering::Release);
        self.shared.bump();
    }

    /// Waits until `look` returns something; checks after every change.
    ///
    /// # Panics
    /// After a minute, with the calls seen.
    pub async fn wait_for<T>(&self, what: &str, look: impl Fn(&Self) -> Option<T>) -> T {
        let mut changes = self.shared.changed.subscribe();
        let waiting = async {
            loop {
                if let Some(found) = look(self) {
                    return found;
                }
                if changes.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        };
        match tokio::time::timeout(PATIENCE, waiting).await {
            Ok(found) => found,
            Err(_) => panic!("waited {PATIENCE:?} for {what}; seen:\n{}", self.story()),
        }
    }

    /// The calls and violations so far, one per line, for failure messages. It contains no secrets.
    pub fn story(&self) -> String {
        let state = self.shared.lock();
        let mut lines = state.story();
        lines.extend(state.record().violations().iter().map(|v| format!("VIOLATION {v}")));
        lines.join("\n")
    }

    /// Violations so far, including allowed ones.
    pub fn violations(&self) -> Vec<String> {
        self.shared.lock().record().violations().to_vec()
    }

    /// Allows violations that contain this text.
    pub fn allow_violation(&self, text: &str) {
        self.change(|s| s.record_mut().allow(text));
    }

    /// Fails when there was a violation that the test did not allow.
    ///
    /// # Panics
    /// With the list of violations.
    pub fn assert_clean(&self) {
        let found = self.shared.lock().record().unexpected();
        assert!(found.is_empty(), "the client broke {}:\n{}", S::RULES, found.join("\n"));
    }
}
