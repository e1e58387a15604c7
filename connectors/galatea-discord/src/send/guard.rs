//! Guard: calls that Discord refuses (401, 403, 429) count against the address, which it bans at
//! 10,000 of them in ten minutes ("Invalid Request Limit"). The count outlives the process, or a
//! program that crashes again and again would spend it anew each time.

use galatea_core::{Gateway, Result, StateKeeper, Timestamp};
use serde::{Deserialize, Serialize};
use std::{
    collections::VecDeque,
    convert::Infallible,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::sync::watch;

/// Key of the state that holds the refusals of earlier runs.
const KEY: &str = "refused";
/// Calls refused within [`WINDOW`] at which everything rests: half of Discord's number, so that
/// other programs of this machine have some.
const MAX_REFUSED: u32 = 5_000;
const WINDOW: Duration = Duration::from_secs(600);
/// Refusals this close together are one entry of what is kept.
const GRAIN: Duration = Duration::from_secs(10);
/// Refused calls in a row, no other answer between them, at which calls are made one by one: all of
/// Discord refuses, not a channel.
const STORM: u32 = 20;
/// Pauses between such calls, doubled each time: a storm costs fifty calls in its first ten minutes
/// and ten in each that follows.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// What was refused lately.
#[derive(Debug)]
pub(crate) struct Guard {
    refused: Mutex<Refused>,
    /// What earlier processes kept is known; what a later run in this one reads is its own.
    restored: AtomicBool,
    keeper: StateKeeper,
    /// Until when everything rests, for whoever shows it.
    resting: watch::Sender<Option<Timestamp>>,
}

#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
struct Refused {
    /// How many, from when on.
    times: VecDeque<(Timestamp, u32)>,
    /// Without another answer between them.
    in_a_row: u32,
    /// No call before then.
    until: Timestamp,
}

impl Refused {
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

    /// Between two calls of a storm; none when there is none.
    fn pause(&self) -> Option<Duration> {
        let over = self.in_a_row.checked_sub(STORM)?;
        Some(FIRST_PAUSE.saturating_mul(1_u32 << over.min(6)).min(LONGEST_PAUSE))
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
    /// How long everything has to rest because too much was refused.
    pub(super) fn full(&self, now: Timestamp) -> Option<Duration> {
        let mut refused = self.lock();
        refused.forget(now);
        let (oldest, _) = *refused.times.front()?;
        let count = refused.times.iter().fold(0_u32, |sum, (_, count)| sum.saturating_add(*count));
        (count >= MAX_REFUSED).then(|| WINDOW.saturating_sub(now.since(oldest)))
    }

    /// SendPermit for one call of a storm, or how long to wait for it.
    pub(super) fn turn(&self, now: Timestamp) -> Option<Duration> {
        let mut refused = self.lock();
        let pause = refused.pause()?;
        // A clock that was set back must not make it longer.
        let wait = refused.until.since(now).min(pause);
        if wait.is_zero() {
            // One at a time: whoever comes beside waits for what becomes of this one.
            refused.until = now.plus(pause);
            return None;
        }
        Some(wait)
    }

    /// Notes a call that counts against the address.
    pub(super) fn refused(&self, now: Timestamp) {
        self.lock().count(now);
        self.keeper.changed();
    }

    /// Notes an answer that shows that not everything is refused.
    pub(super) fn taken(&self) {
        if std::mem::take(&mut self.lock().in_a_row) > 0 {
            self.keeper.changed();
        }
        self.rests(None);
    }

    /// Shows until when everything rests.
    pub(super) fn rests(&self, until: Option<Timestamp>) {
        self.resting.send_if_modified(|known| std::mem::replace(known, until) != until);
    }

    /// Until when everything rests because too much was refused; none when nothing does.
    pub(crate) fn resting(&self) -> watch::Receiver<Option<Timestamp>> {
        self.resting.subscribe()
    }

    /// Takes up what earlier runs kept, once.
    ///
    /// # Errors
    /// What the store says.
    pub(crate) async fn restore(&self, gateway: &Gateway) -> Result<()> {
        let kept = self.keeper.restore::<Refused>(gateway).await?;
        let now = gateway.clock().now();
        let first = !self.restored.swap(true, Ordering::AcqRel);
        if let Some(mut kept) = kept.filter(|_| first) {
            let mut own = self.lock();
            // Noted by a clock that was set back since, they would count for longer than the rule
            // asks for.
            kept.times.iter_mut().for_each(|(since, _)| *since = (*since).min(now));
            kept.times.append(&mut own.times);
            *own = Refused { in_a_row: kept.in_a_row.saturating_add(own.in_a_row), ..kept };
        }
        Ok(())
    }

    /// Keeps what changes, as long as it is polled.
    pub(crate) async fn keep(&self, gateway: &Gateway) -> Infallible {
        self.keeper.keep(gateway, || self.snapshot()).await
    }

    /// Keeps what there is. Losing it costs what one run may be refused.
    pub(crate) async fn keep_now(&self, gateway: &Gateway) {
        self.keeper.keep_now(gateway, self.snapshot()).await;
    }

    /// What there is to keep; none before the first refusal.
    fn snapshot(&self) -> Option<Refused> {
        let refused = self.lock().clone();
        (refused != Refused::default()).then_some(refused)
    }

    fn lock(&self) -> MutexGuard<'_, Refused> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
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
            "a storm goes on"
        );
        next.refused(Timestamp(500_000));
        assert_eq!(next.full(Timestamp(500_000)), Some(Duration::from_secs(100)));
    }
}
