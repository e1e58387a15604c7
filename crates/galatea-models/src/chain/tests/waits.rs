//! Tests of a service's `Retry-After`: a link waits for short ones, the chain for longer ones.

use super::*;
use crate::retry::{RetryPolicy, Retrying};

/// Two links whose service asks once each for this wait; returns the answer.
async fn answers_after(wait: Duration) -> Result<TextAnswer> {
    let clock = Arc::new(Jump::default());
    let link = |name: &str| {
        let model = model(name, move |call, _| match call {
            0 => Err(Error::new(ErrorKind::RateLimited, "slow down")
                .with_code(codes::RATE)
                .with_retry(Retry::After(wait))),
            _ => Ok(TextAnswer { text: "at last".into(), ..TextAnswer::default() }),
        });
        let policy = RetryPolicy { patience: Some(PATIENCE), ..RetryPolicy::default() };
        let retrying = Retrying::new(model, policy, Arc::default(), clock.clone() as _);
        Link { name: name.into(), site: "s".into(), key: 1, model: Arc::new(retrying) }
    };
    let chain = Chain::new(link("a"), vec![link("b")], TOTAL, clock.clone());
    chain.generate(&TextRequest::prompt(None, "hi"), &|_| ()).await
}

#[tokio::test]
async fn no_wait_falls_between_the_link_and_the_chain() {
    for millis in [0, 500, 1_500, 1_600, 1_900, 1_999, 2_000, 2_001, 2_500, 3_000, 6_000] {
        // The jitter differs each time.
        for _ in 0..8 {
            let answer = answers_after(Duration::from_millis(millis)).await;
            assert!(answer.is_ok_and(|answer| answer.text == "at last"), "{millis} ms");
        }
    }
}
