//! Finds the pieces that fit a question, by words and by meaning.

use galatea_core::{
    AgentId, Embedding, MemoryId, MemoryKind, Result, Timestamp,
    fusion::{Candidate, Fused, Fusion, fuse},
    store::{PluginStore, RecallQuery},
    visibility::Visibility,
};
use std::collections::{HashMap, HashSet};

use crate::rows::Piece;

/// Pieces of each agent that are ranked, of which equal ones come once.
const CANDIDATES: u32 = 100;

/// The meaning of a question.
#[derive(Debug, Clone)]
pub struct Meaning {
    /// The model that made it.
    pub model: String,
    /// The question as a vector.
    pub embedding: Embedding,
    /// Mean similarity to texts about other things (`relevance.rs`).
    pub unrelated: f32,
}

/// A piece that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedPiece {
    /// The piece.
    pub piece: Piece,
    /// Its score within this search, from 0 to 1.
    pub score: f32,
    /// The share of the question's words that it has, each weighed by its rarity, from 0 to 1.
    pub coverage: f32,
    /// Cosine similarity to the question, in the range of the first model that answered.
    pub similarity: Option<f32>,
    /// Its place by words, from 1.
    pub by_words: Option<usize>,
    /// Its place by meaning, from 1.
    pub by_meaning: Option<usize>,
}

/// A piece before it is ranked.
struct Hit {
    piece: Piece,
    words: Option<f32>,
    coverage: f32,
    similarity: Option<f32>,
}

/// The best pieces of these agents, the best first. Equal pieces of several documents come once.
/// `meanings` are those of the question, the present model's first: while pieces wait for their new
/// embeddings, older models find the rest. All similarities are in the range of the first one.
///
/// # Errors
/// Those of the store.
pub async fn search(
    store: &dyn PluginStore,
    agents: &[AgentId],
    question: &str,
    meanings: &[Meaning],
    limit: usize,
) -> Result<Vec<RankedPiece>> {
    let fusion = fusion(!meanings.is_empty());
    let mut hits: HashMap<MemoryId, Hit> = HashMap::new();
    // A search for each model: what a similarity says is known by the model's own unrelated texts,
    // and not, as for messages, by what else was found. The first may have embedded one piece yet.
    let each: Vec<Option<&Meaning>> =
        if meanings.is_empty() { vec![None] } else { meanings.iter().map(Some).collect() };
    for agent in agents {
        for meaning in &each {
            let mut query = RecallQuery {
                fusion,
                // The age of a piece does not count, so neither does the time.
                ..RecallQuery::new(
                    Visibility::documents(*agent),
                    question,
                    CANDIDATES,
                    Timestamp(0),
                )
            }
            .kind(MemoryKind::Fragments);
            if let Some(Meaning { model, embedding, .. }) = meaning {
                query = query.meaning(model.clone(), embedding.clone());
            }
            let in_range = |similarity: f32| match (meaning, meanings.first()) {
                (Some(of), Some(first)) => first.in_range(of, similarity),
                _ => similarity,
            };
            for found in store.recall(&query).await? {
                let Some(piece) = Piece::read(&found.memory) else { continue };
                let (words, similarity) = (
                    found.words.map(|words| words.score),
                    found.meaning.map(|meaning| in_range(meaning.score)),
                );
                let hit = hits.entry(piece.id).or_insert(Hit {
                    piece,
                    words: None,
                    coverage: 0.0,
                    similarity: None,
                });
                hit.words = hit.words.or(words);
                hit.coverage = hit.coverage.max(found.coverage);
                hit.similarity = hit.similarity.or(similarity);
            }
        }
    }
    let mut found = rank(hits, &fusion);
    let mut seen = HashSet::new();
    found.retain(|found| seen.insert(found.piece.hash.clone()));
    found.truncate(limit);
    Ok(found)
}

impl Meaning {
    /// A similarity of another model as this one would have it: as far above that of unrelated texts.
    fn in_range(&self, of: &Self, similarity: f32) -> f32 {
        if self.model == of.model {
            return similarity;
        }
        self.unrelated + excess(similarity, of.unrelated) * room(self.unrelated)
    }
}

/// Pieces have no speaker and no message beside them. Without a meaning, words are all there is.
fn fusion(by_meaning: bool) -> Fusion {
    let usual = Fusion { neighbours: 0.0, named: 0.0, half_life: None, ..Fusion::default() };
    if by_meaning { usual } else { Fusion { meaning: 0.0, ..usual } }
}

/// Puts the pieces of all agents into one order, since scores of two searches cannot be compared.
fn rank(mut hits: HashMap<MemoryId, Hit>, fusion: &Fusion) -> Vec<RankedPiece> {
    let mut candidates: Vec<Candidate<MemoryId>> = hits
        .iter()
        .map(|(id, hit)| Candidate {
            key: *id,
            words: hit.words,
            coverage: hit.coverage,
            meaning: hit.similarity,
            neighbours: [None, None],
            named: false,
            age: 0,
        })
        .collect();
    candidates.sort_by_key(|candidate| candidate.key);
    let place = |place: u32| usize::try_from(place).unwrap_or(usize::MAX);
    let read = |fused: Fused<MemoryId>| {
        let Hit { piece, coverage, similarity, .. } = hits.remove(&fused.key)?;
        Some(RankedPiece {
            piece,
            score: fused.score,
            coverage,
            similarity,
            by_words: fused.words.map(|words| place(words.rank)),
            by_meaning: fused.meaning.map(|meaning| place(meaning.rank)),
        })
    };
    fuse(&candidates, fusion).into_iter().filter_map(read).collect()
}

/// Distance of a similarity from that of unrelated texts, as a share of the way to identity. Raw
/// cosines of two models cannot be compared: unrelated texts have 0.1 with one and 0.7 with another.
pub(crate) fn excess(similarity: f32, unrelated: f32) -> f32 {
    (similarity - unrelated) / room(unrelated)
}

/// The way from unrelated texts to identity.
fn room(unrelated: f32) -> f32 {
    (1.0 - unrelated).max(0.05)
}
