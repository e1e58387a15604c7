//! Decides if the best piece says anything about the question, so that an agent can say that it
//! does not know.

use crate::search::{Meaning, RankedPiece, excess};

/// Least share of the question's words, weighed by rarity. With the pieces that a search finds, it
/// decides all 48 questions of `tests/tests/line/knowledge/relevance.rs` correctly; the closest ones
/// have 0.53 and 0.38.
pub(crate) const COVERAGE: f32 = 0.45;
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

/// Pieces that a search found, the best first, which are about the question.
pub fn relevant(mut found: Vec<RankedPiece>, meaning: Option<&Meaning>) -> Vec<RankedPiece> {
    let best = found.first().map_or(0.0, |best| best.score);
    found.retain(|found| found.score >= CLOSE * best && is_relevant(found, meaning));
    found
}

/// True if a piece is about the question.
pub fn is_relevant(found: &RankedPiece, meaning: Option<&Meaning>) -> bool {
    let by_meaning = meaning
        .zip(found.similarity)
        .is_some_and(|(meaning, similarity)| excess(similarity, meaning.unrelated) >= EXCESS);
    by_meaning || found.coverage >= COVERAGE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::Piece;
    use galatea_core::{Embedding, MemoryId};

    fn found(similarity: Option<f32>) -> RankedPiece {
        let piece = Piece {
            id: MemoryId::fresh(),
            document: MemoryId::fresh(),
            title: "Handbook".into(),
            heading: Vec::new(),
            page: None,
            source: "handbook.txt".into(),
            text: "The kettle holds two litres.".into(),
            hash: String::new(),
        };
        RankedPiece {
            piece,
            score: 1.0,
            coverage: 0.0,
            similarity,
            by_words: None,
            by_meaning: Some(1),
        }
    }

    /// Two models, to which unrelated texts are similar to another degree. Without a word in common
    /// a piece fits from three tenths of the way between those and identity on.
    #[test]
    fn a_piece_fits_by_meaning_if_it_lies_clearly_above_unrelated_texts() {
        for unrelated in [0.1, 0.7] {
            let meaning = Meaning {
                model: "m".into(),
                embedding: Embedding::new(vec![1.0]).unwrap(),
                unrelated,
            };
            let fits = |share: f32| {
                let similarity = Some(unrelated + share * (1.0 - unrelated));
                !relevant(vec![found(similarity)], Some(&meaning)).is_empty()
            };
            assert_eq!([0.0, 0.28, 0.32, 1.0].map(fits), [false, false, true, true], "{unrelated}");
            assert!(!is_relevant(&found(None), Some(&meaning)), "it was not compared");
        }
        assert!(!is_relevant(&found(Some(0.9)), None), "nothing says what 0.9 means");
    }
}
