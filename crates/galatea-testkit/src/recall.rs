//! Measures recall on the set in `tests/recall`: how often the evidence of a question is among the
//! first hits, by words, by meaning and by both.
#![allow(clippy::unwrap_used, reason = "the data lie in the repository")]
#![allow(clippy::cast_precision_loss, reason = "a few hundred questions")]

use galatea_core::{
    AgentId, Content, Derived, Embedding, Entity, EntityId, Memory, MemoryId, MemoryKind,
    MemoryScope, Result, RoomId, Store, Timestamp,
    fusion::{self, Fusion, Named},
    store::{DerivedChange, RecallQuery},
};
use serde::{Deserialize, de::DeserializeOwned};
use std::{
    collections::{BTreeMap, HashMap},
    fmt, fs,
    path::PathBuf,
    sync::Arc,
};

use crate::store_suite::fixtures::Scene;

/// Name of the model whose vectors are shipped.
pub const MODEL: &str = "all-MiniLM-L6-v2";
/// Numbers of a vector.
const WIDTH: usize = 384;
/// Rows written in one change.
const BATCH: usize = 500;

#[derive(Debug, Clone, Deserialize)]
struct Turn {
    at: i64,
    who: String,
    text: String,
}

#[derive(Debug, Clone, Deserialize)]
struct Fact {
    about: String,
    text: String,
}

/// A question with its evidence.
#[derive(Debug, Clone, Deserialize)]
pub struct Question {
    /// The question.
    pub question: String,
    /// Numbers of turns, or of facts.
    pub evidence: Vec<usize>,
    /// `words`, `paraphrase`, `german`, `chinese` or `fact`.
    pub kind: String,
    /// People it names: what a search has to find by itself.
    pub names: Vec<String>,
}

impl Question {
    /// The text whose vector the set has as that of the question without names.
    pub fn embedded(&self) -> String {
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        fusion::embedded_question(&self.question, &names)
    }
}

/// The set.
#[derive(Debug)]
pub struct Set {
    turns: Vec<Turn>,
    facts: Vec<Fact>,
    /// Its questions.
    pub questions: Vec<Question>,
    vectors: Vec<i8>,
}

/// Levers of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Search {
    /// Words are searched.
    pub words: bool,
    /// Meaning is searched.
    pub meaning: bool,
    /// Names are left out of embedded questions, and of the words that messages are searched by.
    pub without_names: bool,
    /// The weights of both.
    pub fusion: Fusion,
}

/// The hits of a search.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Figures {
    /// Questions asked.
    pub asked: usize,
    /// Share with evidence in the first place.
    pub first: f64,
    /// Share with evidence among five.
    pub five: f64,
    /// Share with evidence among ten.
    pub ten: f64,
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, five, ten] = [self.first, self.five, self.ten].map(|share| 100.0 * share);
        write!(f, "{:4} {first:6.1} {five:6.1} {ten:6.1}", self.asked)
    }
}

fn lines<T: DeserializeOwned>(name: &str) -> Vec<T> {
    let text = fs::read_to_string(folder().join(name)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/recall")
}

impl Set {
    /// Reads the set of the repository.
    pub fn load() -> Self {
        let bytes = fs::read(folder().join("vectors.bin")).unwrap();
        let set = Self {
            turns: lines("turns.jsonl"),
            facts: lines("facts.jsonl"),
            questions: lines("questions.jsonl"),
            vectors: bytes.into_iter().map(u8::cast_signed).collect(),
        };
        let rows = set.turns.len() + set.facts.len() + 2 * set.questions.len();
        assert_eq!(set.vectors.len(), rows * WIDTH, "vectors.bin belongs to other texts");
        set
    }

    /// Number of turns that it has.
    pub fn turns(&self) -> usize {
        self.turns.len()
    }

    /// The speaker of each turn.
    pub fn speakers(&self) -> impl Iterator<Item = &str> {
        self.turns.iter().map(|turn| turn.who.as_str())
    }

    fn vector(&self, row: usize) -> Result<Embedding> {
        let numbers = &self.vectors[row * WIDTH..(row + 1) * WIDTH];
        Embedding::new(numbers.iter().map(|n| f32::from(*n)).collect())
    }

    fn turn_vector(&self, n: usize) -> Result<Embedding> {
        self.vector(n)
    }

    fn fact_vector(&self, n: usize) -> Result<Embedding> {
        self.vector(self.turns.len() + n)
    }

    fn question_vector(&self, n: usize, without_names: bool) -> Result<Embedding> {
        let first = self.turns.len() + self.facts.len();
        self.vector(first + if without_names { self.questions.len() + n } else { n })
    }
}

/// A store with the set in it.
pub struct Filled {
    store: Arc<dyn Store>,
    set: Set,
    scene: Scene,
    /// The participants of the room, as the store has them.
    people: Vec<Entity>,
    turns: HashMap<MemoryId, usize>,
    facts: HashMap<MemoryId, usize>,
}

impl Filled {
    /// Stores the set's turns and facts in one room, with their embeddings.
    ///
    /// Errors of the store.
    pub async fn new(store: Arc<dyn Store>, set: Set) -> Result<Self> {
        Self::of(store, set, AgentId::fresh(), MODEL).await
    }

    /// The same in a room of this agent, with the embeddings stored as those of `model`
    /// ([`galatea_core::ModelInfo::full_name`]).
    ///
    /// Errors of the store.
    pub async fn of(store: Arc<dyn Store>, set: Set, agent: AgentId, model: &str) -> Result<Self> {
        let scene = Scene { agent, ..Scene::new() };
        let mut people: HashMap<String, EntityId> = HashMap::new();
        for name in set.turns.iter().map(|turn| &turn.who) {
            people.entry(name.clone()).or_insert_with(EntityId::fresh);
        }
        let mut connections = scene.connections();
        for (name, person) in &people {
            connections.entities.push(scene.entity_change(*person, &[name]));
            connections.participants.push((*person, scene.room));
        }
        store.connect(connections).await?;
        let mut turns = Vec::with_capacity(set.turns.len());
        for turn in &set.turns {
            turns.push(Memory {
                entity_id: people[&turn.who],
                content: Content::text(turn.text.as_str()),
                created_at: Timestamp(turn.at),
                ..scene.memory("", 0)
            });
        }
        for (n, some) in turns.chunks(BATCH).enumerate() {
            store.save_memories(some).await?;
            let embeddings = some
                .iter()
                .enumerate()
                .map(|(m, memory)| Ok((memory, set.turn_vector(n * BATCH + m)?)))
                .collect::<Result<Vec<_>>>()?;
            store.save_embeddings(scene.agent, model, &embeddings).await?;
        }
        let facts: Vec<Derived> = set
            .facts
            .iter()
            .map(|fact| {
                let memory = Memory {
                    kind: MemoryKind::Facts,
                    entity_id: people[&fact.about],
                    content: Content::text(fact.text.as_str()),
                    ..scene.memory("", 0)
                };
                Derived::new(memory, MemoryScope::World, vec![turns[0].id])
            })
            .collect();
        let change = DerivedChange { new: facts.clone(), ..DerivedChange::default() };
        store.change_derived(scene.agent, &change).await?;
        let embeddings = facts
            .iter()
            .enumerate()
            .map(|(n, fact)| Ok((&fact.memory, set.fact_vector(n)?)))
            .collect::<Result<Vec<_>>>()?;
        store.save_embeddings(scene.agent, model, &embeddings).await?;
        while !store.index_words().await? {}
        let turns = turns.iter().enumerate().map(|(n, memory)| (memory.id, n)).collect();
        let facts = facts.iter().enumerate().map(|(n, fact)| (fact.memory.id, n)).collect();
        let people = store.entities_in_room(scene.room).await?;
        Ok(Self { store, set, scene, people, turns, facts })
    }

    /// Whom a question names, found as in prompts among those who take part in the room.
    fn named(&self, question: &Question) -> Named {
        let named = fusion::named(&question.question, self.people.iter().flat_map(Entity::called));
        let names: Vec<&str> = named.names.iter().map(String::as_str).collect();
        let embedded = fusion::embedded_question(&question.question, &names);
        assert_eq!(embedded, question.embedded(), "the set has no vector of this text");
        named
    }

    /// The room with the turns.
    pub fn room(&self) -> RoomId {
        self.scene.room
    }

    /// Time at which the last turn was said.
    pub fn end(&self) -> Timestamp {
        Timestamp(self.set.turns.last().map_or(0, |turn| turn.at))
    }

    /// The texts of a question's evidence.
    pub fn evidence<'a>(&'a self, question: &'a Question) -> impl Iterator<Item = &'a str> {
        let text = |n: &usize| match question.kind.as_str() {
            "fact" => self.set.facts[*n].text.as_str(),
            _ => self.set.turns[*n].text.as_str(),
        };
        question.evidence.iter().map(text)
    }

    /// The vector of a question without names, by the text that is embedded; none of other texts.
    pub fn vector_of(&self, embedded: &str) -> Option<Vec<f32>> {
        let n = self.set.questions.iter().position(|question| question.embedded() == embedded)?;
        let vector = self.set.question_vector(n, true).ok()?;
        Some(vector.numbers().to_vec())
    }

    /// The questions of the set.
    pub fn questions(&self) -> &[Question] {
        &self.set.questions
    }

    /// The place of the evidence of one question, from 1; none if it is not among ten.
    ///
    /// Errors of the store.
    pub async fn place(&self, n: usize, search: &Search) -> Result<Option<usize>> {
        let question = &self.set.questions[n];
        let text = if search.words { question.question.as_str() } else { "" };
        let fact = question.kind == "fact";
        let kind = if fact { MemoryKind::Facts } else { MemoryKind::Messages };
        let now = Timestamp(self.set.turns.last().map_or(0, |turn| turn.at));
        let mut query = RecallQuery::new(self.scene.visible(), text, 10, now).kind(kind);
        query.fusion = search.fusion;
        query = query.naming(self.named(question));
        if !search.without_names {
            query.names.clear();
        }
        if search.meaning {
            query = query.meaning(MODEL, self.set.question_vector(n, search.without_names)?);
        }
        let found = self.store.recall(&query).await?;
        let ids = if fact { &self.facts } else { &self.turns };
        let is_evidence = |id: &MemoryId| question.evidence.contains(&ids[id]);
        Ok(found.iter().position(|hit| is_evidence(&hit.memory.id)).map(|at| at + 1))
    }

    /// Of the five best hits for one question that have at least so much of its words whether each is
    /// evidence. With `before` only what was said before the evidence is searched, so that none is.
    ///
    /// Errors of the store.
    pub async fn best(
        &self,
        n: usize,
        search: &Search,
        coverage: f32,
        before: bool,
    ) -> Result<Vec<bool>> {
        let question = &self.set.questions[n];
        let now = Timestamp(self.set.turns.last().map_or(0, |turn| turn.at));
        let mut query = RecallQuery::new(self.scene.visible(), question.question.as_str(), 5, now)
            .kind(MemoryKind::Messages);
        (query.fusion, query.coverage) = (search.fusion, coverage);
        query = query.naming(self.named(question));
        if search.meaning {
            query = query.meaning(MODEL, self.set.question_vector(n, true)?);
        }
        if before {
            let first = question.evidence.iter().map(|turn| self.set.turns[*turn].at).min();
            query.before = first.map(Timestamp);
        }
        let found = self.store.recall(&query).await?;
        let is_evidence = |id: &MemoryId| question.evidence.contains(&self.turns[id]);
        Ok(found.iter().map(|hit| is_evidence(&hit.memory.id)).collect())
    }

    /// The questions of those that `choose` takes, in all and by kind.
    ///
    /// Errors of the store.
    pub async fn measure(
        &self,
        search: &Search,
        choose: impl Fn(usize, &Question) -> bool,
    ) -> Result<BTreeMap<String, Figures>> {
        let mut places: BTreeMap<String, Vec<Option<usize>>> = BTreeMap::new();
        for (n, question) in self.set.questions.iter().enumerate() {
            if choose(n, question) {
                let place = self.place(n, search).await?;
                places.entry(question.kind.clone()).or_default().push(place);
                if question.kind != "fact" {
                    places.entry("turns".to_owned()).or_default().push(place);
                }
            }
        }
        Ok(places.into_iter().map(|(kind, places)| (kind, figures(&places))).collect())
    }
}

fn figures(places: &[Option<usize>]) -> Figures {
    let share = |most: usize| {
        let found = places.iter().flatten().filter(|place| **place <= most).count();
        found as f64 / places.len().max(1) as f64
    };
    Figures { asked: places.len(), first: share(1), five: share(5), ten: share(10) }
}
