//! The last part of a small cap goes to the small model.

use super::*;

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
