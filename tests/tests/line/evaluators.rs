//! When evaluators run: some after every turn, others when the room is quiet, and neither keeps the
//! program from stopping.

use async_trait::async_trait;
use galatea_core::{Clock, Evaluator, EvaluatorUse, FinishedTurn, Plugin, Result, SystemClock};
use galatea_testkit::{clock::ManualClock, models::ScriptedModel};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::sync::Semaphore;

use crate::{
    house::{House, Plan, Spot, dm},
    platform::PATIENCE,
};

/// Remembers the questions of the turns it was called with.
struct Student {
    when: EvaluatorUse,
    wants: fn(&str) -> bool,
    learnt: Learnt,
    asked: Arc<AtomicUsize>,
    /// Number of turns that it may learn from.
    places: Arc<Semaphore>,
}

#[async_trait]
impl Evaluator for Student {
    fn name(&self) -> &'static str {
        "STUDENT"
    }
    fn description(&self) -> &'static str {
        "Remembers questions"
    }
    fn when(&self) -> EvaluatorUse {
        self.when
    }
    async fn validate(&self, finished: &FinishedTurn<'_>) -> Result<bool> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        Ok((self.wants)(&finished.turn.message.content.text))
    }
    async fn evaluate(&self, finished: &FinishedTurn<'_>) -> Result<()> {
        assert_eq!(finished.replies.len(), 1);
        self.learnt.lock().unwrap().push(finished.turn.message.content.text.clone());
        self.places.acquire().await.unwrap().forget();
        Ok(())
    }
}

type Learnt = Arc<Mutex<Vec<String>>>;

async fn school(
    clock: Arc<dyn Clock>,
    when: EvaluatorUse,
    pause: &'static str,
    wants: fn(&str) -> bool,
) -> (House, Learnt, Arc<AtomicUsize>) {
    let places = Arc::new(Semaphore::new(1_000));
    school_with(clock, when, pause, wants, places).await
}

async fn school_with(
    clock: Arc<dyn Clock>,
    when: EvaluatorUse,
    pause: &'static str,
    wants: fn(&str) -> bool,
    places: Arc<Semaphore>,
) -> (House, Learnt, Arc<AtomicUsize>) {
    let (learnt, asked) = (Learnt::default(), Arc::default());
    let student =
        Student { when, wants, learnt: Arc::clone(&learnt), asked: Arc::clone(&asked), places };
    let plan = Plan::new(Arc::new(ScriptedModel::saying("Yes.")))
        .set("EVALUATION_PAUSE_SECONDS", pause)
        .set("LIMITS", "off")
        .clock(clock)
        .plugin(Plugin::new("school", "1.0.0", "learns").evaluator(student));
    (plan.build().await, learnt, asked)
}

async fn ask(house: &House, at: &Spot, questions: std::ops::RangeInclusive<usize>) {
    for n in questions {
        house.say(at, &format!("question {n}")).await;
        house.quiet().await;
    }
}

/// Waits until so many turns were evaluated.
async fn evaluated(learnt: &Learnt, count: usize) -> Vec<String> {
    let wait = async {
        loop {
            let now = learnt.lock().unwrap().clone();
            if now.len() >= count {
                return now;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.expect("not evaluated")
}

#[tokio::test]
async fn after_a_turn_means_after_each_that_it_wants() {
    let (house, learnt, asked) =
        school(Arc::new(SystemClock), EvaluatorUse::AfterTurn, "3600", |text| !text.ends_with('2'))
            .await;
    ask(&house, &dm("1"), 1..=3).await;
    assert_eq!(evaluated(&learnt, 2).await, ["question 1", "question 3"]);
    assert_eq!(asked.load(Ordering::Relaxed), 3);
}

#[tokio::test]
async fn a_quiet_room_is_evaluated_with_its_newest_turn() {
    let (house, learnt, _) =
        school(Arc::new(SystemClock), EvaluatorUse::WhenQuiet, "0", |_| true).await;
    ask(&house, &dm("1"), 1..=3).await;
    evaluated(&learnt, 1).await;
    let wait = async {
        while learnt.lock().unwrap().last().map(String::as_str) != Some("question 3") {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.expect("the newest turn is not evaluated");
    assert!(learnt.lock().unwrap().is_sorted());
}

#[tokio::test]
async fn a_busy_room_is_evaluated_now_and_then_and_a_stop_does_not_wait_for_it() {
    let clock = ManualClock::new();
    let (house, learnt, asked) =
        school(clock.shared(), EvaluatorUse::WhenQuiet, "3600", |_| true).await;
    let half_a_minute = Duration::from_secs(30);
    ask(&house, &dm("2"), 1..=1).await;
    ask(&house, &dm("1"), 1..=1).await;
    clock.advance(half_a_minute);
    ask(&house, &dm("1"), 2..=23).await;
    assert_eq!(learnt.lock().unwrap().len(), 0, "time, but not enough turns");
    ask(&house, &dm("1"), 24..=24).await;
    assert_eq!(evaluated(&learnt, 1).await, ["question 24"]);
    ask(&house, &dm("1"), 25..=60).await;
    assert_eq!(learnt.lock().unwrap().len(), 1, "turns, but not enough time");
    clock.advance(half_a_minute);
    ask(&house, &dm("1"), 61..=61).await;
    assert_eq!(evaluated(&learnt, 2).await, ["question 24", "question 61"]);
    ask(&house, &dm("1"), 62..=63).await;
    assert!(house.orchestrator.stop(PATIENCE).await, "it ends although two rooms wait");
    assert_eq!(learnt.lock().unwrap().len(), 2);
    assert_eq!(asked.load(Ordering::Relaxed), 2, "only when it would run");
}

#[tokio::test]
async fn a_room_is_quiet_a_while_after_its_last_turn() {
    let clock = ManualClock::new();
    let (house, learnt, asked) =
        school(clock.shared(), EvaluatorUse::WhenQuiet, "10", |text| text.ends_with('3')).await;
    for n in 1..=3 {
        ask(&house, &dm("1"), n..=n).await;
        clock.advance(Duration::from_secs(9));
        house.quiet().await;
    }
    assert_eq!(asked.load(Ordering::Relaxed), 0, "never quiet for 10 s");
    clock.advance(Duration::from_secs(1));
    assert_eq!(evaluated(&learnt, 1).await, ["question 3"]);
    assert_eq!(asked.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn rooms_with_nothing_to_learn_need_no_place_and_a_wanted_turn_is_not_lost() {
    let (when, places) = (EvaluatorUse::WhenQuiet, Arc::new(Semaphore::new(0)));
    let wants = |text: &str| !text.ends_with('3');
    let clock = Arc::new(SystemClock);
    let (house, learnt, asked) = school_with(clock, when, "0", wants, Arc::clone(&places)).await;
    let asked_so_often = async |count| {
        let wait = async {
            while asked.load(Ordering::Relaxed) < count {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::time::timeout(PATIENCE, wait).await.expect("it is not asked");
    };
    for person in ["1", "2", "3", "4"] {
        ask(&house, &dm(person), 1..=1).await;
    }
    evaluated(&learnt, 4).await;
    ask(&house, &dm("5"), 1..=1).await;
    asked_so_often(5).await;
    ask(&house, &dm("6"), 3..=3).await;
    asked_so_often(6).await;
    ask(&house, &dm("7"), 1..=1).await;
    asked_so_often(7).await;
    ask(&house, &dm("5"), 2..=2).await;
    ask(&house, &dm("7"), 3..=3).await;
    places.add_permits(6);
    let mut learnt = evaluated(&learnt, 6).await.split_off(4);
    learnt.sort();
    assert_eq!(learnt, ["question 1", "question 2"], "question 3 teaches nothing");
    assert_eq!(asked.load(Ordering::Relaxed), 9);
}
