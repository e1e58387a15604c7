//! Measures how long rooms wait for answers when processes are killed, paused, added and replaced
//! under constant load. `cargo xtask long` runs it in CI with four rooms, `cargo xtask cluster` with
//! forty and the release binary. The test fails only when answers are lost, repeated or out of
//! order; it prints the times.

use galatea_testkit::process::Running;
use std::{
    cell::RefCell,
    time::{Duration, Instant},
};

use super::crowd::{Crowd, Node};

/// Length of the pause of a process: longer than a lease.
const PAUSED: Duration = Duration::from_secs(9);

/// Number of rooms on both platforms together, and the quiet time before and after the event of a
/// phase.
fn measure() -> (usize, Duration) {
    match std::env::var("GALATEA_CLUSTER_ROOMS").ok().and_then(|rooms| rooms.parse().ok()) {
        Some(rooms) => (rooms, Duration::from_secs(3)),
        None => (4, Duration::from_millis(500)),
    }
}

/// A step of a phase: its time, and its action, which returns false while it is too early.
type Step<'a> = (Duration, Box<dyn FnMut(&Crowd) -> bool + 'a>);

fn is_ready(node: &Node) -> bool {
    node.running.output().contains("ready in")
}

/// A step that acts on a process.
fn does<'a>(node: &'a Node, what: fn(&Running)) -> Box<dyn FnMut(&Crowd) -> bool + 'a> {
    Box::new(move |_| {
        what(&node.running);
        true
    })
}

/// A step that starts another process.
fn begins<'a>(
    fresh: &'a RefCell<Vec<Node>>,
    role: &'static str,
) -> Box<dyn FnMut(&Crowd) -> bool + 'a> {
    Box::new(move |crowd| {
        fresh.borrow_mut().push(crowd.begin(role));
        true
    })
}

/// A step that stops a process once its successor is ready.
fn gives_way<'a>(
    fresh: &'a RefCell<Vec<Node>>,
    node: &'a Node,
) -> Box<dyn FnMut(&Crowd) -> bool + 'a> {
    Box::new(move |_| {
        let ready = fresh.borrow().last().is_some_and(is_ready);
        if ready {
            node.running.terminate();
        }
        ready
    })
}

/// Time between two questions in a room: platforms allow an account one message per second there.
const PACE: Duration = Duration::from_millis(1_500);

/// Runs a phase and prints its line of the table. Each step happens right before a question is
/// asked in every room, so that the whole wait is measured.
async fn phase(crowd: &mut Crowd, what: &str, lasts: Duration, mut steps: Vec<Step<'_>>) {
    let begun = Instant::now();
    let (mut asked, mut waits) = (Vec::<Instant>::new(), Vec::new());
    let first = crowd.asked();
    let mut seen: Vec<usize> = crowd.answered();
    loop {
        let now = begun.elapsed();
        let goes_on = now < lasts || !steps.is_empty();
        if goes_on && asked.last().is_none_or(|last| last.elapsed() >= PACE) {
            if let Some((at, step)) = steps.first_mut()
                && *at <= now
                && step(crowd)
            {
                drop(steps.remove(0));
            }
            asked.push(Instant::now());
            crowd.ask();
        }
        for (room, answered) in crowd.answered().into_iter().enumerate() {
            for n in seen[room]..answered {
                waits.push(asked[n - first].elapsed());
            }
            seen[room] = answered;
        }
        if !goes_on && seen.iter().all(|answered| *answered == crowd.asked()) {
            break;
        }
        assert!(now < Duration::from_secs(180), "unanswered questions in {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    waits.sort_unstable();
    let at = |percent: usize| waits[(waits.len() * percent).div_ceil(100).max(1) - 1].as_secs_f64();
    eprintln!(
        "| {what} | {} | {:.2} s | {:.2} s | {:.2} s |",
        waits.len(),
        at(50),
        at(99),
        at(100)
    );
    crowd.is_all_answered().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "takes minutes; `cargo xtask long` runs it, in CI after the other tests"]
async fn rooms_are_silent_no_longer_than_a_lease() {
    let (rooms, around) = measure();
    let mut crowd = Crowd::of(rooms.div_ceil(2)).await;
    crowd.discord.allow_violation("no heartbeat within its interval");
    let mut ingress = vec![crowd.node("ingress").await, crowd.node("ingress").await];
    let mut workers = vec![crowd.node("worker").await, crowd.node("worker").await];
    crowd.discord.wait_connected(1).await;
    crowd
        .wait_status("every agent at work", |status| status["idle"] == serde_json::json!([]))
        .await;
    eprintln!(
        "| what happens | questions | half wait at most | 99 % | longest |\n|---|---|---|---|---|"
    );
    phase(&mut crowd, "nothing", around * 2, Vec::new()).await;

    let fresh = RefCell::default();
    let steps = vec![(around, begins(&fresh, "worker")), (around * 2, begins(&fresh, "worker"))];
    phase(&mut crowd, "two workers are added to two", around * 4, steps).await;
    workers.extend(fresh.take());

    let steps = vec![
        (around, does(&workers[0], Running::terminate)),
        (around * 2, does(&workers[1], Running::terminate)),
    ];
    phase(&mut crowd, "two of four workers stop", around * 3, steps).await;
    for mut stopped in workers.drain(..2) {
        assert_eq!(stopped.running.finish().await.code, Some(0));
    }

    let steps = vec![
        (around, begins(&fresh, "worker")),
        (around * 2, gives_way(&fresh, &workers[0])),
        (around * 3, begins(&fresh, "worker")),
        (around * 4, gives_way(&fresh, &workers[1])),
        (around * 5, begins(&fresh, "ingress")),
        (around * 6, gives_way(&fresh, &ingress[0])),
        (around * 7, begins(&fresh, "ingress")),
        (around * 8, gives_way(&fresh, &ingress[1])),
    ];
    phase(&mut crowd, "all four processes are replaced, one by one", around * 10, steps).await;
    for mut stopped in workers.drain(..).chain(ingress.drain(..)) {
        assert_eq!(stopped.running.finish().await.code, Some(0));
    }

    let nodes = fresh.take();
    let [worker, other_worker, connector, other_connector] = &nodes[..] else {
        panic!("four processes")
    };
    phase(
        &mut crowd,
        "`kill -9` of a worker",
        around * 3,
        vec![(around, does(worker, Running::kill_now))],
    )
    .await;
    let third = crowd.node("worker").await;
    phase(
        &mut crowd,
        "`kill -9` of a connector",
        around * 3,
        vec![(around, does(connector, Running::kill_now))],
    )
    .await;
    let second = crowd.node("ingress").await;
    let pauses = |node| {
        vec![(around, does(node, Running::freeze)), (around + PAUSED, does(node, Running::thaw))]
    };
    phase(&mut crowd, "a worker is paused for 9 s", around + PAUSED + around, pauses(other_worker))
        .await;
    phase(
        &mut crowd,
        "a connector is paused for 9 s",
        around + PAUSED + around,
        pauses(other_connector),
    )
    .await;
    crowd.is_accounted_for().await;
    drop((nodes, third, second));
}
