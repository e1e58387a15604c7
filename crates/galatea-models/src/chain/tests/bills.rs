//! Tests of what the attempts of a chain cost, and of a limit that stops them.

use super::*;
use crate::retry::{RetryPolicy, Retrying};
use galatea_core::{
    breaker::Phase,
    model::{Bill, LIMIT_CODE, Payer, Spent},
};

/// Counts the failed attempts and admits another one while fewer than `most` have failed.
struct Book {
    most: usize,
    failed: Mutex<Vec<(String, Option<Spent>)>>,
}

impl Payer for Book {
    fn begin(&self, _: &ModelInfo) -> Result<()> {
        if self.failed.lock().unwrap().len() < self.most {
            return Ok(());
        }
        Err(Error::invalid("used up").with_code(LIMIT_CODE))
    }
    fn failed(&self, info: &ModelInfo, spent: Option<Spent>) {
        self.failed.lock().unwrap().push((info.model.clone(), spent));
    }
}

/// Two links of one service whose every attempt breaks after the model began.
async fn broken(most: usize) -> (Error, Vec<(String, Option<Spent>)>) {
    let clock = Arc::new(Jump::default());
    let guarded = |name: &str| {
        let cut = || {
            Error::new(ErrorKind::Unavailable, "the line broke")
                .with_code(codes::CUT)
                .with_sent(Sent::Maybe)
        };
        let breaker = SharedBreaker::new("x", limits(TOTAL), EventBus::default(), clock.now());
        let guarded =
            Guarded::new(bad(name, cut), Arc::new(breaker), ALLOWED, false, clock.clone() as _);
        let policy = RetryPolicy { patience: Some(PATIENCE), ..RetryPolicy::default() };
        Link {
            name: name.into(),
            site: "s".into(),
            key: 1,
            model: Arc::new(Retrying::new(
                Arc::new(guarded),
                policy,
                Arc::default(),
                clock.clone() as _,
            )),
        }
    };
    let chain = Chain::new(guarded("a"), vec![guarded("b")], TOTAL, clock.clone());
    let book = Arc::new(Book { most, failed: Mutex::default() });
    let bill = Bill::to(Arc::clone(&book) as _);
    let request = TextRequest { bill, ..TextRequest::prompt(None, "hi") };
    let error = chain.generate(&request, &|_| ()).await.unwrap_err();
    let failed = book.failed.lock().unwrap().clone();
    (error, failed)
}

#[tokio::test]
async fn each_attempt_that_may_be_charged_stands_on_the_bill() {
    let (error, failed) = broken(usize::MAX).await;
    assert_eq!(error.code(), Some(codes::CUT));
    let of = |name: &str| failed.iter().filter(|(model, _)| model == name).count();
    assert_eq!((of("a"), of("b")), (3, 3));
}

#[tokio::test]
async fn a_limit_that_the_first_attempt_used_up_stops_the_others() {
    let (error, failed) = broken(1).await;
    assert_eq!((error.code(), failed.len()), (Some(codes::CUT), 1), "{error:?}");
}

#[tokio::test]
async fn a_limits_refusal_is_no_answer_of_the_model() {
    let clock = Arc::<Jump>::default();
    let breaker = SharedBreaker::new("x", limits(TOTAL), EventBus::default(), clock.now());
    let breaker = Arc::new(breaker);
    let first = bad("a", fault);
    let model =
        Guarded::new(first.clone(), Arc::clone(&breaker), ALLOWED, false, clock.clone() as _);
    let refusing = Bill::to(Arc::new(Book { most: 0, failed: Mutex::default() }) as _);
    let ask = async |bill: &Bill| {
        let request = TextRequest { bill: bill.clone(), ..TextRequest::prompt(None, "hi") };
        model.generate(&request, &|_| ()).await.unwrap_err().code()
    };
    for _ in 0..5 {
        assert_eq!(ask(&refusing).await, Some(LIMIT_CODE));
        assert_eq!(ask(&Bill::default()).await, Some(codes::FAULT));
    }
    assert_eq!(breaker.state().phase, Phase::Open, "five failures in a row");
    *clock.0.lock().unwrap() += 10_000;
    for _ in 0..3 {
        assert_eq!(ask(&refusing).await, Some(LIMIT_CODE));
    }
    assert_eq!(ask(&Bill::default()).await, Some(codes::FAULT), "a probe");
    assert_eq!((breaker.state().phase, calls(&first)), (Phase::Open, 6));
}
