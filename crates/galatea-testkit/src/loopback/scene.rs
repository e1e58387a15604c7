//! A platform's scene, and the test's side of it: change, wait, look, order faults.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::Router;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{Fault, Record};

/// After this long a wait fails with what was seen: only a test that is wrong waits so long.
const PATIENCE: Duration = Duration::from_secs(60);

/// Everything one platform's server holds, behind a lock that is never kept across an await.
pub trait Scene: Sized + Send + 'static {
    /// How it behaves.
    type Options: Default;
    /// What can go wrong with a call.
    type Effect: Clone + Send;
    /// Whose rules a client breaks, for failure messages.
    const RULES: &'static str;

    /// A fresh one, served at this address (`http://127.0.0.1:<port>`).
    fn new(options: Self::Options, base: &str) -> Self;
    /// Its HTTP side.
    fn router(shared: Arc<Shared<Self>>) -> Router;
    /// Its faults and violations.
    fn record(&self) -> &Record<Self::Effect>;
    /// The same, to be changed.
    fn record_mut(&mut self) -> &mut Record<Self::Effect>;
    /// The calls so far, one per line. No secrets.
    fn story(&self) -> Vec<String>;
}

/// A scene with the means to wait for its changes.
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

    /// The scene, also after a test panicked while holding it.
    pub(crate) fn lock(&self) -> MutexGuard<'_, S> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes everybody who waits for a change.
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

    /// `http://127.0.0.1:<port>`: what takes the place of the platform's address.
    pub fn url(&self) -> &str {
        &self.base
    }

    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut S) -> T) -> T {
        let made = change(&mut self.shared.lock());
        self.shared.bump();
        made
    }

    /// Orders a fault.
    pub fn fault(&self, fault: Fault<S::Effect>) {
        self.change(|s| s.record_mut().order(fault));
    }

    /// How many faults were ordered and not met yet.
    pub fn waiting_faults(&self) -> usize {
        self.shared.lock().record_mut().waiting_faults()
    }

    /// Forgets the faults that were not met yet.
    pub fn end_faults(&self) {
        self.change(|s| s.record_mut().end_faults());
    }

    /// Whether connections are answered at all; sockets that stay open (a gateway) are dropped.
    pub fn set_reachable(&self, reachable: bool) {
        self.shared.unreachable.store(!reachable, Ordering::Release);
        self.shared.bump();
    }

    /// Waits, by notification, until `look` finds something.
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

    /// The calls and violations so far, one per line, for failure messages. Secrets are not part of
    /// it.
    pub fn story(&self) -> String {
        let state = self.shared.lock();
        let mut lines = state.story();
        lines.extend(state.record().violations().iter().map(|v| format!("VIOLATION {v}")));
        lines.join("\n")
    }

    /// Violations so far, allowed ones included.
    pub fn violations(&self) -> Vec<String> {
        self.shared.lock().record().violations().to_vec()
    }

    /// Expects violations that contain this text.
    pub fn allow_violation(&self, text: &str) {
        self.change(|s| s.record_mut().allow(text));
    }

    /// Fails when there was a violation nobody allowed.
    ///
    /// # Panics
    /// With the list.
    pub fn assert_clean(&self) {
        let found = self.shared.lock().record().unexpected();
        assert!(found.is_empty(), "the client broke {}:\n{}", S::RULES, found.join("\n"));
    }
}
