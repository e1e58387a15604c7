//! Answers that fail: what the provider may charge for counts, and is limited; a refusal is free.

use super::*;
use galatea_core::{
    Error, ErrorKind, Sent,
    model::{OnText, Spent},
};

/// A model at ten dollars per million tokens written, each call of which fails.
struct Failing {
    info: ModelInfo,
    error: fn() -> Error,
    calls: AtomicU64,
}

impl Failing {
    fn new(error: fn() -> Error) -> Arc<Self> {
        let price = Some(Price { output: 10_000_000, ..Price::default() });
        let info = ModelInfo {
            provider: "test".into(),
            model: "failing".into(),
            price,
            ..ModelInfo::default()
        };
        Arc::new(Self { info, error, calls: AtomicU64::new(0) })
    }
}

#[async_trait]
impl TextModel for Failing {
    fn info(&self) -> &ModelInfo {
        &self.info
    }
    async fn generate(&self, _: &TextRequest, _: &OnText<'_>) -> Result<TextAnswer> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        Err((self.error)())
    }
}

/// Lets a stranger write ten messages to a model that fails; returns its calls, and what is stored
/// as used.
async fn ten_messages(error: fn() -> Error) -> (u64, Amount) {
    let model = Failing::new(error);
    let house = Plan::new(Arc::clone(&model) as _)
        .set("LIMITS", "on")
        .set("LIMIT_PERSON", "none")
        .set("BUDGET_STRANGER", "0.2")
        .build()
        .await;
    for n in 0..10 {
        house.say(&dm("7"), &format!("{n}")).await;
        house.quiet().await;
    }
    (model.calls.load(Ordering::SeqCst), today(&house).await)
}

#[tokio::test]
async fn an_empty_answer_counts_with_what_the_provider_counted() {
    let (calls, used) = ten_messages(|| {
        let usage = Usage { input: 100, output: 8_192, ..Usage::default() };
        Error::unexpected("thoughts only")
            .with_sent(Sent::Maybe)
            .with_spent(Spent { usage, whole: true })
    })
    .await;
    // An answer costs 81,920 millionths of a dollar of 200,000; an estimate of 1,024 tokens fits
    // twice more.
    assert_eq!(calls, 3, "the cap stops the fourth");
    assert_eq!((used.calls, used.output, used.micros), (3, 3 * 8_192, 3 * 81_920));
}

#[tokio::test]
async fn a_broken_answer_counts_by_its_estimate() {
    let (calls, used) = ten_messages(|| {
        Error::new(ErrorKind::Unavailable, "cut").with_sent(Sent::Maybe).with_code("GAL-MODEL-CUT")
    })
    .await;
    assert_eq!((calls, used.calls, used.output), (10, 10, 10 * 1_024));
    assert_eq!(used.micros, 10 * 10_240);
}

#[tokio::test]
async fn a_refusal_is_free() {
    let (calls, used) = ten_messages(|| Error::new(ErrorKind::RateLimited, "wait")).await;
    assert_eq!((calls, used.calls, used.micros), (10, 0, 0));
}
