//! Limits and budgets across the whole line: who is refused and who is not, what is stored, and
//! what a crowd of strangers can cost.

use async_trait::async_trait;
use galatea_core::{
    Clock, Models, RemoteId, Result, Source, StepOutcome, TextModel,
    model::{AnsweredBy, ModelInfo, Price, TextAnswer, TextRequest, Usage},
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

    async fn generate(
        &self,
        request: &TextRequest,
        on_text: &(dyn for<'t> Fn(&'t str) + Send + Sync),
    ) -> Result<TextAnswer> {
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
    let told = house.explain(id).await;
    assert_eq!(told.state, InboxState::Skipped, "{told:?}");
    let step = told.steps.iter().rev().find(|step| step.outcome == StepOutcome::Skip).unwrap();
    (step.rule.to_string(), told.change.unwrap().setting)
}

#[tokio::test]
async fn a_flood_is_answered_at_its_rate_noticed_once_and_everybody_else_is_answered() {
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
        assert_eq!(run == 0, model.calls() > 0, "a restart is no new day");
        house.orchestrator.stop(PATIENCE).await;
        platform.unplug();
    }
    // The next day has a new budget, and a person answered yesterday is no stranger.
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
async fn from_80_percent_the_small_model_answers_and_owners_are_reported_once() {
    let (large, small) = (
        Priced::new("large", echo(), 500),
        Priced::at(
            Price { input: 1, cached: 1, output: 1, ..Price::default() },
            "small",
            echo(),
            0,
        ),
    );
    let mut plan = plan(&large)
        .set("BUDGET_AGENT", "0.05")
        .set("AGENT_OWNERS", "stage:owner")
        .set("LIMIT_PERSON", "none");
    plan.models =
        Models { small: Arc::clone(&small) as _, large: Arc::clone(&large) as _, ..plan.models };
    let house = plan.set("STRANGERS_SHARE", "100").set("BUDGET_STRANGER", "none").build().await;
    house.say(&dm("owner"), "hello").await;
    house.quiet().await;
    let mut last = None;
    for n in 0..8 {
        last = Some(house.say(&dm(["1", "2", "3", "4"][n % 4]), "hello").await);
        house.quiet().await;
    }
    // A call of the large model costs 0.6 cents, so seven calls exceed four cents, 80 percent of
    // the budget.
    assert_eq!((large.calls(), small.calls()), (7, 2));
    let told = house.explain(last.unwrap()).await;
    assert!(
        told.steps
            .iter()
            .any(|step| step.rule == "budget" && step.reason.contains("the small model answers")),
        "{told:?}"
    );
    let shown = |platform: &Platform| {
        platform.texts("owner").iter().any(|text| text.contains("BUDGET_AGENT"))
    };
    house.platform.until("the owner to be told", |_| shown(&house.platform)).await;
    house.quiet().await;
    assert_eq!(
        house.platform.texts("owner").iter().filter(|text| text.contains("BUDGET_AGENT")).count(),
        1
    );
}

#[tokio::test]
async fn owners_are_exempt_and_counted() {
    let model = Priced::new("large", echo(), 10);
    let house = plan(&model)
        .set("LIMIT_PERSON", "1/day")
        .set("BUDGET_AGENT", "0")
        .set("AGENT_OWNERS", "stage:7")
        .build()
        .await;
    for n in 0..3 {
        house.say(&dm("7"), &format!("{n}")).await;
        house.quiet().await;
    }
    let other = house.say(&dm("8"), "hello").await;
    house.quiet().await;
    assert_eq!(model.calls(), 3);
    assert_eq!(refused(&house, other).await.1, "BUDGET_AGENT");
    assert_eq!(today(&house).await.answers, 3);
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

/// 1,000 strangers write at once, among them ten known people. The test prints the costs; see them
/// with `--no-capture`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_strangers_at_once_cost_what_they_may_and_regulars_are_answered() {
    let store = Database::in_memory().await.unwrap();
    let gated = Gated::new(echo(), "at once");
    let model = Priced::new("large", Arc::clone(&gated) as _, 200);
    let house = plan(&model)
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
async fn owners_block_in_a_chat_and_others_cannot() {
    let clock = ManualClock::new();
    let model = Priced::new("large", echo(), 10);
    let house = plan(&model).set("AGENT_OWNERS", "stage:owner").clock(clock.shared()).build().await;
    house.say(&group("g", "7"), "/block owner").await;
    house.quiet().await;
    assert_eq!(house.store.blocks(house.agent).await.unwrap(), []);
    house.say(&group("g", "owner"), "/block 7").await;
    house.quiet().await;
    clock.advance(Duration::from_secs(2));
    let id = house.say(&dm("7"), "hello").await;
    house.quiet().await;
    assert_eq!(refused(&house, id).await.0, "blocked");
    house.say(&group("g", "owner"), "/unblock 7").await;
    house.quiet().await;
    clock.advance(Duration::from_secs(2));
    let id = house.say(&dm("7"), "hello").await;
    house.quiet().await;
    assert_eq!(house.explain(id).await.state, InboxState::Done);
}

/// A long answer is shortened to a few messages; the rest is sent only on request.
#[tokio::test]
async fn a_long_answer_is_continued_on_request() {
    let parts: Vec<String> = (0..11).map(|n| format!("p{n}")).collect();
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
    assert_eq!(first[..3], ["p0", "p1", "p2"]);
    assert!(first.len() == 4 && first[3].contains("more"), "{first:?}");
    let told = house.explain(id).await;
    assert!(
        told.steps.iter().any(|step| step.rule == "parts" && step.reason.contains("ANSWER_PARTS")),
        "{told:?}"
    );
    for more in ["More!", "more", "more please"] {
        house.say(&dm("7"), more).await;
        house.quiet().await;
    }
    let said: Vec<String> = house
        .platform
        .texts("7")
        .into_iter()
        .filter(|text| !text.contains("There is more"))
        .collect();
    assert_eq!(said, parts, "nothing is lost, doubled or out of order");
    assert_eq!(asked.load(Ordering::SeqCst), 1, "the rest needs no model");
    // Nothing is held back any more, so the word is an ordinary message.
    house.say(&dm("7"), "more").await;
    house.quiet().await;
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

/// A chain in which another model than the first answers, at a price of its own.
struct FallsBack(Arc<Priced>, Price);

#[async_trait]
impl TextModel for FallsBack {
    fn info(&self) -> &ModelInfo {
        self.0.info()
    }

    async fn generate(
        &self,
        request: &TextRequest,
        on_text: &(dyn for<'t> Fn(&'t str) + Send + Sync),
    ) -> Result<TextAnswer> {
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
    let told: Vec<_> = rows
        .iter()
        .map(|row| (row.model.as_str(), row.amount.micros, row.amount.unpriced))
        .collect();
    // A hundredth of the first model's price, for 1,000 tokens read and 10 written.
    assert_eq!(told, [("another cheap", 11, 0)]);
}

/// A platform whose private chats have ids of their own, as on Discord.
#[tokio::test]
async fn owners_are_warned_where_a_private_chat_has_an_id_of_its_own() {
    let model = Priced::new("large", echo(), 500);
    let house = plan(&model)
        .set("BUDGET_AGENT", "0.05")
        .set("AGENT_OWNERS", "stage:owner")
        .set("LIMIT_PERSON", "none")
        .set("STRANGERS_SHARE", "100")
        .set("BUDGET_STRANGER", "none")
        .build()
        .await;
    house.say(&group("g", "owner"), "I am here as well").await;
    house.say(&Spot { world: "chat", room: "chat", ..dm("owner") }, "hello").await;
    house.quiet().await;
    for n in 0..8 {
        house.say(&dm(["1", "2", "3", "4"][n % 4]), "hello").await;
        house.quiet().await;
    }
    let warned = |room: &str| {
        house.platform.texts(room).iter().filter(|text| text.contains("BUDGET_AGENT")).count()
    };
    house.platform.until("the owner to be warned", |_| warned("chat") == 1).await;
    assert_eq!((warned("g"), warned("owner")), (0, 0));
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
