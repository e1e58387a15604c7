//! Protects our IP address from a ban. Discord counts refused calls (401, 403, 429) and bans an
//! address at 10,000 of them in ten minutes ("Invalid Request Limit"). The count is stored, because
//! a crash loop would otherwise start from zero each time.

use galatea_core::{Backoff, Gateway, Result, StateKeeper, Timestamp};
use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};
use std::{
    collections::VecDeque,
    convert::Infallible,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};
use tokio::sync::watch;

/// Key of the connector state that holds the refusals of earlier runs.
const KEY: &str = "refused";
/// At this many refused calls within [`WINDOW`] all calls pause. It is half of Discord's number, so
/// that other programs on this machine have a share.
const MAX_REFUSED: u32 = 5_000;
const WINDOW: Duration = Duration::from_secs(600);
/// Refusals this close together share one entry of the stored count.
const GRAIN: Duration = Duration::from_secs(10);
/// After this many refused calls in a row, without any other answer, Discord refuses the bot and
/// not just a channel. From then on calls are made one by one: a storm.
const STORM: u32 = 20;
/// First and longest pause between calls in a storm; it doubles each time. A storm costs fifty
/// calls in its first ten minutes and ten in each ten minutes after that.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The count of recently refused calls.
#[derive(Debug)]
pub(crate) struct Guard {
    refused: Mutex<RefusedCalls>,
    /// True once the count of earlier processes was loaded. Later runs in this process would only
    /// load their own count.
    restored: AtomicBool,
    keeper: StateKeeper,
    /// Until when all calls pause, for the health report.
    resting: watch::Sender<Option<Timestamp>>,
}

#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
struct RefusedCalls {
    /// Start of each entry, and the number of refusals in it.
    times: VecDeque<(Timestamp, u32)>,
    /// Refusals in a row, without another answer between them.
    in_a_row: u32,
    /// In a storm, the time of the next call.
    until: Timestamp,
}

impl RefusedCalls {
    fn count(&mut self, now: Timestamp) {
        match self.times.back_mut() {
            Some((since, count)) if now.since(*since) < GRAIN => *count = count.saturating_add(1),
            _ => self.times.push_back((now, 1)),
        }
        self.in_a_row = self.in_a_row.saturating_add(1);
        if let Some(pause) = self.pause() {
            self.until = now.plus(pause);
        }
    }

    /// The pause between two calls of a storm; `None` if there is no storm.
    fn pause(&self) -> Option<Duration> {
        let over = self.in_a_row.checked_sub(STORM)?;
        Some(Backoff::pause_after(FIRST_PAUSE, LONGEST_PAUSE, over))
    }

    fn forget(&mut self, now: Timestamp) {
        while self.times.front().is_some_and(|(since, _)| now.since(*since) >= WINDOW) {
            self.times.pop_front();
        }
    }
}

impl Default for Guard {
    fn default() -> Self {
        Self {
            refused: Mutex::default(),
            restored: AtomicBool::default(),
            keeper: StateKeeper::new(KEY),
            resting: watch::Sender::default(),
        }
    }
}

impl Guard {
    /// Pause of all calls because too many were refused.
    pub(super) fn full(&self, now: Timestamp) -> Option<Duration> {
        let mut refused = self.lock();
        refused.forget(now);
        let (oldest, _) = *refused.times.front()?;
        let count = refused.times.iter().fold(0_u32, |sum, (_, count)| sum.saturating_add(*count));
        (count >= MAX_REFUSED).then(|| WINDOW.saturating_sub(now.since(oldest)))
    }

    /// In a storm, admits one call or returns how long to wait for the next. `None` admits the
    /// call.
    pub(super) fn turn(&self, now: Timestamp) -> Option<Duration> {
        let mut refused = self.lock();
        let pause = refused.pause()?;
        // The wait must not grow because the clock was set back.
        let wait = refused.until.since(now).min(pause);
        if wait.is_zero() {
            // Make one call at a time: the next call waits for the outcome of this one.
            refused.until = now.plus(pause);
            return None;
        }
        Some(wait)
    }

    /// Counts a refused call against the address.
    pub(super) fn refused(&self, now: Timestamp) {
        self.lock().count(now);
        self.keeper.changed();
    }

    /// Records an answer that was not a refusal, which ends a storm.
    pub(super) fn taken(&self) {
        if std::mem::take(&mut self.lock().in_a_row) > 0 {
            self.keeper.changed();
        }
        self.rests(None);
    }

    /// Publishes until when all calls pause; `None` if they do not.
    pub(super) fn rests(&self, until: Option<Timestamp>) {
        self.resting.send_if_modified(|known| std::mem::replace(known, until) != until);
    }

    /// Watches until when all calls pause; `None` if they do not.
    pub(crate) fn resting(&self) -> watch::Receiver<Option<Timestamp>> {
        self.resting.subscribe()
    }

    /// Adds the stored count of earlier processes, the first time it is called.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) async fn restore(&self, gateway: &Gateway) -> Result<()> {
        let kept = self.keeper.restore::<RefusedCalls>(gateway).await?;
        let now = gateway.clock().now();
        let first = !self.restored.swap(true, Ordering::AcqRel);
        if let Some(mut kept) = kept.filter(|_| first) {
            let mut own = self.lock();
            // If the clock was set back since, times in the future would count for longer than
            // [`WINDOW`].
            kept.times.iter_mut().for_each(|(since, _)| *since = (*since).min(now));
            kept.times.append(&mut own.times);
            *own = RefusedCalls { in_a_row: kept.in_a_row.saturating_add(own.in_a_row), ..kept };
        }
        Ok(())
    }

    /// Stores changes of the count for as long as it is polled.
    pub(crate) async fn keep(&self, gateway: &Gateway) -> Infallible {
        self.keeper.keep(gateway, || self.snapshot()).await
    }

    /// Stores the count now. If that fails, the refusals of this run are not counted by the next.
    pub(crate) async fn keep_now(&self, gateway: &Gateway) {
        self.keeper.keep_now(gateway, self.snapshot()).await;
    }

    /// The count to store; `None` before the first refusal.
    fn snapshot(&self) -> Option<RefusedCalls> {
        let refused = self.lock().clone();
        (refused != RefusedCalls::default()).then_some(refused)
    }

    fn lock(&self) -> MutexGuard<'_, RefusedCalls> {
        self.refused.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_stays_small_and_says_the_same() {
        let guard = Guard::default();
        (0..4_999).for_each(|n| guard.refused(Timestamp(n * 100)));
        let kept = serde_json::to_string(&*guard.lock()).unwrap();
        assert!(kept.len() < 2_000, "{kept}");
        let next =
            Guard { refused: Mutex::new(serde_json::from_str(&kept).unwrap()), ..Guard::default() };
        assert_eq!(
            (next.full(Timestamp(500_000)), next.turn(Timestamp(500_000)).is_some()),
            (None, true),
            "a storm continues in the next process"
        );
        next.refused(Timestamp(500_000));
        assert_eq!(next.full(Timestamp(500_000)), Some(Duration::from_secs(100)));
    }
}
