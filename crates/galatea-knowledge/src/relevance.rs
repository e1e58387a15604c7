//! Whether the best piece says anything about the question, so that an agent can say that it does
//! not know.

use crate::search::{Meaning, RankedPiece, excess};

/// Least share of the question's words, weighed by rarity. With the pieces that a search finds, it
/// decides 47 of 48 questions of `tests/tests/line/knowledge.rs` correctly, and refuses all without
/// an answer; the closest ones have 0.50 and 0.49.
pub(crate) const COVERAGE: f32 = 0.495;
/// Least similarity above that of unrelated texts, as a share of the way to identity. Of the same
/// questions, all-MiniLM-L6-v2 is right about 22 of 24 answerable and 23 of 24 others. OpenAI's and
/// Google's models have not been measured.
pub(crate) const EXCESS: f32 = 0.3;
/// Texts about everyday things. A question's mean similarity to them says how similar texts are to
/// it that have nothing to do with it, in the scale of the model in use.
pub(crate) const UNRELATED: [&str; 8] = [
    "The river rose after three days of rain and flooded the lower meadow.",
    "Knead the dough for ten minutes, cover it, and let it rest in a warm place.",
    "The orchestra tuned for a long time before the conductor came on stage.",
    "Glaciers move a few centimetres a day and carry stones down the valley.",
    "The goalkeeper saved the penalty in the last minute of extra time.",
    "A cat sleeps between twelve and sixteen hours a day.",
    "The parliament debated the budget until late at night.",
    "Wooden ships were caulked with tar and oakum to keep the water out.",
];

/// A piece that is shown scores at least this share of the best one.
const CLOSE: f32 = 0.5;

/// Those of the pieces that a search found, the best first, which are about the question.
pub fn relevant(mut found: Vec<RankedPiece>, meaning: Option<&Meaning>) -> Vec<RankedPiece> {
    let best = found.first().map_or(0.0, |best| best.score);
    found.retain(|found| found.score >= CLOSE * best && is_relevant(found, meaning));
    found
}

/// Whether a piece is about the question.
pub fn is_relevant(found: &RankedPiece, meaning: Option<&Meaning>) -> bool {
    let by_meaning = meaning
        .zip(found.similarity)
        .is_some_and(|(meaning, similarity)| excess(similarity, meaning.unrelated) >= EXCESS);
    by_meaning || found.coverage >= COVERAGE
}
