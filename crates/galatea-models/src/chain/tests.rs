//! Tests of the order in which links are asked, of skipped links, and of the final error.
//! `bills` has those of what attempts cost, `breakers` those with circuit breakers and pauses,
//! `deadlines` those with models that hang, `partial` those of answers that are cut, `waits` those of a service's `Retry-After`.

mod bills;
mod breakers;
mod deadlines;
mod partial;
mod waits;

use super::*;
use galatea_core::{
    EventBus,
    model::{ChatMessage, ChatRole, OnText, ToolSpec},
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
    async fn generate(&self, request: &TextRequest, on_text: &OnText<'_>) -> Result<TextAnswer> {
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

fn until(clock: &Jump, seconds: u64) -> TextRequest {
    TextRequest {
        deadline: Some(clock.now().plus(Duration::from_secs(seconds))),
        ..TextRequest::prompt(None, "hi")
    }
}

#[tokio::test]
async fn a_web_page_at_an_address_is_there_for_all_its_models() {
    let page = || Error::unexpected("a page").with_code(codes::GARBAGE);
    let (first, second, third) = (bad("a", page), good("b"), good("c"));
    let links = vec![link(&first, "s", 1), link(&second, "s", 1), link(&third, "t", 1)];
    assert_eq!(ask(links).await.unwrap().text, "of c");
    assert_eq!(calls(&second), 0);
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
async fn if_no_model_answers_the_first_failure_is_reported_with_the_others() {
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
    let answer = chain(vec![link(&first, "s", 1), link(&plain, "t", 2)], &Arc::default())
        .generate(&request, &|_| ())
        .await
        .unwrap();
    assert!(answer.text_actions, "its instructions described the tools");
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
async fn once_text_is_shown_no_other_model_starts_over() {
    let first = bad("a", || Error::new(ErrorKind::Unavailable, "broke").with_code(codes::CUT));
    let second = good("b");
    let request = TextRequest { stream: true, ..TextRequest::prompt(None, "hi") };
    chain(vec![link(&first, "s", 1), link(&second, "t", 2)], &Arc::default())
        .generate(&request, &|_| ())
        .await
        .unwrap_err();
    assert_eq!(calls(&second), 0);
}
