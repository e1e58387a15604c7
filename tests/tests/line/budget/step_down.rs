//! The last part of a small cap goes to the small model.

use super::*;
use galatea_core::{Error, ErrorKind, model::OnText};

/// A small model whose service is overloaded, with the large model behind it, as in a chain of
/// models of one service.
struct Overloaded {
    info: ModelInfo,
    behind: Arc<Priced>,
}

#[async_trait]
impl TextModel for Overloaded {
    fn info(&self) -> &ModelInfo {
        &self.info
    }
    async fn generate(&self, request: &TextRequest, on_text: &OnText<'_>) -> Result<TextAnswer> {
        let overloaded = Error::new(ErrorKind::Unavailable, "overloaded");
        request.bill.attempt(&self.info)?.end(Some(&overloaded));
        let Ok(attempt) = request.bill.attempt(self.behind.info()) else { return Err(overloaded) };
        let answer = self.behind.generate(request, on_text).await;
        attempt.end(answer.as_ref().err());
        answer
    }
}

#[tokio::test]
async fn the_large_model_behind_the_small_one_is_asked_only_within_the_cap() {
    let price = Price { input: 1_000, cached: 1_000, output: 1_000, ..Price::default() };
    let large = Priced::new("large", echo(), 100);
    let info = ModelInfo {
        provider: "test".into(),
        model: "small".into(),
        price: Some(price),
        ..ModelInfo::default()
    };
    let small = Arc::new(Overloaded { info, behind: Arc::clone(&large) });
    let mut plan = plan(&large).set("LIMIT_PERSON", "none").set("BUDGET_STRANGER", "0.02");
    plan.models = Models { small, large: Arc::clone(&large) as _, ..plan.models };
    let house = plan.build().await;
    for n in 0..12 {
        house.say(&dm("7"), &format!("{n}")).await;
        house.quiet().await;
    }
    // As below, the sixth call of the large model does not fit, whichever chain it stands in.
    assert!(large.calls() <= 5, "{}", large.calls());
    let used = today(&house).await;
    assert_eq!((used.micros, used.calls), (2_000 * large.calls(), large.calls()));
}

#[tokio::test]
async fn where_the_large_models_estimate_does_not_fit_the_small_model_answers() {
    let cheap = Price { input: 1_000, cached: 1_000, output: 1_000, ..Price::default() };
    let (large, small) =
        (Priced::new("large", echo(), 100), Priced::at(cheap, "small", echo(), 100));
    let mut plan = plan(&large).set("LIMIT_PERSON", "none").set("BUDGET_STRANGER", "0.02");
    plan.models =
        Models { small: Arc::clone(&small) as _, large: Arc::clone(&large) as _, ..plan.models };
    let house = plan.build().await;
    let mut last = None;
    for n in 0..12 {
        last = Some(house.say(&dm("7"), &format!("{n}")).await);
        house.quiet().await;
    }
    // A call of the large model costs 2,000 of 20,000 and is estimated at more than 10,240. Its
    // fifth ends at half of the cap, so that the sixth does not fit, far below 80 per cent.
    assert!(large.calls() <= 5, "{}", large.calls());
    assert_eq!(large.calls() + small.calls(), 12, "each message is answered");
    let explained = house.explain(last.unwrap()).await;
    assert_eq!(explained.state, InboxState::Done);
    assert!(
        explained.steps.iter().any(|step| step.reason.contains("test small answered instead")),
        "{explained:?}"
    );
    assert!(today(&house).await.micros <= 20_000);
}
