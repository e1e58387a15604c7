//! Pace at which this process polls the store for rows of other processes, and what makes it poll
//! at once.

use galatea_core::{Hint, Hints};
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::watch,
    time::{Instant, sleep, sleep_until},
};

/// Between two polls where no wake-up arrives.
const OFTEN: Duration = Duration::from_millis(100);
/// Between two looks however many tell: what comes meanwhile is seen in one.
const SOONEST: Duration = Duration::from_millis(10);

/// Says when to poll the store: after a pause, or after a hint of another process.
pub(crate) struct Poller {
    hints: Arc<dyn Hints>,
    heard: watch::Receiver<u64>,
    last: Instant,
}

impl Poller {
    /// Polls for what this hint is about.
    pub(crate) fn new(hints: &Arc<dyn Hints>, hint: Hint) -> Self {
        Self { hints: Arc::clone(hints), heard: hints.heard(hint), last: Instant::now() }
    }

    /// Completes when the next poll is due: after this pause, or at another process's wake-up.
    /// Where other processes cannot send wake-ups, the pause is short.
    pub(crate) async fn next(&mut self, pause: Duration, shared: bool) {
        let pause = if shared && !self.hints.is_up() { pause.min(OFTEN) } else { pause };
        tokio::select! {
            // The machine's time: no decision depends on when a poll happens.
            () = sleep(pause) => {}
            Ok(()) = self.heard.changed() => sleep_until(self.last + SOONEST).await,
        }
        self.last = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::poll;
    use std::pin::pin;

    /// A bus that works and on which the test speaks.
    #[derive(Debug, Default)]
    struct Bus(watch::Sender<u64>);

    impl Hints for Bus {
        fn is_up(&self) -> bool {
            true
        }
        fn notify(&self, _: Hint) {
            self.0.send_modify(|count| *count += 1);
        }
        fn heard(&self, _: Hint) -> watch::Receiver<u64> {
            self.0.subscribe()
        }
    }

    #[tokio::test]
    async fn a_hint_makes_it_look_before_the_pause_is_over() {
        let hints: Arc<dyn Hints> = Arc::new(Bus::default());
        let mut poller = Poller::new(&hints, Hint::Inbox);
        let hour = Duration::from_secs(3600);
        {
            let mut next = pin!(poller.next(hour, true));
            assert!(poll!(&mut next).is_pending());
            hints.notify(Hint::Inbox);
            next.await;
        }
        // Wake-ups between two polls count as one.
        hints.notify(Hint::Inbox);
        hints.notify(Hint::Inbox);
        poller.next(hour, true).await;
        assert!(poll!(pin!(poller.next(hour, true))).is_pending());
    }

    #[tokio::test]
    async fn without_a_bus_company_is_looked_for_often() {
        let hints: Arc<dyn Hints> = Arc::new(galatea_core::NoHints::default());
        Poller::new(&hints, Hint::Inbox).next(Duration::from_secs(3600), true).await;
    }
}
