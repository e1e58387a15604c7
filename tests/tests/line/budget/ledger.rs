//! The ledger: what calls cost, and how long it is kept.

use super::*;

/// A failed or cancelled call leaves no reserved budget.
#[tokio::test]
async fn a_call_that_is_cut_off_counts_and_holds_nothing() {
    let gated = Gated::new(echo(), "slowly");
    let model = Priced::new("large", Arc::clone(&gated) as _, 10);
    let house =
        plan(&model).set("BUSY_POLICY", "interrupt").set("BUDGET_STRANGER", "0.05").build().await;
    house.say(&dm("7"), "slowly").await;
    gated.reached(1).await;
    house.say(&dm("7"), "less slowly").await;
    gated.reached(2).await;
    gated.open(5);
    house.quiet().await;
    let used = today(&house).await;
    assert_eq!((used.calls, used.answers), (2, 2));
    assert!(
        used.micros > 2 * model.cost(),
        "the one that was cut off counts as what was set aside for it: {used:?}"
    );
}

/// A chain in which another model than the first answers, at a price of its own.
struct FallsBack(Arc<Priced>, Price);

#[async_trait]
impl TextModel for FallsBack {
    fn info(&self) -> &ModelInfo {
        self.0.info()
    }

    async fn generate(&self, request: &TextRequest, on_text: &OnText<'_>) -> Result<TextAnswer> {
        let by = AnsweredBy {
            provider: "another".into(),
            model: "cheap".into(),
            ..AnsweredBy::default()
        };
        let answer = self.0.generate(request, on_text).await?;
        Ok(TextAnswer { by: Some(by), price: Some(self.1), ..answer })
    }
}

#[tokio::test]
async fn a_call_costs_what_the_link_costs_that_answered() {
    let dear = Priced::new("large", echo(), 10);
    let cheap = Price { input: 10_000, cached: 10_000, output: 100_000, ..Price::default() };
    let house = Plan::new(Arc::new(FallsBack(dear, cheap))).set("LIMITS", "on").build().await;
    house.say(&dm("7"), "hello").await;
    house.quiet().await;
    let rows = house.store.usage(Some(house.agent), Day(0)).await.unwrap();
    let shown: Vec<_> = rows
        .iter()
        .map(|row| (row.model.as_str(), row.amount.micros, row.amount.unpriced))
        .collect();
    // A hundredth of the first model's price, for 1,000 tokens read and 10 written.
    assert_eq!(shown, [("another cheap", 11, 0)]);
}

#[tokio::test]
async fn what_the_ledger_says_of_long_ago_is_deleted_with_the_first_turn_of_a_day() {
    let clock = ManualClock::new();
    let model = Priced::new("large", echo(), 10);
    let house = plan(&model).clock(clock.shared()).build().await;
    let today = Day::of(clock.now()).0;
    let rows = [today - 401, today - 400].map(|day| row(&house, &dm("7"), day));
    house.store.add_usage(&rows).await.unwrap();
    let days = async || -> Vec<i64> {
        let rows = house.store.usage(Some(house.agent), Day(0)).await.unwrap();
        rows.into_iter().map(|row| row.day.0 - today).collect()
    };
    let until = async |wanted: &[i64]| {
        let wait = async {
            while days().await != wanted {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        assert!(tokio::time::timeout(PATIENCE, wait).await.is_ok(), "{:?}", days().await);
    };
    house.say(&dm("7"), "hello").await;
    house.quiet().await;
    until(&[-400, 0]).await;
    clock.advance(Duration::from_secs(24 * 60 * 60));
    house.say(&dm("7"), "hello").await;
    house.quiet().await;
    until(&[0, 1]).await;
}
