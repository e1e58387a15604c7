//! Tests of a chain whose models are left alone for a while.

use super::*;

fn paused() -> Error {
    Error::new(ErrorKind::Unavailable, "left alone")
        .with_code(codes::PAUSED)
        .with_retry(Retry::After(Duration::from_secs(1)))
}

/// A model behind its breaker.
fn guarded(inner: &Arc<Model>, clock: &Arc<Jump>) -> Arc<Guarded<Model>> {
    let breaker = SharedBreaker::new("p a", limits(TOTAL), EventBus::default(), Timestamp(0));
    Arc::new(Guarded::new(inner.clone(), Arc::new(breaker), ALLOWED, true, clock.clone()))
}

#[tokio::test]
async fn an_open_breaker_is_awaited_without_a_fallback_and_skipped_with_one() {
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
    let mut reports = Vec::new();
    for seconds in [0, 1, 4, 6] {
        *clock.0.lock().unwrap() = seconds * 1_000;
        reports.push(
            behind
                .generate(&TextRequest::prompt(None, "hi"), &|_| ())
                .await
                .unwrap_err()
                .to_string(),
        );
    }
    assert_eq!(calls(&first), 2);
    assert!(reports.iter().all(|text| *text == reports[0]), "{reports:?}");
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
async fn no_pause_follows_the_last_round() {
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
