//! Threads that read: how many there are, how they end, and what they read ahead.

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
        threads.run(move |_| held.lock().unwrap().recv().is_ok())
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

/// Work that counts down; it ends when nothing is left.
fn countdown(from: u32, done: &mpsc::Sender<u32>) -> impl FnMut(&mut Raw<'_>) -> bool + use<> {
    let (done, mut left) = (done.clone(), from);
    move |_| {
        left -= 1;
        done.send(left).unwrap();
        left > 0
    }
}

#[tokio::test]
async fn a_thread_reads_ahead_while_no_search_comes() {
    let threads = threads(1, LONG);
    let (done, steps) = mpsc::channel();
    let (release, held) = mpsc::channel::<()>();
    let searching = threads.run(move |_| held.recv().is_ok());
    let asking = async {
        while threads.shared.state().busy == 0 {
            tokio::task::yield_now().await;
        }
        threads.ahead(countdown(2, &done));
        threads.ahead(countdown(3, &done));
        release.send(()).unwrap();
    };
    assert!(tokio::join!(searching, asking).0.unwrap());
    let steps = tokio::task::spawn_blocking(move || {
        [(); 5].map(|()| steps.recv_timeout(Duration::from_secs(60)).unwrap())
    });
    assert_eq!(steps.await.unwrap(), [2, 1, 0, 1, 0], "the newest first, and one after another");
    threads.close().await;
}

#[tokio::test]
async fn work_that_panics_is_dropped_and_searches_go_on() {
    let threads = threads(1, LONG);
    let (held, dropped) = mpsc::channel::<()>();
    threads.run(|_| ()).await.unwrap();
    threads.ahead(move |_| {
        let _held = &held;
        panic!("a fault")
    });
    let ended = tokio::task::spawn_blocking(move || dropped.recv_timeout(LONG));
    assert_eq!(ended.await.unwrap(), Err(mpsc::RecvTimeoutError::Disconnected));
    assert_eq!(threads.run(|raw| raw.number("SELECT 3")).await.unwrap().unwrap(), Some(3));
    threads.close().await;
}

#[test]
fn a_search_comes_before_what_is_read_ahead() {
    let begun = Instant::now();
    let after = |millis: u64| begun + Duration::from_millis(millis);
    let mut state = State { last: Some(begun), ..State::default() };
    let next = |state: &mut State, millis| state.next(after(millis), Duration::from_millis(50));
    assert!(matches!(next(&mut state, 100), Next::Wait(None)), "there is nothing to do");
    state.ahead.push_back(Box::new(|_| false));
    let Next::Wait(Some(left)) = next(&mut state, 20) else { panic!("a search came 20 ms ago") };
    assert_eq!(left, Duration::from_millis(30));
    state.busy = 1;
    assert!(matches!(next(&mut state, 100), Next::Wait(None)), "a search is under way");
    state.busy = 0;
    state.jobs.push_back(Box::new(|_, _| ()));
    assert!(matches!(next(&mut state, 100), Next::Do(Task::Search(_))));
    state.busy = 0;
    assert!(matches!(next(&mut state, 100), Next::Do(Task::Ahead(_))));
    assert_eq!((state.busy, state.ahead.len()), (1, 0));
}

#[tokio::test]
async fn what_would_be_read_ahead_is_bounded_and_left_out_at_the_end() {
    let threads = threads(1, LONG);
    let (done, steps) = mpsc::channel();
    for n in 0..2 {
        threads.ahead(countdown(n + 1, &done));
    }
    for _ in 0..AHEAD {
        threads.ahead(|_| false);
    }
    assert_eq!(threads.shared.state().ahead.len(), AHEAD);
    drop(done);
    assert!(steps.try_recv() == Err(mpsc::TryRecvError::Disconnected), "the oldest are dropped");
    let (done, steps) = mpsc::channel();
    threads.ahead(countdown(1, &done));
    threads.close().await;
    threads.ahead(countdown(1, &done));
    drop(done);
    assert!(steps.recv().is_err(), "its work is dropped");
}
