//! Limits and budgets across the whole line: who is refused and who is not, what is stored, and
//! what a crowd of strangers can cost.

mod commands;
mod failed;
mod ledger;
mod owners;
mod step_down;
mod steps;

use async_trait::async_trait;
use galatea_core::{
    Clock, Models, RemoteId, Result, Source, StepOutcome, TextModel,
    model::{AnsweredBy, ModelInfo, OnText, Price, TextAnswer, TextRequest, Usage},
    store::{Amount, Block, BlockKind, Day, InboxState, UsageRow},
};
use galatea_store::Database;
use galatea_testkit::{clock::ManualClock, models::ScriptedModel};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use crate::{
    house::{House, Plan, Spot, dm, group},
    models::{Gated, echo},
    platform::{PATIENCE, Platform, SOURCE},
};

/// A model with a price: each call reads 1,000 tokens and writes `output` of them.
struct Priced {
    info: ModelInfo,
    inner: Arc<dyn TextModel>,
    output: u64,
    calls: AtomicU64,
    under_way: AtomicU64,
    most: AtomicU64,
}

impl Priced {
    /// A model at one dollar per million tokens read and ten per million written.
    fn new(model: &str, inner: Arc<dyn TextModel>, output: u64) -> Arc<Self> {
        Self::at(
            Price { input: 1_000_000, cached: 1_000_000, output: 10_000_000, ..Price::default() },
            model,
            inner,
            output,
        )
    }

    fn at(price: Price, model: &str, inner: Arc<dyn TextModel>, output: u64) -> Arc<Self> {
        let price = Some(price);
        let info = ModelInfo {
            provider: "test".into(),
            model: model.into(),
            price,
            ..inner.info().clone()
        };
        Arc::new(Self {
            info,
            inner,
            output,
            calls: AtomicU64::new(0),
            under_way: AtomicU64::new(0),
            most: AtomicU64::new(0),
        })
    }

    fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }

    /// Cost of a call, in millionths of a dollar.
    fn cost(&self) -> u64 {
        1_000 + 10 * self.output
    }
}

#[async_trait]
impl TextModel for Priced {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    async fn generate(&self, request: &TextRequest, on_text: &OnText<'_>) -> Result<TextAnswer> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        self.most.fetch_max(self.under_way.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        let answer = self.inner.generate(request, on_text).await;
        self.under_way.fetch_sub(1, Ordering::SeqCst);
        Ok(TextAnswer {
            usage: Usage { input: 1_000, cached: 200, output: self.output, ..Usage::default() },
            ..answer?
        })
    }
}

fn plan(model: &Arc<Priced>) -> Plan {
    Plan::new(Arc::clone(model) as _).set("LIMITS", "on")
}

async fn today(house: &House) -> Amount {
    let mut sum = Amount::default();
    house
        .store
        .usage(Some(house.agent), Day(0))
        .await
        .unwrap()
        .into_iter()
        .for_each(|row| sum += row.amount);
    sum
}

/// Rule of the last skipping step of an unanswered message, and the setting that would change the
/// decision.
async fn refused(house: &House, id: galatea_core::MemoryId) -> (String, String) {
    let explained = house.explain(id).await;
    assert_eq!(explained.state, InboxState::Skipped, "{explained:?}");
    let step = explained.steps.iter().rev().find(|step| step.outcome == StepOutcome::Skip).unwrap();
    (step.rule.to_string(), explained.change.unwrap().setting)
}

fn row(house: &House, spot: &Spot, day: i64) -> UsageRow {
    UsageRow {
        agent: house.agent,
        day: Day(day),
        source: Source::new("stage"),
        world: house.world(spot),
        room: house.room(spot),
        person: house.entity(spot),
        model: String::new(),
        amount: Amount { answers: 1, ..Amount::default() },
    }
}

#[tokio::test]
async fn a_flood_is_answered_at_its_rate_noticed_once_and_everyone_else_is_answered() {
    let clock = ManualClock::new();
    let model = Priced::new("large", echo(), 10);
    let house = plan(&model)
        .set("LIMIT_PERSON", "2/min, 100/day")
        .set("LIMIT_WAITING", "none")
        .clock(clock.shared())
        .build()
        .await;
    let spot = group("g", "flooder");
    let mut ids = Vec::new();
    for n in 0..20 {
        ids.push(house.say(&spot, &format!("Eliza, {n}")).await);
        house.quiet().await;
    }
    let other = house.say(&group("g", "other"), "Eliza, and me").await;
    house.quiet().await;
    assert_eq!(house.explain(other).await.state, InboxState::Done);
    assert_eq!(model.calls(), 3);
    for id in &ids[2..] {
        assert_eq!(refused(&house, *id).await, ("limits".into(), "LIMIT_PERSON".into()));
    }
    let texts = house.platform.texts("g");
    assert_eq!(texts.iter().filter(|text| text.contains("in a minute")).count(), 1, "{texts:?}");
    assert_eq!(texts.len(), 4);
    clock.advance(Duration::from_secs(60));
    let again = house.say(&spot, "Eliza, again").await;
    house.quiet().await;
    assert_eq!(house.explain(again).await.state, InboxState::Done);
    let used = today(&house).await;
    assert_eq!((used.answers, used.refused, used.calls), (4, 18, 4));
    assert_eq!((used.micros, used.cached), (4 * model.cost(), 800));
}

#[tokio::test]
async fn of_a_crowded_queue_the_newest_of_each_are_answered() {
    let gated = Gated::new(echo(), "first");
    let house = Plan::new(Arc::clone(&gated) as _)
        .set("LIMITS", "on")
        .set("LIMIT_PERSON", "none")
        .set("LIMIT_WAITING", "2")
        .build()
        .await;
    let first = house.say(&group("g", "flooder"), "Eliza, first").await;
    gated.reached(1).await;
    let mut ids = Vec::new();
    for n in 0..10 {
        ids.push(house.say(&group("g", "flooder"), &format!("Eliza, {n}")).await);
    }
    let other = house.say(&group("g", "other"), "Eliza, me").await;
    gated.open(1);
    house.quiet().await;
    for id in [first, other, ids[7], ids[8], ids[9]] {
        assert_eq!(house.explain(id).await.state, InboxState::Done);
    }
    for id in &ids[..7] {
        assert_eq!(refused(&house, *id).await, ("queue-share".into(), "LIMIT_WAITING".into()));
    }
}

#[tokio::test]
async fn a_strangers_day_ends_with_one_notice_and_a_restart_gives_no_other() {
    let store = Database::in_memory().await.unwrap();
    let clock = ManualClock::new();
    let platform = Platform::new("1000");
    for run in 0..2 {
        let model = Priced::new("large", echo(), 500);
        let house = plan(&model)
            .set("BUDGET_STRANGER", "0.03")
            .clock(clock.shared())
            .store(&store)
            .on(Arc::clone(&platform))
            .build()
            .await;
        let mut last = None;
        for n in 0..8 {
            last = Some(house.say(&dm("7"), &format!("{run} {n}")).await);
            house.quiet().await;
            clock.advance(Duration::from_secs(30));
        }
        assert_eq!(
            refused(&house, last.unwrap()).await,
            ("budget".into(), "BUDGET_STRANGER".into())
        );
        assert!(today(&house).await.micros <= 30_000);
        assert_eq!(platform.texts("7").iter().filter(|text| text.contains("tomorrow")).count(), 1);
        assert_eq!(run == 0, model.calls() > 0, "a restart does not begin a new day");
        house.orchestrator.stop(PATIENCE).await;
        platform.unplug();
    }
    // The next day has a new budget, and a person answered yesterday is known.
    clock.advance(Duration::from_secs(24 * 60 * 60));
    let model = Priced::new("large", echo(), 500);
    let house = plan(&model)
        .set("BUDGET_STRANGER", "0")
        .clock(clock.shared())
        .store(&store)
        .on(Arc::clone(&platform))
        .build()
        .await;
    let id = house.say(&dm("7"), "good morning").await;
    house.quiet().await;
    assert_eq!(house.explain(id).await.state, InboxState::Done);
    let stranger = house.say(&dm("8"), "hello").await;
    house.quiet().await;
    assert_eq!(refused(&house, stranger).await.1, "BUDGET_STRANGER");
}

#[tokio::test]
async fn who_is_blocked_meanwhile_is_not_answered_and_reads_nothing() {
    let clock = ManualClock::new();
    let model = Priced::new("large", echo(), 10);
    let house = plan(&model).clock(clock.shared()).build().await;
    house.say(&dm("7"), "hello").await;
    house.quiet().await;
    let entry = Block {
        agent: house.agent,
        source: SOURCE,
        kind: BlockKind::Person,
        remote: RemoteId::new("7"),
        reason: "spam".into(),
        at: clock.now(),
    };
    house.store.block(&entry).await.unwrap();
    clock.advance(Duration::from_secs(2));
    let id = house.say(&dm("7"), "hello again").await;
    house.quiet().await;
    assert_eq!(
        refused(&house, id).await,
        ("blocked".into(), "galatea block rm stage person 7".into())
    );
    assert_eq!((model.calls(), house.platform.texts("7").len()), (1, 1));
}

/// 1,000 strangers write at once, among them ten known people. The test prints the costs; see them
/// with `--no-capture`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_strangers_at_once_cost_what_they_may_and_regulars_are_answered() {
    let store = Database::in_memory().await.unwrap();
    let gated = Gated::new(echo(), "at once");
    let model = Priced::new("large", Arc::clone(&gated) as _, 200);
    // At midnight the day's budget would begin anew.
    let house = plan(&model)
        .clock(ManualClock::new().shared())
        .set("BUDGET_AGENT", "2 USD")
        .set("LIMIT_AGENT", "100000/min, burst=100000")
        .store(&store)
        .build()
        .await;
    let regulars: Vec<Spot> = (0..10).map(|n| dm(format!("regular-{n}").leak())).collect();
    let yesterday = Day::of(house.clock.now()).0 - 1;
    let known: Vec<UsageRow> = regulars.iter().map(|spot| row(&house, spot, yesterday)).collect();
    house.store.add_usage(&known).await.unwrap();
    let began = Instant::now();
    let mut strangers = Vec::new();
    for n in 0..1_000 {
        strangers.push(house.say(&dm(format!("stranger-{n}").leak()), "at once").await);
    }
    let mut known = Vec::new();
    for spot in &regulars {
        known.push(house.say(spot, "at once").await);
    }
    // Each message is either refused or waits for an answer.
    let begun = async {
        loop {
            let lines = house.store.audit().await.unwrap();
            let open = lines.iter().map(|line| line.pending).sum::<u64>();
            if open == model.under_way.load(Ordering::SeqCst) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, begun).await.unwrap();
    let under_way = model.most.load(Ordering::SeqCst);
    gated.open(2_000);
    house.quiet().await;
    let used = today(&house).await;
    let mut answered = 0;
    for id in &strangers {
        answered += u64::from(house.explain(*id).await.state == InboxState::Done);
    }
    for id in &known {
        assert_eq!(house.explain(*id).await.state, InboxState::Done, "a regular");
    }
    let (cost, cap) = (model.cost(), 1_000_000);
    let strangers_cost = answered * cost;
    println!(
        "1,000 strangers and 10 regulars at once: {answered} strangers and 10 regulars answered, {} refused, {} notices; {under_way} calls under way at most; \
         strangers cost {:.4} of 1.0000 USD, all together {:.4} of 2.0000 USD; {} ms",
        used.refused,
        used.notices,
        strangers_cost as f64 / 1e6,
        used.micros as f64 / 1e6,
        began.elapsed().as_millis()
    );
    assert!(answered > 0 && answered + used.refused >= 1_000);
    assert!(strangers_cost <= cap + under_way * cost, "{strangers_cost}");
    assert_eq!(used.micros, (answered + 10) * cost);
}

/// A long answer is shortened to a few messages; the rest is sent only on request.
#[tokio::test]
async fn a_long_answer_is_continued_on_request() {
    let parts: Vec<String> = (0..14).map(|n| format!("p{n}{}", "x".repeat(60))).collect();
    let words = parts.join("||");
    let asked = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&asked);
    let model = Arc::new(ScriptedModel::answering(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        Ok(ScriptedModel::text(words.clone()))
    }));
    let house = Plan::new(model as _).set("ANSWER_PARTS", "4").build().await;
    let id = house.say(&dm("7"), "tell me all").await;
    house.quiet().await;
    let first = house.platform.texts("7");
    assert_eq!(first[..3], parts[..3]);
    assert!(first.len() == 4 && first[3].contains("more\""), "{first:?}");
    let explained = house.explain(id).await;
    assert!(
        explained
            .steps
            .iter()
            .any(|step| step.rule == "parts" && step.reason.contains("ANSWER_PARTS")),
        "{explained:?}"
    );
    for more in ["More!", "more", "more please"] {
        house.say(&dm("7"), more).await;
        house.quiet().await;
    }
    let said = crate::more::without_footers(&house.platform.texts("7"));
    assert_eq!(said, parts.concat(), "nothing is lost, doubled or out of order");
    assert_eq!(asked.load(Ordering::SeqCst), 1, "the rest needs no model");
    // The rest is no longer held back, so the word is an ordinary message.
    house.say(&dm("7"), "more").await;
    house.quiet().await;
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}
