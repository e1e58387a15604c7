//! Tests of a chain with a deadline and models that hang.

use super::*;

/// A model that never answers.
struct Silent(ModelInfo);

#[async_trait]
impl TextModel for Silent {
    fn info(&self) -> &ModelInfo {
        &self.0
    }
    async fn generate(&self, request: &TextRequest, _: &OnText<'_>) -> Result<TextAnswer> {
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
    let waits = Arc::new(Mutex::new(Vec::new()));
    let hanging = |name: &str, seconds: i64| {
        let (waits, clock) = (waits.clone(), clock.clone());
        model(name, move |_, request| {
            let waited = request
                .first_within
                .map_or(seconds * 1000, |within| i64::try_from(within.as_millis()).unwrap());
            waits.lock().unwrap().push(waited);
            *clock.0.lock().unwrap() += waited;
            Err(Error::new(ErrorKind::Timeout, "silence").with_code(codes::TIMEOUT))
        })
    };
    let (large, small, elsewhere) = (hanging("a", 30), hanging("b", 30), hanging("c", 30));
    let links = vec![link(&large, "s", 1), link(&small, "s", 1), link(&elsewhere, "t", 2)];
    chain(links, &clock).generate(&until(&clock, 110), &|_| ()).await.unwrap_err();
    assert_eq!(*waits.lock().unwrap(), [30_000, 7_500, 30_000]);
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
async fn what_this_machine_lacks_is_not_asked_of_everyone() {
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
    let deadlines = Arc::new(Mutex::new(Vec::new()));
    let noting = |name: &str| {
        let deadlines = deadlines.clone();
        model(name, move |_, request| {
            deadlines.lock().unwrap().push(request.deadline.unwrap().0 / 1000);
            Err(fault())
        })
    };
    let (a, b) = (noting("a"), noting("b"));
    let clock = Arc::<Jump>::default();
    // Only the same model with another key follows the last but one, and a timeout would rule that
    // out.
    let links = vec![link(&a, "s", 1), link(&b, "t", 2), link(&b, "t", 3)];
    chain(links, &clock).generate(&until(&clock, 100), &|_| ()).await.unwrap_err();
    assert_eq!(*deadlines.lock().unwrap(), [50, 100, 100]);
}
