//! Threads that read: how many there are, and how they end.

use super::*;
use std::sync::mpsc;

fn threads(most: u32, idle: Duration) -> Threads {
    Threads::new(SqliteConnectOptions::new().in_memory(true), most, idle)
}

fn open(threads: &Threads) -> usize {
    threads.shared.state().open
}

const LONG: Duration = Duration::from_secs(600);

#[tokio::test]
async fn one_thread_does_what_comes_one_after_another() {
    let threads = threads(4, LONG);
    for _ in 0..20 {
        let one = threads.run(|raw| raw.number("SELECT 1")).await.unwrap();
        assert_eq!(one.unwrap(), Some(1));
    }
    assert_eq!(open(&threads), 1);
    threads.close().await;
    assert_eq!(open(&threads), 0);
    assert!(threads.run(|_| ()).await.is_err());
}

#[tokio::test]
async fn work_beside_other_work_has_another_thread_up_to_the_most() {
    let threads = threads(2, LONG);
    let (release, held) = mpsc::channel::<()>();
    let held = Arc::new(Mutex::new(held));
    let hold = |held: &Arc<Mutex<mpsc::Receiver<()>>>| {
        let held = Arc::clone(held);
        threads.run(move |_| held.lock().recv().is_ok())
    };
    let all = async { tokio::join!(hold(&held), hold(&held), hold(&held)) };
    let let_go = async {
        while threads.shared.state().jobs.len() != 1 || open(&threads) != 2 {
            tokio::task::yield_now().await;
        }
        for _ in 0..3 {
            release.send(()).unwrap();
        }
    };
    let ((a, b, c), ()) = tokio::join!(all, let_go);
    assert!([a, b, c].into_iter().all(|done| done.unwrap()));
    assert_eq!(open(&threads), 2);
}

#[tokio::test]
async fn a_thread_ends_when_it_has_nothing_to_do_and_another_is_started() {
    let threads = threads(1, Duration::from_millis(1));
    for _ in 0..50 {
        threads.run(|_| ()).await.unwrap();
        while open(&threads) > 0 {
            tokio::task::yield_now().await;
        }
    }
    // Work that comes while a thread ends is not lost.
    for n in 0..200 {
        threads.run(|_| ()).await.unwrap();
        if n % 3 == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

#[tokio::test]
async fn a_panic_ends_one_search_only() {
    let threads = threads(1, LONG);
    let panicked: Result<()> = threads.run(|_| panic!("a fault")).await;
    assert!(panicked.is_err());
    while open(&threads) > 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(threads.run(|raw| raw.number("SELECT 2")).await.unwrap().unwrap(), Some(2));
}

#[tokio::test]
async fn a_search_that_waits_behind_a_panic_is_done_by_another_thread() {
    let threads = threads(1, LONG);
    let (release, held) = mpsc::channel::<()>();
    let faulty = threads.run::<()>(move |_| {
        held.recv().unwrap();
        panic!("a fault")
    });
    let waiting = threads.run(|raw| raw.number("SELECT 4"));
    let let_go = async {
        while threads.shared.state().busy != 1 || threads.shared.state().jobs.len() != 1 {
            tokio::task::yield_now().await;
        }
        release.send(()).unwrap();
    };
    let (panicked, done, ()) = tokio::join!(faulty, waiting, let_go);
    assert!(panicked.is_err());
    assert_eq!(done.unwrap().unwrap(), Some(4));
}

#[tokio::test]
async fn a_search_whose_caller_went_away_is_left_out() {
    let threads = threads(1, LONG);
    let (release, held) = mpsc::channel::<()>();
    let (did, done) = mpsc::channel();
    let first = threads.run(move |_| held.recv().is_ok());
    let mut gone = Box::pin(threads.run(move |_| did.send(()).is_ok()));
    let leave = async {
        assert!(futures::poll!(&mut gone).is_pending());
        drop(gone);
        release.send(()).unwrap();
    };
    let (first, ()) = tokio::join!(first, leave);
    assert!(first.unwrap());
    assert_eq!(threads.run(|raw| raw.number("SELECT 5")).await.unwrap().unwrap(), Some(5));
    assert!(done.recv().is_err(), "it was dropped and not done");
    assert_eq!(threads.places.available_permits(), WAITING, "its place is free");
}

#[tokio::test]
async fn the_file_that_cannot_be_opened_is_reported_to_each_caller() {
    let missing = SqliteConnectOptions::new().filename("/nonexistent/galatea.db");
    let threads = Threads::new(missing, 2, LONG);
    for _ in 0..3 {
        assert!(threads.run(|_| ()).await.is_err());
    }
    let reported = tokio::join!(threads.run(|_| ()), threads.run(|_| ()), threads.run(|_| ()));
    for report in [reported.0, reported.1, reported.2] {
        assert_eq!(report.unwrap_err().kind(), ErrorKind::Unavailable);
    }
    threads.close().await;
}
