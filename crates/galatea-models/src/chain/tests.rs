//! Tests of the order in which links are asked, of skipped links, and of the final error.

use super::*;
use galatea_core::{
    EventBus,
    model::{ChatMessage, ChatRole, ToolSpec},
    shared_breaker::SharedBreaker,
};
use std::{
    pin::Pin,
    sync::{Mutex, atomic::AtomicU32},
};

use crate::guarded::{Allowed, Guarded, limits};

const TOTAL: Duration = Duration::from_secs(120);
const ALLOWED: Allowed = Allowed { total: TOTAL, fair: Duration::from_secs(30) };

/// A clock that advances only by sleeping. Sleeps of a minute or more never end, as no call in
/// these tests takes so long.
#[derive(Default)]
struct Jump(Mutex<i64>);

impl Clock for Jump {
    fn now(&self) -> Timestamp {
        Timestamp(*self.0.lock().unwrap())
    }
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        if duration >= Duration::from_secs(60) {
            return Box::pin(std::future::pending());
        }
        Box::pin(
            async move { *self.0.lock().unwrap() += i64::try_from(duration.as_millis()).unwrap() },
        )
    }
}

type Answers = Box<dyn Fn(u32, &TextRequest) -> Result<TextAnswer> + Send + Sync>;

struct Model {
    info: ModelInfo,
    calls: AtomicU32,
    answers: Answers,
}

#[async_trait]
impl TextModel for Model {
    fn info(&self) -> &ModelInfo {
        &self.info
    }
    async fn generate(
        &self,
        request: &TextRequest,
        on_text: &(dyn for<'t> Fn(&'t str) + Send + Sync),
    ) -> Result<TextAnswer> {
        let outcome = (self.answers)(self.calls.fetch_add(1, Ordering::SeqCst), request);
        if request.stream && matches!(&outcome, Err(error) if error.code() == Some(codes::CUT)) {
            on_text("begun");
        }
        outcome
    }
}

fn model(
    name: &str,
    answers: impl Fn(u32, &TextRequest) -> Result<TextAnswer> + Send + Sync + 'static,
) -> Arc<Model> {
    let info = ModelInfo {
        provider: "p".into(),
        model: name.into(),
        tools: name != "toolless",
        ..ModelInfo::default()
    };
    Arc::new(Model { info, calls: AtomicU32::new(0), answers: Box::new(answers) })
}

fn good(name: &str) -> Arc<Model> {
    let text = format!("of {name}");
    model(name, move |_, _| Ok(TextAnswer { text: text.clone(), ..TextAnswer::default() }))
}

fn bad(name: &str, error: fn() -> Error) -> Arc<Model> {
    model(name, move |_, _| Err(error()))
}

fn link(model: &Arc<Model>, site: &str, key: u64) -> Link {
    Link {
        name: format!("{} at {site} with {key}", model.info.model),
        site: site.into(),
        key,
        model: model.clone(),
    }
}

fn chain(links: Vec<Link>, clock: &Arc<Jump>) -> Chain {
    let mut links = links.into_iter();
    Chain::new(links.next().unwrap(), links.collect(), TOTAL, clock.clone())
}

async fn ask(links: Vec<Link>) -> Result<TextAnswer> {
    chain(links, &Arc::default()).generate(&TextRequest::prompt(None, "hi"), &|_| ()).await
}

fn calls(model: &Model) -> u32 {
    model.calls.load(Ordering::SeqCst)
}

fn refused_key() -> Error {
    Error::new(ErrorKind::Unauthorized, "the key was refused")
        .with_code(codes::KEY)
        .with("cause", "HTTP 401")
        .with_fix("set another")
}

fn fault() -> Error {
    Error::new(ErrorKind::Unavailable, "a fault").with_code(codes::FAULT)
}

#[tokio::test]
async fn the_first_that_answers_says_who_did_not() {
    let (first, second, third) = (bad("a", fault), good("b"), good("c"));
    let answer =
        ask(vec![link(&first, "s", 1), link(&second, "t", 2), link(&third, "u", 3)]).await.unwrap();
    let by = answer.by.unwrap();
    assert_eq!(
        (answer.text.as_str(), by.link.as_str(), by.model.as_str()),
        ("of b", "b at t with 2", "b")
    );
    assert_eq!(by.passed, [("a at s with 1".to_owned(), "a fault".to_owned())]);
    assert_eq!(calls(&third), 0);
}

#[tokio::test]
async fn what_cannot_help_is_not_asked() {
    type Case = (fn() -> Error, [bool; 4]);
    let cases: [Case; 6] = [
        // Whether these are asked too: another key, a sibling with the first key, a sibling with
        // another key, another provider.
        (refused_key, [true, false, true, true]),
        (
            || Error::new(ErrorKind::Forbidden, "no money").with_code(codes::QUOTA),
            [true, false, true, true],
        ),
        (
            || Error::new(ErrorKind::Unavailable, "no server listens").with_code(codes::CONNECT),
            [false, false, false, true],
        ),
        (
            || Error::new(ErrorKind::TooLong, "too long").with_code(codes::TOO_LONG),
            [false, true, true, true],
        ),
        (
            || Error::new(ErrorKind::Timeout, "silence").with_code(codes::TIMEOUT),
            [false, true, true, true],
        ),
        (fault, [true, true, true, true]),
    ];
    for (error, expected) in cases {
        let first = bad("large", error);
        let rest: Vec<_> = ["large", "small", "small", "other"]
            .iter()
            .map(|name| bad(name, || Error::not_found("gone")))
            .collect();
        let links = vec![
            link(&first, "s", 1),
            link(&rest[0], "s", 2),
            link(&rest[1], "s", 1),
            link(&rest[2], "s", 2),
            link(&rest[3], "t", 3),
        ];
        ask(links).await.unwrap_err();
        assert_eq!([0, 1, 2, 3].map(|n| calls(&rest[n]) > 0), expected, "{}", error());
    }
}

#[tokio::test]
async fn when_nobody_answers_the_first_failure_is_told_with_the_others_besides() {
    let error = ask(vec![link(&bad("a", refused_key), "s", 1), link(&bad("b", fault), "t", 2)])
        .await
        .unwrap_err();
    assert_eq!(
        (error.code(), error.fix(), error.kind()),
        (Some(codes::KEY), Some("set another"), ErrorKind::Unauthorized)
    );
    assert_eq!(
        error.to_string(),
        "the key was refused (cause=HTTP 401, besides=b at t with 2: a fault)"
    );
    let alone = ask(vec![link(&bad("a", refused_key), "s", 1)]).await.unwrap_err();
    assert_eq!(alone.to_string(), "the key was refused (cause=HTTP 401)");
}

#[tokio::test]
async fn the_least_wish_to_wait_is_waited_for_and_then_all_are_asked_again() {
    let busy = |wait: u64| {
        move || {
            Error::new(ErrorKind::RateLimited, "slow down")
                .with_code(codes::RATE)
                .with_retry(Retry::After(Duration::from_secs(wait)))
        }
    };
    let first = model("a", move |_, _| Err(busy(50)()));
    let second = model("b", move |n, _| {
        if n == 0 {
            Err(busy(20)())
        } else {
            Ok(TextAnswer { text: "later".into(), ..TextAnswer::default() })
        }
    });
    let clock = Arc::<Jump>::default();
    let links = vec![link(&first, "s", 1), link(&second, "t", 2)];
    let answer =
        chain(links, &clock).generate(&TextRequest::prompt(None, "hi"), &|_| ()).await.unwrap();
    assert_eq!((answer.text.as_str(), clock.now(), calls(&first)), ("later", Timestamp(20_000), 2));
}

#[tokio::test]
async fn no_model_is_asked_after_the_callers_deadline() {
    let clock = Arc::<Jump>::default();
    let moving = clock.clone();
    let first = model("a", move |_, _| {
        *moving.0.lock().unwrap() = 10_000;
        Err(fault())
    });
    let second = good("b");
    let request =
        TextRequest { deadline: Some(Timestamp(10_000)), ..TextRequest::prompt(None, "hi") };
    let error = chain(vec![link(&first, "s", 1), link(&second, "t", 2)], &clock)
        .generate(&request, &|_| ())
        .await
        .unwrap_err();
    assert_eq!((error.code(), calls(&second)), (Some(codes::FAULT), 0));
    // A `Retry-After` beyond the deadline is not waited for.
    let busy = bad("a", || {
        Error::new(ErrorKind::RateLimited, "x").with_retry(Retry::After(Duration::from_secs(30)))
    });
    let request = TextRequest { deadline: Some(Timestamp(20_000)), ..request };
    let error = chain(vec![link(&busy, "s", 1), link(&busy, "t", 2)], &clock)
        .generate(&request, &|_| ())
        .await
        .unwrap_err();
    assert_eq!((error.kind(), clock.now()), (ErrorKind::RateLimited, Timestamp(10_000)));
}

#[tokio::test]
async fn a_stand_in_without_tools_gets_none() {
    let plain = model("toolless", |_, request| {
        assert!(request.tools.is_empty());
        Ok(TextAnswer::default())
    });
    let tool = ToolSpec {
        name: "T".into(),
        description: String::new(),
        parameters: Arc::new(serde_json::Value::Null),
    };
    let first = model("a", |_, request| {
        assert_eq!(request.tools.len(), 1);
        Err(fault())
    });
    let request = TextRequest { tools: vec![tool].into(), ..TextRequest::prompt(None, "hi") };
    chain(vec![link(&first, "s", 1), link(&plain, "t", 2)], &Arc::default())
        .generate(&request, &|_| ())
        .await
        .unwrap();
    assert_eq!((calls(&first), calls(&plain)), (1, 1));
}

#[tokio::test]
async fn a_stand_in_that_sees_nothing_is_not_shown_pictures() {
    let (first, blind) = (bad("a", fault), good("b"));
    let picture = ChatPart::Image { mime: "image/png".into(), data: String::new() };
    let request = TextRequest {
        messages: vec![ChatMessage { role: ChatRole::User, parts: vec![picture], name: None }]
            .into(),
        ..TextRequest::default()
    };
    chain(vec![link(&first, "s", 1), link(&blind, "t", 2)], &Arc::default())
        .generate(&request, &|_| ())
        .await
        .unwrap_err();
    assert_eq!((calls(&first), calls(&blind)), (1, 0));
}

#[tokio::test]
async fn once_shown_nobody_else_begins_again() {
    let first = bad("a", || Error::new(ErrorKind::Unavailable, "broke").with_code(codes::CUT));
    let second = good("b");
    let request = TextRequest { stream: true, ..TextRequest::prompt(None, "hi") };
    chain(vec![link(&first, "s", 1), link(&second, "t", 2)], &Arc::default())
        .generate(&request, &|_| ())
        .await
        .unwrap_err();
    assert_eq!(calls(&second), 0);
}

/// A model behind its breaker.
fn guarded(inner: &Arc<Model>, clock: &Arc<Jump>) -> Arc<Guarded<Model>> {
    let breaker = SharedBreaker::new("p a", limits(TOTAL), EventBus::default(), Timestamp(0));
    Arc::new(Guarded::new(inner.clone(), Arc::new(breaker), ALLOWED, true, clock.clone()))
}

#[tokio::test]
async fn an_open_breaker_is_waited_for_where_nobody_stands_in_and_passed_over_where_somebody_does()
{
    let clock = Arc::<Jump>::default();
    let first = model("a", |n, _| if n < 5 { Err(fault()) } else { Ok(TextAnswer::default()) });
    let behind = guarded(&first, &clock);
    let alone = || Link { name: "a".into(), site: "s".into(), key: 1, model: behind.clone() };
    for _ in 0..5 {
        chain(vec![alone()], &clock)
            .generate(&TextRequest::prompt(None, "hi"), &|_| ())
            .await
            .unwrap_err();
    }
    let second = good("b");
    let by = chain(vec![alone(), link(&second, "t", 2)], &clock)
        .generate(&TextRequest::prompt(None, "hi"), &|_| ())
        .await
        .unwrap()
        .by
        .unwrap();
    assert_eq!((by.model.as_str(), calls(&first), clock.now()), ("b", 5, Timestamp(0)));
    assert!(by.passed[0].1.contains("left alone"), "{:?}", by.passed);
    chain(vec![alone()], &clock).generate(&TextRequest::prompt(None, "hi"), &|_| ()).await.unwrap();
    assert!((4_000..=6_000).contains(&clock.now().0), "{:?}", clock.now());
}

#[tokio::test]
async fn a_refused_key_is_left_alone_for_seconds_and_always_tells_the_same() {
    let clock = Arc::<Jump>::default();
    let first = bad("a", refused_key);
    let behind = guarded(&first, &clock);
    let mut told = Vec::new();
    for seconds in [0, 1, 4, 6] {
        *clock.0.lock().unwrap() = seconds * 1_000;
        told.push(
            behind
                .generate(&TextRequest::prompt(None, "hi"), &|_| ())
                .await
                .unwrap_err()
                .to_string(),
        );
    }
    assert_eq!(calls(&first), 2);
    assert!(told.iter().all(|text| *text == told[0]), "{told:?}");
}

/// A model that never answers.
struct Silent(ModelInfo);

#[async_trait]
impl TextModel for Silent {
    fn info(&self) -> &ModelInfo {
        &self.0
    }
    async fn generate(
        &self,
        request: &TextRequest,
        _: &(dyn for<'t> Fn(&'t str) + Send + Sync),
    ) -> Result<TextAnswer> {
        assert!(request.stream, "streamed internally");
        std::future::pending().await
    }
}

/// A model that never answers, behind its breaker.
fn silent(clock: &Arc<Jump>) -> (Arc<Guarded<Silent>>, Arc<SharedBreaker>) {
    let breaker =
        Arc::new(SharedBreaker::new("p", limits(TOTAL), EventBus::default(), Timestamp(0)));
    (
        Arc::new(Guarded::new(
            Arc::new(Silent(good("x").info.clone())),
            breaker.clone(),
            ALLOWED,
            true,
            clock.clone(),
        )),
        breaker,
    )
}

fn until(clock: &Jump, seconds: u64) -> TextRequest {
    TextRequest {
        deadline: Some(clock.now().plus(Duration::from_secs(seconds))),
        ..TextRequest::prompt(None, "hi")
    }
}

#[tokio::test]
async fn a_model_that_hangs_until_the_deadline_counts_as_failed_if_it_had_a_fair_chance() {
    use galatea_core::breaker::Phase;
    for (seconds, phase) in [(40, Phase::Open), (5, Phase::Closed)] {
        let clock = Arc::<Jump>::default();
        let (behind, breaker) = silent(&clock);
        for _ in 0..5 {
            assert_eq!(
                behind.generate(&until(&clock, seconds), &|_| ()).await.unwrap_err().code(),
                Some(codes::TIMEOUT)
            );
        }
        assert_eq!(breaker.state().phase, phase, "{seconds} s");
    }
}

#[tokio::test]
async fn one_that_hangs_leaves_the_others_half_of_the_time() {
    let clock = Arc::<Jump>::default();
    let hanging = Link { name: "x".into(), site: "s".into(), key: 1, model: silent(&clock).0 };
    let answer = chain(vec![hanging, link(&good("b"), "t", 2)], &clock)
        .generate(&until(&clock, 100), &|_| ())
        .await
        .unwrap();
    assert_eq!((answer.text.as_str(), clock.now()), ("of b", Timestamp(50_000)));
}

/// The cost of a hanging service for the caller: its second model gets a short time for its first
/// token, and a model of another service the usual time.
#[tokio::test]
async fn a_sibling_of_one_that_hangs_is_not_waited_for_as_long_again() {
    let clock = Arc::<Jump>::default();
    let told = Arc::new(Mutex::new(Vec::new()));
    let hanging = |name: &str, seconds: i64| {
        let (told, clock) = (told.clone(), clock.clone());
        model(name, move |_, request| {
            let waited = request
                .first_within
                .map_or(seconds * 1000, |within| i64::try_from(within.as_millis()).unwrap());
            told.lock().unwrap().push(waited);
            *clock.0.lock().unwrap() += waited;
            Err(Error::new(ErrorKind::Timeout, "silence").with_code(codes::TIMEOUT))
        })
    };
    let (large, small, elsewhere) = (hanging("a", 30), hanging("b", 30), hanging("c", 30));
    let links = vec![link(&large, "s", 1), link(&small, "s", 1), link(&elsewhere, "t", 2)];
    chain(links, &clock).generate(&until(&clock, 110), &|_| ()).await.unwrap_err();
    assert_eq!(*told.lock().unwrap(), [30_000, 7_500, 30_000]);
    let busy = bad("a", fault);
    let calm = model("b", |_, request| {
        if request.first_within.is_none() { Ok(TextAnswer::default()) } else { Err(fault()) }
    });
    assert!(
        chain(vec![link(&busy, "s", 1), link(&calm, "s", 1)], &clock)
            .generate(&until(&clock, 110), &|_| ())
            .await
            .is_ok(),
        "a fault is not a timeout"
    );
}

#[tokio::test]
async fn what_this_machine_lacks_is_not_asked_of_everybody() {
    let clock = Arc::<Jump>::default();
    let first = bad("a", || {
        Error::new(ErrorKind::Exhausted, "no open files left").with_code("GAL-LOCAL-LIMIT")
    });
    let other = good("b");
    let error = chain(vec![link(&first, "s", 1), link(&other, "t", 2)], &clock)
        .generate(&until(&clock, 100), &|_| ())
        .await
        .unwrap_err();
    assert_eq!((error.kind(), calls(&other)), (ErrorKind::Exhausted, 0));
}

#[tokio::test]
async fn the_last_who_can_help_gets_all_that_is_left() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let noting = |name: &str| {
        let told = told.clone();
        model(name, move |_, request| {
            told.lock().unwrap().push(request.deadline.unwrap().0 / 1000);
            Err(fault())
        })
    };
    let (a, b) = (noting("a"), noting("b"));
    let clock = Arc::<Jump>::default();
    // Only the same model with another key follows the last but one, and a timeout would rule that
    // out.
    let links = vec![link(&a, "s", 1), link(&b, "t", 2), link(&b, "t", 3)];
    chain(links, &clock).generate(&until(&clock, 100), &|_| ()).await.unwrap_err();
    assert_eq!(*told.lock().unwrap(), [50, 100, 100]);
}

fn paused() -> Error {
    Error::new(ErrorKind::Unavailable, "left alone")
        .with_code(codes::PAUSED)
        .with_retry(Retry::After(Duration::from_secs(1)))
}

#[tokio::test]
async fn waiting_for_breakers_uses_up_no_round_and_ends_with_the_deadline() {
    let clock = Arc::<Jump>::default();
    let probed = model("a", |n, _| if n < 8 { Err(paused()) } else { Ok(TextAnswer::default()) });
    chain(vec![link(&probed, "s", 1)], &clock)
        .generate(&until(&clock, 100), &|_| ())
        .await
        .unwrap();
    assert_eq!(clock.now(), Timestamp(8_000));
    let held = bad("a", paused);
    let error = chain(vec![link(&held, "s", 1)], &clock)
        .generate(&until(&clock, 20), &|_| ())
        .await
        .unwrap_err();
    assert_eq!((error.code(), clock.now()), (Some(codes::PAUSED), Timestamp(27_000)));
}

fn busy(seconds: u64) -> Error {
    Error::new(ErrorKind::RateLimited, "slow down")
        .with_code(codes::RATE)
        .with_retry(Retry::After(Duration::from_secs(seconds)))
}

#[tokio::test]
async fn nobody_waits_after_the_last_round() {
    let clock = Arc::<Jump>::default();
    let (a, b) = (bad("a", || busy(20)), bad("b", || busy(20)));
    chain(vec![link(&a, "s", 1), link(&b, "t", 2)], &clock)
        .generate(&until(&clock, 100), &|_| ())
        .await
        .unwrap_err();
    assert_eq!((calls(&a), clock.now()), (3, Timestamp(40_000)));
}

#[tokio::test]
async fn who_was_asked_again_already_is_not_gone_round_to() {
    let clock = Arc::<Jump>::default();
    let (failing, brief) = (bad("a", fault), bad("b", || busy(1)));
    let later = model("c", |n, _| if n == 0 { Err(busy(10)) } else { Ok(TextAnswer::default()) });
    let links = vec![link(&failing, "s", 1), link(&brief, "t", 2), link(&later, "u", 3)];
    chain(links, &clock).generate(&until(&clock, 100), &|_| ()).await.unwrap();
    assert_eq!((calls(&failing), calls(&brief), clock.now()), (1, 1, Timestamp(10_000)));
}
