//! Limits hold for all processes together, however their answers coincide.

use galatea_core::{
    Batch, Incoming, Models, Result, TextModel,
    model::{ModelInfo, OnText, Price, TextAnswer, TextRequest, Usage},
    store::{Amount, Day, UsageStore},
};
use galatea_runtime::Orchestrator;
use std::{sync::Arc, time::Instant};

use super::*;
use crate::house::{House, Spot, group};

/// One dollar per million tokens read, ten per million written.
struct Priced {
    info: ModelInfo,
    inner: Arc<dyn TextModel>,
}

/// The price of a call, in millionths of a dollar.
const COST: u64 = 11_000;

fn priced(inner: Arc<dyn TextModel>) -> Models {
    let price =
        Price { input: 1_000_000, cached: 1_000_000, output: 10_000_000, ..Price::default() };
    let info = ModelInfo {
        provider: "test".into(),
        model: "priced".into(),
        price: Some(price),
        ..inner.info().clone()
    };
    crate::models::all(Arc::new(Priced { info, inner }))
}

#[async_trait::async_trait]
impl TextModel for Priced {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    async fn generate(&self, request: &TextRequest, on_text: &OnText<'_>) -> Result<TextAnswer> {
        let answer = self.inner.generate(request, on_text).await?;
        Ok(TextAnswer {
            usage: Usage { input: 1_000, output: 1_000, ..Usage::default() },
            ..answer
        })
    }
}

/// An ingress, and three workers that share its Rooms.
struct Crew {
    store: Stored,
    house: House,
    workers: Vec<Arc<Orchestrator>>,
    /// Removed when it is dropped.
    _database: Database,
}

impl Crew {
    async fn of(plan: impl Fn() -> Plan) -> Self {
        let database = Database::fresh().await;
        let store = open(&database).await;
        let house =
            plan().store(&open(&database).await).without_ticks(ProcessRole::Ingress).build().await;
        let mut workers = Vec::new();
        for _ in 0..3 {
            let worker = plan().on(Arc::clone(&house.platform));
            let worker = worker.store(&open(&database).await);
            workers.push(worker.without_ticks(ProcessRole::Worker).begin().await.0);
        }
        until_held("a third each", &store, vec![20, 22, 22, 1]).await;
        Self { store, house, workers, _database: database }
    }

    async fn used(&self) -> Amount {
        let mut sum = Amount::default();
        let rows = self.store.usage(Some(self.house.agent), Day(0)).await.unwrap();
        rows.into_iter().for_each(|row| sum += row.amount);
        sum
    }

    async fn until(&self, what: &str, enough: impl Fn(&Amount) -> bool) {
        let begun = Instant::now();
        while !enough(&self.used().await) {
            assert!(begun.elapsed() < PATIENCE, "never: {what}: {:?}", self.used().await);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// All at once.
    async fn hears(&self, messages: impl IntoIterator<Item = Spot>) {
        let events: Vec<Incoming> =
            messages.into_iter().map(|at| self.house.message(&at, "hello")).collect();
        self.house.gateway.receive(Batch { events, ..Batch::default() }).await.unwrap();
    }

    fn answers(&self) -> usize {
        self.house.platform.shown().iter().filter(|shown| shown.text.starts_with("re: ")).count()
    }

    async fn stop(self) {
        for worker in self.workers {
            worker.stop(PATIENCE).await;
        }
        self.house.orchestrator.stop(PATIENCE).await;
    }
}

/// A person who mentions the agent in this many groups.
fn everywhere(rooms: usize, person: impl Fn(usize) -> &'static str) -> Vec<Spot> {
    (0..rooms).map(|n| group(format!("room-{n}").leak(), person(n)).mentioning()).collect()
}

fn free() -> Plan {
    Plan::new(echo())
        .set("LIMITS", "on")
        .set("LIMIT_ROOM", "none")
        .set("LIMIT_WORLD", "none")
        .set("LIMIT_PERSON", "none")
        .set("LIMIT_AGENT", "none")
        .set("BUDGET_STRANGER", "none")
}

/// Every call of the model hangs until all messages are judged: no answer is committed that another
/// process could read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_persons_day_is_the_same_for_all_processes() {
    let model = Gated::new(echo(), "hello");
    let models = crate::models::all(model.clone());
    let crew = Crew::of(|| Plan {
        models: models.clone(),
        ..free().set("LIMIT_PERSON", "1000/min, 20/day")
    })
    .await;
    crew.hears(everywhere(60, |_| "7")).await;
    crew.until("40 refusals", |used| used.refused >= 40).await;
    model.open(60);
    crew.until("20 answers", |used| used.answers >= 20).await;
    crew.house.quiet().await;
    assert_eq!((crew.answers(), crew.used().await.refused), (20, 40));
    crew.stop().await;
}

/// A World's limit, of a server with many rooms.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worlds_day_is_the_same_for_all_processes() {
    let crew = Crew::of(|| free().set("LIMIT_WORLD", "1000/min, 10/day")).await;
    let people = ["p-0", "p-1", "p-2", "p-3", "p-4"];
    let spots = everywhere(40, |n| people[n % people.len()]);
    crew.hears(spots.into_iter().map(|at| Spot { world: "server", ..at })).await;
    crew.until("30 refusals", |used| used.refused >= 30).await;
    crew.house.quiet().await;
    assert_eq!((crew.answers(), crew.used().await.refused), (10, 30));
    crew.stop().await;
}

/// The pace of a minute, and the agent's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pace_is_the_same_for_all_processes() {
    for setting in ["LIMIT_PERSON", "LIMIT_AGENT"] {
        let crew = Crew::of(|| free().set(setting, "4/min").set("STRANGERS_SHARE", "100")).await;
        let begun = Instant::now();
        crew.hears(everywhere(40, |_| "7")).await;
        crew.until("40 judged", |used| used.refused + used.answers >= 40).await;
        crew.house.quiet().await;
        // One more for each quarter of a minute that passed meanwhile.
        let most = 4 + usize::try_from(begun.elapsed().as_secs() / 15).unwrap();
        let answers = crew.answers();
        assert!((4..=most).contains(&answers), "{setting}: {answers} answers, at most {most}");
        crew.stop().await;
    }
}

/// What one stranger, and what all together may cost, with every call under way at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn budgets_are_the_same_for_all_processes() {
    const CAP: u64 = 60_000;
    for (setting, value) in [("BUDGET_STRANGER", "0.06 USD"), ("BUDGET_AGENT", "0.06 USD")] {
        let model = Gated::new(echo(), "hello");
        let models = priced(model.clone());
        let crew = Crew::of(|| Plan {
            models: models.clone(),
            ..free().set(setting, value).set("STRANGERS_SHARE", "100")
        })
        .await;
        crew.hears(everywhere(60, |_| "7")).await;
        crew.until("refusals", |used| used.refused >= 45).await;
        model.open(60);
        crew.until("60 judged", |used| used.refused + used.answers >= 60).await;
        crew.house.quiet().await;
        let used = crew.used().await;
        // The last call may cost more than was reserved for it.
        assert!(used.micros <= CAP + COST, "{setting}: {used:?}");
        assert!(used.micros >= CAP / 2, "{setting}: it is not used: {used:?}");
        crew.stop().await;
    }
}
