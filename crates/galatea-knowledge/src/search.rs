//! Search: the pieces that fit a question, by words and by meaning.

use galatea_core::{
    AgentId, Embedding, Memory, MemoryId, MemoryKind, Result,
    store::{MemoryQuery, PluginStore, SimilarityQuery},
};
use std::collections::HashMap;

use crate::{rows::Piece, terms};

/// Pieces looked at for each word, and for the meaning.
const CANDIDATES: u32 = 40;
/// A word that this many pieces or more have says little.
const COMMON: f32 = CANDIDATES as f32;
/// Share of the score by words when there is a meaning to compare.
const WORDS: f32 = 0.5;

/// The meaning of a question.
#[derive(Debug, Clone)]
pub struct Meaning {
    /// The model that made it.
    pub model: String,
    /// The question as a vector.
    pub embedding: Embedding,
    /// Mean similarity to texts about other things; see [`crate::relevance`].
    pub unrelated: f32,
}

/// A piece that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The piece.
    pub piece: Piece,
    /// Its score within this search, from 0 to 1.
    pub score: f32,
    /// The share of the question's words that it has, from 0 to 1.
    pub coverage: f32,
    /// Cosine similarity to the question.
    pub similarity: Option<f32>,
    /// Its place by words, from 1.
    pub by_words: Option<usize>,
    /// Its place by meaning, from 1.
    pub by_meaning: Option<usize>,
}

/// The best pieces of these agents, the best first. Equal pieces of several documents come once.
///
/// # Errors
/// Those of the store.
pub async fn search(
    store: &dyn PluginStore,
    agents: &[AgentId],
    question: &str,
    meaning: Option<&Meaning>,
    limit: usize,
) -> Result<Vec<Found>> {
    let terms = terms::terms(question);
    let mut candidates: HashMap<MemoryId, (Piece, Option<f32>, String)> = HashMap::new();
    let mut weighed = Vec::with_capacity(terms.len());
    for term in terms {
        let mut hits = 0_usize;
        for form in terms::forms(&term) {
            for agent in agents {
                let query = MemoryQuery {
                    matching: Some(form.clone()),
                    ..MemoryQuery::new(*agent, CANDIDATES).kind(MemoryKind::Fragments)
                };
                let rows = store.memories(&query).await?;
                hits += rows.len();
                rows.iter().for_each(|row| add(&mut candidates, row, None));
            }
        }
        #[allow(clippy::cast_precision_loss, reason = "a few hundred at most")]
        let common = (hits as f32 / COMMON).min(1.0);
        weighed.push((term, 1.0 - 0.7 * common));
    }
    if let Some(Meaning { model, embedding, .. }) = meaning {
        for agent in agents {
            let query = SimilarityQuery {
                of: MemoryQuery::new(*agent, CANDIDATES).kind(MemoryKind::Fragments),
                model: model.clone(),
                embedding: embedding.clone(),
                at_least: -1.0,
            };
            for (row, similarity) in store.search_similar(&query).await? {
                add(&mut candidates, &row, Some(similarity));
            }
        }
    }
    let mut found: Vec<Found> = candidates
        .into_values()
        .map(|(piece, similarity, text)| {
            let coverage = terms::coverage(&weighed, &terms::stems(&text), &text);
            Found { piece, coverage, similarity, score: 0.0, by_words: None, by_meaning: None }
        })
        .collect();
    rank(&mut found, meaning);
    let mut seen = std::collections::HashSet::new();
    found.retain(|found| seen.insert(found.piece.hash.clone()));
    found.truncate(limit);
    Ok(found)
}

fn add(
    candidates: &mut HashMap<MemoryId, (Piece, Option<f32>, String)>,
    row: &Memory,
    similarity: Option<f32>,
) {
    if let Some((_, known, _)) = candidates.get_mut(&row.id) {
        *known = known.or(similarity);
    } else if let Some(piece) = Piece::read(row) {
        candidates.insert(row.id, (piece, similarity, row.content.text.clone()));
    }
}

/// Orders pieces by the weighted sum of both scores (a convex combination finds better than ranks,
/// Bruch et al. 2023), and notes both places.
fn rank(found: &mut [Found], meaning: Option<&Meaning>) {
    for found in found.iter_mut() {
        found.score = match (meaning, found.similarity) {
            (Some(meaning), Some(similarity)) => {
                let above = excess(similarity, meaning.unrelated).clamp(0.0, 1.0);
                WORDS * found.coverage + (1.0 - WORDS) * above
            }
            // Not embedded yet, or not among the nearest.
            (Some(_), None) => WORDS * found.coverage,
            (None, _) => found.coverage,
        };
    }
    let place = |found: &mut [Found], key: fn(&Found) -> f32, set: fn(&mut Found, usize)| {
        found.sort_by(|a, b| key(b).total_cmp(&key(a)).then_with(|| a.piece.id.cmp(&b.piece.id)));
        for (n, found) in found.iter_mut().enumerate().filter(|(_, found)| key(found) > 0.0) {
            set(found, n + 1);
        }
    };
    place(found, |found| found.coverage, |found, n| found.by_words = Some(n));
    if meaning.is_some() {
        place(found, |f| f.similarity.unwrap_or(0.0), |found, n| found.by_meaning = Some(n));
    }
    place(found, |found| found.score, |_, _| {});
}

/// How far a similarity lies above that of unrelated texts, as a share of the way to identity. Raw
/// cosines of two models cannot be compared: unrelated texts have 0.1 with one and 0.7 with another.
pub(crate) fn excess(similarity: f32, unrelated: f32) -> f32 {
    (similarity - unrelated) / (1.0 - unrelated).max(0.05)
}
