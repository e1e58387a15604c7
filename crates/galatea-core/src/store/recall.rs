//! Hybrid search of memories, by words and by meaning.

use async_trait::async_trait;

use crate::{
    clock::Timestamp,
    derived::MemoryScope,
    embedding::Embedding,
    error::Result,
    fusion::{Fusion, Named, Ranked},
    ids::{EntityId, RoomId},
    memory::{Memory, MemoryKind},
    visibility::Visibility,
};

/// Most hits of one query.
pub const MOST_RECALLED: u32 = 200;

/// Search of memories by words and by meaning.
#[async_trait]
pub trait RecallStore: Send + Sync {
    /// The memories that match best, the best first. Without words and meaning: the newest. Called
    /// by providers in each turn, and by commands.
    ///
    /// A memory counts as a match if it shares a word with the text, or if it has an embedding of
    /// one of the models. Superseded memories and those outside of `visible` are never among them.
    async fn recall(&self, query: &RecallQuery) -> Result<Vec<Recalled>>;

    /// Brings the index of words up to what is stored, or some 2,000 memories towards it: false if
    /// some are left. Called after many were stored at once, and by commands before they search. A
    /// search in a turn does not wait for more, and may miss what is not indexed.
    ///
    /// # Errors
    /// Those of the store.
    async fn index_words(&self) -> Result<bool> {
        Ok(true)
    }
}

/// The question.
#[derive(Debug, Clone, PartialEq)]
pub struct RecallQuery {
    /// From where: which memories may be seen at all.
    pub visible: Visibility,
    /// Sorts; messages, facts, summaries and profiles when empty.
    pub kinds: Vec<MemoryKind>,
    /// Only in this room.
    pub room: Option<RoomId>,
    /// Only by (messages) or about (facts) these people: one person under all linked ids.
    pub people: Vec<EntityId>,
    /// Only memories of this time or later.
    pub since: Option<Timestamp>,
    /// Before: such as the beginning of the conversation that the prompt shows anyway.
    pub before: Option<Timestamp>,
    /// Also finds memories that newer ones have replaced.
    pub superseded: bool,
    /// The question in its own words, in any language; every word is optional.
    pub text: String,
    /// The question's meaning, one for each model whose embeddings are in the store: the present
    /// one, and during a change of the model the one before.
    pub meanings: Vec<Meaning>,
    /// People whom the question names: what they said, or what is known about them, ranks higher.
    pub named: Vec<EntityId>,
    /// The names by which it names them. They are left out of the words, since speakers do not name
    /// themselves, and what others say to them would rank first. Empty where facts are looked for:
    /// their texts contain names.
    pub names: Vec<String>,
    /// Names that it asks about: messages that contain one rank higher, too.
    pub mentions: Vec<String>,
    /// Least [`Recalled::coverage`] of a hit; 0 for any.
    pub coverage: f32,
    /// At most so many, [`MOST_RECALLED`] at most.
    pub limit: u32,
    /// Weights of words and meaning.
    pub fusion: Fusion,
    /// Now: memories count less with age if [`Fusion::half_life`] says so.
    pub now: Timestamp,
    /// Adds the memory before and the one after each hit in its room.
    pub neighbours: bool,
}

impl RecallQuery {
    /// Looks for this text, by words alone.
    pub fn new(visible: Visibility, text: impl Into<String>, limit: u32, now: Timestamp) -> Self {
        Self {
            visible,
            kinds: Vec::new(),
            room: None,
            people: Vec::new(),
            since: None,
            before: None,
            superseded: false,
            text: text.into(),
            meanings: Vec::new(),
            named: Vec::new(),
            names: Vec::new(),
            mentions: Vec::new(),
            coverage: 0.0,
            limit,
            fusion: Fusion::default(),
            now,
            neighbours: false,
        }
    }
    /// Only memories of this kind.
    #[must_use]
    pub fn kind(mut self, kind: MemoryKind) -> Self {
        self.kinds.push(kind);
        self
    }
    /// Searches by meaning, too. `model` names the model that made the embedding.
    #[must_use]
    pub fn meaning(mut self, model: impl Into<String>, embedding: Embedding) -> Self {
        self.meanings.push(Meaning { model: model.into(), embedding });
        self
    }
    /// Of people whom the question names ([`crate::fusion::named`]). Their names are left out of the
    /// words where messages alone are looked for, see [`Self::names`].
    #[must_use]
    pub fn naming(mut self, named: Named) -> Self {
        self.named = named.people;
        if self.kinds == [MemoryKind::Messages] {
            let is_sought = |name: &&String| !named.addressed.contains(name);
            self.mentions = named.names.iter().filter(is_sought).cloned().collect();
            self.names = named.names;
        }
        self
    }
    /// The sorts that are looked for.
    pub fn sorts(&self) -> &[MemoryKind] {
        const USUAL: [MemoryKind; 4] =
            [MemoryKind::Messages, MemoryKind::Facts, MemoryKind::Summaries, MemoryKind::Profiles];
        if self.kinds.is_empty() { &USUAL } else { &self.kinds }
    }
}

/// The meaning of a question.
#[derive(Debug, Clone, PartialEq)]
pub struct Meaning {
    /// The model that made it.
    pub model: String,
    /// Embedding of the question ([`crate::fusion::embedded_question`]).
    pub embedding: Embedding,
}

/// A memory that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Recalled {
    /// The memory that was found.
    pub memory: Memory,
    /// Audience.
    pub scope: MemoryScope,
    /// Time it ceased to be true; none while it is.
    pub valid_until: Option<Timestamp>,
    /// Fused score; larger is better, comparable within one answer only.
    pub score: f32,
    /// Its place by words, from 1, with its score (BM25, at least 0).
    pub words: Option<Ranked>,
    /// The share of the question's words that it has, each weighed by its rarity in its place, from 0
    /// to 1. 0 if words found nothing or were not searched.
    pub coverage: f32,
    /// Its place by meaning, from 1, with its cosine similarity.
    pub meaning: Option<Ranked>,
    /// The message before it in its room, if asked for.
    pub before: Option<Memory>,
    /// The message after it.
    pub after: Option<Memory>,
}
