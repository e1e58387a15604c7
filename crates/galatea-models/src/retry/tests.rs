//! Tests of retries: for which failures, how often, and after what wait.

use super::*;
use galatea_core::{
    Retry, SystemClock,
    model::{OnText, TextAnswer},
};
use std::{
    pin::Pin,
    sync::{
        Mutex,
        atomic::{AtomicU32, AtomicUsize},
    },
};

/// A clock that advances only by sleeping, and records each sleep. Deadlines longer than `patience`
/// never pass.
struct Jump {
    now: Mutex<Timestamp>,
    sleeps: Mutex<Vec<Duration>>,
    patience: Duration,
}

impl Jump {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            now: Mutex::new(Timestamp(0)),
            sleeps: Mutex::default(),
            patience: Duration::from_secs(100),
        })
    }
}

impl Clock for Jump {
    fn now(&self) -> Timestamp {
        *self.now.lock().unwrap()
    }
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        if duration > self.patience {
            return Box::pin(std::future::pending());
        }
        self.sleeps.lock().unwrap().push(duration);
        let mut now = self.now.lock().unwrap();
        *now = now.plus(duration);
        Box::pin(std::future::ready(()))
    }
}

struct Flaky {
    info: ModelInfo,
    fails: u32,
    calls: AtomicU32,
    error: fn() -> Error,
    show_first: bool,
}

impl Flaky {
    fn new(fails: u32, error: fn() -> Error) -> Arc<Self> {
        let info = ModelInfo { provider: "p".into(), model: "m".into(), ..ModelInfo::default() };
        Arc::new(Self { info, fails, calls: AtomicU32::new(0), error, show_first: false })
    }
}

#[async_trait]
impl TextModel for Flaky {
    fn info(&self) -> &ModelInfo {
        &self.info
    }
    async fn generate(&self, _: &TextRequest, on_text: &OnText<'_>) -> Result<TextAnswer> {
        if self.show_first {
            on_text("begun");
        }
        if self.calls.fetch_add(1, Ordering::SeqCst) < self.fails {
            Err((self.error)())
        } else {
            Ok(TextAnswer { text: "ok".into(), ..TextAnswer::default() })
        }
    }
}

fn unavailable() -> Error {
    Error::new(ErrorKind::Unavailable, "down")
}

async fn ask(model: &Arc<Flaky>, clock: Arc<dyn Clock>) -> Result<TextAnswer> {
    Retrying::new(model.clone(), RetryPolicy::default(), Arc::default(), clock)
        .generate(&TextRequest::default(), &|_| ())
        .await
}

#[tokio::test]
async fn three_attempts_with_growing_bounds() {
    let (clock, model) = (Jump::new(), Flaky::new(2, unavailable));
    assert_eq!(ask(&model, clock.clone()).await.unwrap().text, "ok");
    let sleeps = clock.sleeps.lock().unwrap().clone();
    assert_eq!(sleeps.len(), 2);
    assert!(
        sleeps[0] <= Duration::from_millis(500) && sleeps[1] <= Duration::from_secs(1),
        "{sleeps:?}"
    );

    let model = Flaky::new(9, unavailable);
    assert_eq!(ask(&model, Jump::new()).await.unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!(model.calls.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn hopeless_failures_are_not_repeated() {
    let model =
        Flaky::new(9, || Error::new(ErrorKind::RateLimited, "money").with_retry(Retry::Never));
    assert!(ask(&model, Jump::new()).await.is_err());
    assert_eq!(model.calls.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_servers_wish_is_the_least_wait() {
    let (clock, model) = (
        Jump::new(),
        Flaky::new(1, || unavailable().with_retry(Retry::After(Duration::from_secs(20)))),
    );
    ask(&model, clock.clone()).await.unwrap();
    let sleeps = clock.sleeps.lock().unwrap().clone();
    assert!(
        matches!(sleeps[..], [wait] if wait >= Duration::from_secs(20) && wait <= Duration::from_millis(20_500)),
        "a little later: {sleeps:?}"
    );
}

#[tokio::test]
async fn a_wait_beyond_the_deadline_is_not_begun() {
    let (clock, model) = (
        Jump::new(),
        Flaky::new(1, || unavailable().with_retry(Retry::After(Duration::from_secs(121)))),
    );
    let error = ask(&model, clock.clone()).await.unwrap_err();
    assert_eq!(
        error.retry(),
        Retry::After(Duration::from_secs(121)),
        "later callers get the remaining wait"
    );
    assert!(clock.sleeps.lock().unwrap().is_empty());
}

#[tokio::test]
async fn nothing_is_repeated_once_shown() {
    let mut model = Flaky::new(1, unavailable);
    Arc::get_mut(&mut model).unwrap().show_first = true;
    let shown = AtomicUsize::new(0);
    let on_text = |_: &str| {
        shown.fetch_add(1, Ordering::SeqCst);
    };
    let result = Retrying::new(model, RetryPolicy::default(), Arc::default(), Jump::new())
        .generate(&TextRequest::default(), &on_text)
        .await;
    assert!(result.is_err());
    assert_eq!(shown.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn the_deadline_ends_a_model_that_never_answers() {
    struct Silent(ModelInfo);
    #[async_trait]
    impl TextModel for Silent {
        fn info(&self) -> &ModelInfo {
            &self.0
        }
        async fn generate(&self, _: &TextRequest, _: &OnText<'_>) -> Result<TextAnswer> {
            std::future::pending().await
        }
    }
    let info = ModelInfo { provider: "p".into(), model: "m".into(), ..ModelInfo::default() };
    let policy = RetryPolicy { total: Duration::from_millis(20), ..RetryPolicy::default() };
    let error =
        Retrying::new(Arc::new(Silent(info)), policy, Arc::default(), Arc::new(SystemClock))
            .generate(&TextRequest::default(), &|_| ())
            .await
            .unwrap_err();
    assert_eq!(error.code(), Some(codes::TIMEOUT));
}

/// Each of 200 waits is in the upper half of its range with a chance of one half, so that a wrong
/// verdict is as likely as 200 equal tosses of a coin.
#[test]
fn waits_are_spread_from_zero_to_a_ceiling_that_doubles() {
    let jitter = || FullJitter {
        left: 7,
        ceilings: Backoff::new(Duration::from_millis(500), Duration::from_secs(8)),
    };
    let runs: Vec<Vec<Duration>> = (0..200).map(|_| jitter().collect()).collect();
    assert!(runs.iter().all(|waits| waits.len() == 7), "one wait for each retry");
    for (retry, ceiling) in [500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000].into_iter().enumerate()
    {
        let ceiling = Duration::from_millis(ceiling);
        let waits: Vec<_> = runs.iter().map(|waits| waits[retry]).collect();
        assert!(waits.iter().all(|wait| *wait <= ceiling), "{ceiling:?}: {waits:?}");
        assert!(waits.iter().any(|wait| *wait > ceiling / 2), "{ceiling:?}: {waits:?}");
        assert!(waits.iter().any(|wait| *wait < ceiling / 2), "{ceiling:?}: {waits:?}");
    }
}
