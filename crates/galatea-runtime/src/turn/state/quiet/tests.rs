//! Which turn of a Room is handed out, and when.

use super::*;
use futures::{StreamExt, stream::FuturesUnordered};
use std::{
    future,
    sync::atomic::{AtomicI64, Ordering},
};
use uuid::Uuid;

const PAUSE: Duration = Duration::from_secs(10);

/// A clock that is set by hand. Sleeps on it never end.
struct Hand(AtomicI64);

impl Hand {
    fn new() -> Self {
        Self(AtomicI64::new(1_767_225_600_000))
    }
    fn turn(&self, seconds: i64) {
        self.0.fetch_add(seconds * 1000, Ordering::Relaxed);
    }
}

impl Clock for Hand {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Relaxed))
    }
    fn sleep(&self, _: Duration) -> BoxFuture<'_, ()> {
        Box::pin(future::pending())
    }
}

fn room(n: u128) -> RoomId {
    RoomId(Uuid::from_u128(n))
}

fn waiting(quiet: &Quiet<u32>) -> usize {
    quiet.shared.lock().len()
}

#[tokio::test]
async fn the_newest_turn_is_taken_once_the_room_is_quiet() {
    let (quiet, clock) = (Quiet::new(CancellationToken::new()), Hand::new());
    let watch = quiet.offer(room(1), 1, &clock, PAUSE).unwrap();
    clock.turn(9);
    assert!(quiet.offer(room(1), 2, &clock, PAUSE).is_none(), "it has a watch");
    clock.turn(9);
    assert_eq!(watch.left(&clock), Some(Duration::from_secs(1)));
    clock.turn(1);
    assert_eq!(watch.next(&clock).await, Some(2));
    assert_eq!(watch.newest(&clock), None);
    quiet.offer(room(1), 3, &clock, PAUSE);
    assert_eq!(watch.newest(&clock), Some(3), "answered while the Room is evaluated");
    assert_eq!(watch.next(&clock).await, None);
    assert_eq!(waiting(&quiet), 0);
}

#[tokio::test]
async fn a_watch_that_ended_leaves_the_next_one_alone() {
    let (quiet, clock) = (Quiet::new(CancellationToken::new()), Hand::new());
    let first = quiet.offer(room(1), 1, &clock, Duration::ZERO).unwrap();
    assert_eq!(first.next(&clock).await, Some(1));
    assert_eq!(first.next(&clock).await, None);
    let second = quiet.offer(room(1), 2, &clock, Duration::ZERO).unwrap();
    drop(first);
    assert_eq!(second.next(&clock).await, Some(2));
    drop(second);
    assert_eq!(waiting(&quiet), 0, "as after a panic");
}

#[tokio::test]
async fn a_clock_that_is_set_back_ends_the_pause() {
    let (quiet, clock) = (Quiet::new(CancellationToken::new()), Hand::new());
    let watch = quiet.offer(room(1), 1, &clock, PAUSE).unwrap();
    clock.turn(-3600);
    assert_eq!(watch.next(&clock).await, Some(1));
}

#[tokio::test]
async fn rooms_that_wait_and_rooms_that_are_evaluated_are_bounded() {
    let (quiet, clock) = (Quiet::new(CancellationToken::new()), Hand::new());
    let mut watches: Vec<_> = (0..ROOMS as u128)
        .map(|n| quiet.offer(room(n), 1, &clock, Duration::ZERO).unwrap())
        .collect();
    assert!(quiet.offer(room(9_999), 1, &clock, PAUSE).is_none());
    watches.pop();
    assert!(quiet.offer(room(9_999), 1, &clock, PAUSE).is_some());
    let mut permits = Vec::new();
    for watch in &watches[..AT_ONCE] {
        permits.push(watch.permit().await.unwrap());
    }
    assert_eq!(quiet.shared.permits.available_permits(), 0);
}

#[tokio::test]
async fn only_some_rooms_are_looked_at_at_once() {
    let (stop, clock) = (CancellationToken::new(), Hand::new());
    let quiet = Quiet::<u32>::new(stop.clone());
    let watches: Vec<_> =
        (0..20).map(|n| quiet.offer(room(n), 1, &clock, Duration::ZERO).unwrap()).collect();
    let looked = Arc::new(AtomicI64::new(0));
    let looks = watches.iter().map(|watch| {
        let looked = Arc::clone(&looked);
        let look: Look = Box::pin(async move {
            looked.fetch_add(1, Ordering::Relaxed);
            future::pending().await
        });
        watch.look(look)
    });
    let mut looks: FuturesUnordered<_> = looks.collect();
    assert!(futures::poll!(looks.next()).is_pending());
    assert_eq!(looked.load(Ordering::Relaxed), LOOKS as i64);
    stop.cancel();
    for _ in LOOKS..20 {
        assert!(looks.next().await.unwrap().is_none(), "it has not begun");
    }
}

#[tokio::test]
async fn a_stop_ends_every_wait() {
    let (stop, clock) = (CancellationToken::new(), Hand::new());
    let quiet = Quiet::new(stop.clone());
    let watch = quiet.offer(room(1), 1, &clock, PAUSE).unwrap();
    let ends = async {
        tokio::task::yield_now().await;
        stop.cancel();
    };
    assert_eq!(tokio::join!(watch.next(&clock), ends).0, None);
    assert!(watch.permit().await.is_none());
    drop(watch);
    assert_eq!(waiting(&quiet), 0);
}
