//! Ranks what a search by words found, the same way for both databases.

use std::collections::{HashMap, HashSet};

/// A word says nothing if so many messages of a Room have it, and at least one in [`COMMON`].
pub(super) const OFTEN: usize = 24;
/// See [`OFTEN`].
pub(super) const COMMON: usize = 2;
/// Memories of a Room counted for it.
pub(super) const COUNTED: usize = 1_600;

/// What a word was found in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// The newest memories that have it, and whether in the form that was asked for.
    pub(super) rows: Vec<(i64, bool)>,
    /// How many have it, as far as that is known.
    pub(super) with: usize,
}

impl Found {
    /// All memories that have a word.
    pub(super) fn all(rows: Vec<(i64, bool)>) -> Self {
        Self { with: rows.len(), rows }
    }
}

/// In how many memories a word of a place with so many messages says nothing. The place was counted
/// up to [`COUNTED`]: of a larger one the lists do not say how many have a word.
pub(super) fn often(counted: usize) -> usize {
    if counted < COUNTED { (counted / COMMON).max(OFTEN) } else { usize::MAX }
}

/// Scores of all memories listed, the best first; of equals the newest.
///
/// BM25 with each word counted once, in the exact form a third more, and with the rarity of a word
/// among what was found; the length comes later, see [`by_length`]. Words that `often` memories have
/// are left out.
pub(super) fn score(found: &[Found], often: usize) -> Vec<(i64, f64)> {
    let all: HashSet<i64> = found.iter().flat_map(|of| &of.rows).map(|(seq, _)| *seq).collect();
    let total = count(4 * all.len()).max(1_000.0);
    let mut scores: HashMap<i64, f64> = HashMap::with_capacity(all.len());
    for of in found.iter().filter(|of| of.rows.len() < often) {
        let with = count(of.with);
        let rarity = ((total - with + 0.5).max(0.5) / (with + 0.5)).ln_1p();
        for (seq, exact) in &of.rows {
            *scores.entry(*seq).or_default() += if *exact { 1.33 } else { 1.0 } * rarity;
        }
    }
    let mut scores: Vec<(i64, f64)> = scores.into_iter().collect();
    scores.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
    scores
}

#[allow(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn count(number: usize) -> f64 {
    number as f64
}

/// Scores by the length of each text beside the mean: BM25's k1 = 1.2 and b = 0.75.
pub(super) fn by_length(scores: &mut [(i64, f64)], lengths: &HashMap<i64, i64>) {
    #[allow(clippy::cast_precision_loss, reason = "lengths are far below 2^52")]
    let of = |seq: &i64| lengths.get(seq).copied().unwrap_or(0) as f64;
    let mean = scores.iter().map(|(seq, _)| of(seq)).sum::<f64>() / count(scores.len().max(1));
    for (seq, score) in scores.iter_mut() {
        *score *= 2.2 / (1.0 + 1.2 * (0.25 + 0.75 * of(seq) / mean.max(1.0)));
    }
    scores.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_and_exact_words_rank_first() {
        let tea = Found::all(vec![(5, true), (4, true), (3, false), (2, false)]);
        let found = [tea, Found::all(vec![(1, true)])];
        let order =
            |often: usize| score(&found, often).into_iter().map(|(seq, _)| seq).collect::<Vec<_>>();
        // The rare word, the exact word (of equals the newest), then its stem.
        assert_eq!(order(usize::MAX), [1, 5, 4, 3, 2]);
        assert_eq!(order(4), [1], "a word of four memories is left out");
    }

    #[test]
    fn a_word_of_which_only_the_newest_are_listed_counts_as_a_common_one() {
        let list = || vec![(7, true)];
        let found = [Found { rows: vec![(8, true)], with: 400 }, Found::all(list())];
        assert_eq!(score(&found, usize::MAX)[0].0, 7);
        assert_eq!((often(COUNTED - 1), often(COUNTED), often(0)), (799, usize::MAX, OFTEN));
    }

    #[test]
    fn a_short_text_ranks_above_a_long_one() {
        let mut scores = [(1, 1.0), (2, 1.0)];
        by_length(&mut scores, &HashMap::from([(1, 900), (2, 20)]));
        assert_eq!(scores.map(|(seq, _)| seq), [2, 1]);
    }
}
