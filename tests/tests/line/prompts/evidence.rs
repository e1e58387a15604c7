//! Evidence that reaches the prompts of questions: the set of `tests/recall` through the
//! providers MEMORIES and FACTS, by words and with embeddings.
#![allow(clippy::print_stdout, reason = "figures for people")]

use async_trait::async_trait;
use galatea_core::{
    Address, AgentView, Character, Clock, Content, EmbeddingModel, EventBus, Memory, MemoryId,
    MemoryKind, ModelInfo, Models, Outbound, Outgoing, Plugin, Result, RoomPeople, Services,
    Settings, State, Store, Turn, TurnId, TurnUsage,
    store::{Envelope, MemoryQuery, PluginCache, PluginStore, UsageRow},
    tokens::Family,
    turn::Catalog,
};
use galatea_store::{Database, SqliteOptions};
use galatea_testkit::{
    clock::ManualClock,
    models::ScriptedModel,
    recall::{Filled, MODEL, Set},
};
use serde_json::{Map, json};
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

/// Newest messages that the prompt shows anyway.
const SHOWN: u32 = 8;
/// Targets of the share of questions whose evidence is in the prompt, by words and with embeddings.
const BY_WORDS: f64 = 0.60;
const BY_MEANING: f64 = 0.70;
/// Figures are written to the file that this variable names (`cargo xtask bench --prompts`).
const FIGURES: &str = "GALATEA_EVIDENCE_FIGURES";

struct Nothing;

#[async_trait]
impl Outbound for Nothing {
    async fn send_message_to_target(&self, _: &Address, _: Outgoing) -> Result<()> {
        Ok(())
    }
}

impl TurnUsage for Nothing {
    fn take(&self) -> Vec<UsageRow> {
        Vec::new()
    }
    fn put_back(&self, _: Vec<UsageRow>) {}
}

/// The model of the set, which knows the vectors of its questions.
struct Vectors {
    info: ModelInfo,
    of: HashMap<String, Vec<f32>>,
}

#[async_trait]
impl EmbeddingModel for Vectors {
    fn info(&self) -> &ModelInfo {
        &self.info
    }
    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>> {
        Ok(texts.iter().map(|text| self.of[text].clone()).collect())
    }
}

/// The room of the set, as a turn sees it.
struct Stage {
    agent: AgentView,
    store: Arc<dyn PluginStore>,
    cache: PluginCache,
    filled: Filled,
    models: Models,
    people: RoomPeople,
    room: galatea_core::Room,
    recent: Vec<Arc<Memory>>,
    plugin: Plugin,
    clock: Arc<dyn Clock>,
}

/// The evidence in the prompt of a question.
struct Shown {
    memories: String,
    facts: String,
}

impl Stage {
    async fn new(store: Arc<Database>) -> Self {
        let character = Character { name: "Eliza".into(), ..Character::default() };
        let identity = character.identity();
        let info =
            ModelInfo { provider: "test".into(), model: MODEL.into(), ..ModelInfo::default() };
        let set = Set::load();
        let name = info.full_name();
        let filled =
            Filled::of(Arc::clone(&store) as Arc<dyn Store>, set, identity.id(), &name).await;
        let filled = filled.unwrap();
        let questions = filled.questions().iter().map(galatea_testkit::recall::Question::embedded);
        let of = questions.filter_map(|text| Some((text.clone(), filled.vector_of(&text)?)));
        let mut models = Models::of_text(Arc::new(ScriptedModel::saying("{}")));
        models.embedding = Some(Arc::new(Vectors { info, of: of.collect() }));
        let plugins: Arc<dyn PluginStore> = Arc::clone(&store) as _;
        let room = plugins.room(filled.room()).await.unwrap().unwrap();
        let people = plugins.entities_in_room(room.id).await.unwrap();
        let newest = MemoryQuery::new(identity.id(), SHOWN).room(room.id);
        let newest = plugins.memories(&newest.kind(MemoryKind::Messages)).await.unwrap();
        let clock = ManualClock::at(filled.end());
        Self {
            cache: PluginCache::new(Arc::clone(&store) as _, identity.id(), "bootstrap"),
            people: RoomPeople::new(identity.entity(), &people),
            agent: AgentView {
                identity,
                character: Arc::new(character),
                settings: Settings::default(),
                zone: Arc::default(),
            },
            store: plugins,
            filled,
            models,
            room,
            recent: newest.into_iter().rev().map(Arc::new).collect(),
            plugin: galatea_bootstrap::plugin(),
            clock: clock.shared(),
        }
    }

    async fn ask(&self, question: &str) -> Shown {
        let last = self.recent.last().unwrap();
        let message = Memory {
            id: MemoryId::fresh(),
            content: Content::text(question),
            created_at: self.clock.now(),
            metadata: Map::from_iter([("entityName".to_owned(), json!("someone new"))]),
            ..Memory::clone(last)
        };
        let (envelope, state, services) =
            (Envelope::default(), State::default(), Services::default());
        let events = EventBus::default();
        let events = galatea_core::EventHandle::new(events, self.agent.identity.id(), "test");
        let catalog = Catalog::default();
        let outbound: Arc<dyn Outbound> = Arc::new(Nothing);
        let turn = Turn {
            id: TurnId::fresh(),
            agent: &self.agent,
            room: &self.room,
            world: None,
            people: &self.people,
            handle: None,
            files: true,
            message: &message,
            envelope: &envelope,
            merged: &[],
            recent: &self.recent,
            earlier: self.recent.first().map(|memory| memory.created_at),
            leaving: 0,
            state: &state,
            store: &self.store,
            cache: &self.cache,
            models: &self.models,
            usage: &Nothing,
            services: &services,
            catalog: &catalog,
            clock: &self.clock,
            events: &events,
            outbound: &outbound,
        };
        let provider =
            |name: &str| self.plugin.providers.iter().find(|p| p.name() == name).unwrap();
        Shown {
            memories: provider("MEMORIES").provide(&turn).await.unwrap().text,
            facts: provider("FACTS").provide(&turn).await.unwrap().text,
        }
    }

    /// The share of questions whose evidence is shown, in all and by kind, of those of odd number, on
    /// which no lever was chosen; and the tokens of the earlier messages.
    #[allow(clippy::cast_precision_loss, reason = "a few hundred questions")]
    async fn measure(&self, name: &str) -> (f64, f64) {
        let mut kinds: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        let mut tokens = Vec::new();
        for question in self.filled.questions().iter().skip(1).step_by(2) {
            let shown = self.ask(&question.question).await;
            let mut evidence = self.filled.evidence(question);
            let text = if question.kind == "fact" { &shown.facts } else { &shown.memories };
            let found = evidence.any(|said| text.contains(said));
            for kind in [question.kind.as_str(), "all"] {
                let of = kinds.entry(kind).or_default();
                of.0 += usize::from(found);
                of.1 += 1;
            }
            tokens.push(Family::Other.text(&shown.memories));
        }
        let share = |(found, of): (usize, usize)| found as f64 / of as f64;
        for (kind, of) in &kinds {
            println!("{name:10} {kind:12} {:5.1} % of {}", 100.0 * share(*of), of.1);
        }
        tokens.sort_unstable();
        let mean = tokens.iter().sum::<u64>() as f64 / tokens.len() as f64;
        let most = tokens.last().copied().unwrap_or_default();
        println!("{name:10} tokens of MEMORIES: {mean:.0}, {most} at most");
        assert!(most <= 640, "{most}");
        (share(kinds["all"]), mean)
    }
}

#[tokio::test]
async fn evidence_reaches_the_prompt() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("galatea.db");
    let store = Arc::new(Database::sqlite(&path, SqliteOptions::default()).await.unwrap());
    let mut stage = Stage::new(Arc::clone(&store)).await;
    let (by_meaning, of_meaning) = stage.measure("meaning").await;
    stage.models.embedding = None;
    stage.plugin = galatea_bootstrap::plugin();
    let (by_words, of_words) = stage.measure("words").await;
    if let Some(path) = std::env::var_os(FIGURES) {
        let figures = json!({
            "words": by_words, "meaning": by_meaning,
            "wordsTokens": of_words, "meaningTokens": of_meaning,
        });
        std::fs::write(path, figures.to_string()).unwrap();
    }
    assert!(by_words >= BY_WORDS, "{by_words}");
    assert!(by_meaning >= BY_MEANING, "{by_meaning}");
    // Where nothing of a question was said before, nothing is shown.
    let shown = stage.ask("grlmpf zzyzx?").await.memories;
    assert_eq!(shown, "");
    store.close().await;
}
