//! Lets the intake wait for answers on their way while many are under way.
//!
//! Receiving a message takes less time than answering it, and answering less than sending. Without
//! a pause a flood would be received first, then answered, then sent, and each answer would wait
//! behind all of it. Pauses are short, so a platform or a model that does not work stops nothing.

use galatea_core::Clock;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Messages and answers under way up to which nothing waits: what two processors answer in an
/// eighth of a second (docs/benchmarks.md).
const UNDER_WAY: usize = 512;
/// Longest pause per received message: 1,000 messages per second are received even if none is
/// answered, more than any platform delivers to one account.
const PER_MESSAGE: Duration = Duration::from_millis(1);
/// Longest pause after one batch: a connector that waits longer could miss a heartbeat.
const LONGEST: Duration = Duration::from_millis(100);
/// Pause between two looks at what is under way: some ten answers of two processors.
const LOOK: Duration = Duration::from_millis(2);

/// Waits after a batch of `received` messages until less is under way, within bounds.
pub(crate) async fn after_batch(
    clock: &dyn Clock,
    stop: &CancellationToken,
    received: usize,
    under_way: impl Fn() -> usize,
) {
    for pause in pauses(received) {
        if under_way() <= UNDER_WAY || stop.run_until_cancelled(clock.sleep(pause)).await.is_none()
        {
            return;
        }
    }
}

/// The pauses after a batch, at most.
fn pauses(received: usize) -> impl Iterator<Item = Duration> {
    let received = u32::try_from(received).unwrap_or(u32::MAX);
    let mut left = PER_MESSAGE.saturating_mul(received).min(LONGEST);
    std::iter::from_fn(move || {
        let pause = left.min(LOOK);
        left -= pause;
        (!pause.is_zero()).then_some(pause)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_core::Timestamp;
    use std::{
        cell::Cell,
        future::{Future, ready},
        pin::Pin,
        sync::Mutex,
    };

    /// Adds up how long was slept, and does not sleep.
    #[derive(Default)]
    struct Slept(Mutex<Duration>);

    impl Clock for Slept {
        fn now(&self) -> Timestamp {
            Timestamp(0)
        }

        fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
            *self.0.lock().unwrap() += duration;
            Box::pin(ready(()))
        }
    }

    async fn slept(received: usize, under_way: impl Fn() -> usize) -> Duration {
        let clock = Slept::default();
        after_batch(&clock, &CancellationToken::new(), received, under_way).await;
        clock.0.into_inner().unwrap()
    }

    #[tokio::test]
    async fn a_batch_waits_until_less_is_under_way_and_never_long() {
        assert_eq!(slept(100, || UNDER_WAY).await, Duration::ZERO, "little is under way");
        assert_eq!(slept(0, || UNDER_WAY + 1).await, Duration::ZERO, "nothing was received");
        assert_eq!(slept(1, || UNDER_WAY + 1).await, PER_MESSAGE);
        assert_eq!(slept(41, || UNDER_WAY + 1).await, Duration::from_millis(41));
        assert_eq!(slept(usize::MAX, || usize::MAX).await, LONGEST);
        let left = Cell::new(UNDER_WAY + 5);
        let fewer = || left.replace(left.get() - 1);
        assert_eq!(slept(100, fewer).await, LOOK * 5, "it goes on as soon as less is under way");
    }

    #[tokio::test]
    async fn a_stop_ends_the_pause() {
        let (clock, stop) = (galatea_core::SystemClock, CancellationToken::new());
        stop.cancel();
        let looks = Cell::new(0);
        let many = || {
            looks.set(looks.get() + 1);
            usize::MAX
        };
        after_batch(&clock, &stop, 100, many).await;
        assert_eq!(looks.get(), 1, "it did not wait and look again");
    }
}
