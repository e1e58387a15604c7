//! Memories and documents are embedded without a turn, at the cost of the agent alone, and no more
//! of them than the agent may pay for in a day.

use async_trait::async_trait;
use galatea_core::{
    Clock, EmbeddingModel, MemoryKind, ModelInfo, Result, SecretString, Store, fusion,
    store::{Day, Holder, MemoryQuery, PluginCache, UsageRow},
    tokens::Family,
};
use galatea_http::{HttpClient, HttpOptions};
use galatea_knowledge::{Library, LibraryParts, Origin, Parser, Place, Source};
use galatea_store::{Database, PostgresOptions};
use galatea_testkit::{clock::ManualClock, postgres};
use std::{fs, path::Path, sync::Arc, time::Duration};

use crate::{
    house::{House, Plan, character, group},
    models::echo,
    platform::PATIENCE,
};

/// Requests have 64 texts, and a pass has 16 requests.
const BATCH: usize = 64;
const ALL: usize = 100;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// An embedding model whose price is not known.
struct Plain(ModelInfo);

impl Plain {
    fn shared() -> Arc<dyn EmbeddingModel> {
        let info =
            ModelInfo { provider: "test".into(), model: "plain".into(), ..ModelInfo::default() };
        Arc::new(Self(info))
    }
}

#[async_trait]
impl EmbeddingModel for Plain {
    fn info(&self) -> &ModelInfo {
        &self.0
    }
    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>> {
        Ok(texts.iter().map(|_| vec![1.0, 0.5]).collect())
    }
}

/// A cap of the agent of which work in the background may use this half.
fn cap(half: u64) -> &'static str {
    format!("{} tokens", 2 * half).leak()
}

/// Lets time pass in steps of a second until so many memories of a kind have an embedding.
async fn until_embedded(house: &House, clock: &ManualClock, kind: MemoryKind, wanted: usize) {
    let query = MemoryQuery::new(house.agent, 1_000).kind(kind);
    let waiting =
        async || house.store.without_embedding(&query, "test plain", None).await.unwrap().len();
    let wait = async {
        while waiting().await > ALL - wanted {
            clock.advance(Duration::from_secs(1));
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let ended = tokio::time::timeout(PATIENCE, wait).await;
    assert!(ended.is_ok(), "{} wait", waiting().await);
}

/// Usage of each of two days. All of it is the agent's own.
async fn used(house: &House, service: &str, first: Day) -> [u64; 2] {
    let rows: Vec<UsageRow> = house.store.usage(Some(house.agent), Day(0)).await.unwrap();
    for row in rows.iter().filter(|row| row.amount.calls > 0) {
        assert_eq!((row.person.0, row.source.as_str()), (house.agent.0, service), "{row:?}");
    }
    let of = |day| rows.iter().filter(|row| row.day == day).map(|row| row.amount.input).sum();
    [of(first), of(Day(first.0 + 1))]
}

async fn messages_stop_at_the_cap(store: Arc<dyn Store>) {
    let (clock, spot) = (ManualClock::new(), group("club", "7"));
    let today = Day::of(clock.now());
    let text = |n: usize| format!("remark number {}", 100 + n);
    let each = Family::of("plain").text(&fusion::embedded_text(Some(&text(0)), &text(0)));
    // A batch fits into a day. All messages do not.
    let half = each * (u64::try_from(BATCH).unwrap() + 6);
    let mut plan = Plan::new(echo())
        .plugin(galatea_bootstrap::plugin())
        .set("LIMITS", "on")
        .set("BUDGET_STRANGER", "1 tokens")
        .set("BUDGET_AGENT", cap(half))
        .set("EVALUATION_PAUSE_SECONDS", "0")
        .clock(clock.shared());
    plan.models.embedding = Some(Plain::shared());
    plan.store = Some(store);
    let house = plan.build().await;
    // The imported messages get no answer: the agent is not addressed.
    let said = (0..ALL).map(|n| house.message(&spot, &text(n))).collect();
    house.receive(said).await;
    until_embedded(&house, &clock, MemoryKind::Messages, BATCH).await;
    // Without a limit the rest would follow at once.
    tokio::time::sleep(Duration::from_millis(200)).await;
    clock.advance(DAY);
    until_embedded(&house, &clock, MemoryKind::Messages, ALL).await;
    let [first, second] = used(&house, "memory", today).await;
    assert!((1..=half).contains(&first) && (1..=half).contains(&second), "{first} {second} {half}");
    let person = Holder::Person(house.entity(&spot));
    for day in [today, Day(today.0 + 1)] {
        let standing = house.store.standing(house.agent, day, &person).await.unwrap();
        assert_eq!(standing.today.input, 0, "no person pays for it");
    }
    assert!(house.platform.texts("club").is_empty());
}

#[tokio::test]
async fn messages_are_embedded_without_a_turn_until_the_agents_cap_and_go_on_the_next_day() {
    messages_stop_at_the_cap(Arc::new(Database::in_memory().await.unwrap())).await;
}

#[tokio::test]
async fn messages_do_so_in_postgresql() {
    let database = postgres::Database::fresh().await;
    let url = SecretString::from(database.url());
    let store = Database::postgres(&url, PostgresOptions::default()).await.unwrap();
    messages_stop_at_the_cap(Arc::new(store)).await;
}

fn library(store: &Arc<dyn Store>, clock: &ManualClock, folder: &Path) -> Library {
    let identity = character("Eliza").identity();
    Library::new(LibraryParts {
        cache: PluginCache::new(Arc::clone(store) as _, identity.id(), galatea_knowledge::NAME),
        identity,
        sources: vec![Source {
            place: Place::Path(folder.to_owned()),
            shared: false,
            origin: Origin::Character,
        }],
        store: Arc::clone(store) as _,
        usage: Arc::clone(store) as _,
        embedding: Some(Plain::shared()),
        parser: Parser::new("/nonexistent".into()),
        http: HttpClient::new(HttpOptions::default()).unwrap(),
        hosts: Vec::new(),
        clock: clock.shared(),
    })
}

#[tokio::test]
async fn documents_are_embedded_until_the_agents_cap_and_go_on_the_next_day() {
    let (clock, folder) = (ManualClock::new(), tempfile::tempdir().unwrap());
    let today = Day::of(clock.now());
    let store: Arc<dyn Store> = Arc::new(Database::in_memory().await.unwrap());
    for n in 100..100 + ALL {
        let path = folder.path().join(format!("{n}.txt"));
        fs::write(&path, format!("Document {n} tells of kettle {n}.")).unwrap();
        let time = std::time::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    }
    // Every piece has the title and the text of its file.
    let each = Family::of("plain").text("100\n\nDocument 100 tells of kettle 100.");
    let half = each * (u64::try_from(BATCH).unwrap() + 20);
    let every = Duration::from_millis(20);
    let mut plan = Plan::new(echo())
        .plugin(galatea_knowledge::plugin(library(&store, &clock, folder.path()), every))
        .set("LIMITS", "on")
        .set("BUDGET_AGENT", cap(half))
        .clock(clock.shared());
    plan.models.embedding = Some(Plain::shared());
    plan.store = Some(Arc::clone(&store));
    let house = plan.build().await;
    let pieces = async || {
        let query = MemoryQuery::new(house.agent, 1_000).kind(MemoryKind::Fragments);
        house.store.count_memories(&query).await.unwrap()
    };
    let read = async {
        while pieces().await < ALL as u64 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, read).await.unwrap();
    until_embedded(&house, &clock, MemoryKind::Fragments, BATCH).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    clock.advance(DAY);
    until_embedded(&house, &clock, MemoryKind::Fragments, ALL).await;
    let [first, second] = used(&house, "knowledge", today).await;
    assert!((1..=half).contains(&first) && (1..=half).contains(&second), "{first} {second} {half}");
}
