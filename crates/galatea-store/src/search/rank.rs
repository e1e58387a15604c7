//! Ranks what a search by words found, the same way for both databases.

use std::{
    cmp::Ordering,
    collections::{HashMap, HashSet},
    hash::{BuildHasherDefault, Hasher},
};

/// A word says nothing if so many messages of a Room have it, and at least one in [`COMMON`].
pub(super) const OFTEN: usize = 24;
/// See [`OFTEN`].
pub(super) const COMMON: usize = 2;
/// Memories of a Room counted for it.
pub(super) const COUNTED: usize = 1_600;

/// How much more a word counts in the form that was asked for: stems confuse "evening" with "even".
const EXACT: f64 = 1.33;

/// What a word was found in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found<N = i64> {
    /// The newest memories that have it, by number or by place in a Room, and whether in the form that
    /// was asked for.
    pub(super) rows: Vec<(N, bool)>,
    /// How many have it, as far as that is known.
    pub(super) with: usize,
}

impl<N> Found<N> {
    /// All memories that have a word.
    pub(super) fn all(rows: Vec<(N, bool)>) -> Self {
        Self { with: rows.len(), rows }
    }
}

/// In how many memories a word of a place with so many messages says nothing. The place was counted
/// up to [`COUNTED`]: of a larger one the lists do not say how many have a word.
pub(super) fn often(counted: usize) -> usize {
    if counted < COUNTED { (counted / COMMON).max(OFTEN) } else { usize::MAX }
}

/// A memory that has some of a question's words.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Listed {
    pub(super) seq: i64,
    pub(super) score: f64,
    /// The share of the question's words that it has, each weighed by its rarity: 0 to 1.
    pub(super) coverage: f64,
}

/// A map by the numbers of memories.
pub(super) type BySeq<V> = HashMap<i64, V, BuildHasherDefault<Mix>>;
/// Numbers of memories.
pub(super) type Seqs = HashSet<i64, BuildHasherDefault<Mix>>;

/// All memories listed, in no order. See [`score_places`].
pub(super) fn score(found: &[Found], often: usize, least: f64) -> Vec<Listed> {
    let mut numbers: Vec<i64> = Vec::new();
    let mut known: BySeq<u32> = BySeq::default();
    known.reserve(found.iter().map(|of| of.rows.len()).max().unwrap_or(0));
    let mut place = |(seq, exact): &(i64, bool)| {
        let place = *known.entry(*seq).or_insert_with(|| {
            numbers.push(*seq);
            // Far fewer than 2^32 memories are listed.
            u32::try_from(numbers.len() - 1).unwrap_or(u32::MAX)
        });
        (place, *exact)
    };
    let found: Vec<Found<u32>> = found
        .iter()
        .map(|of| Found { rows: of.rows.iter().map(&mut place).collect(), with: of.with })
        .collect();
    score_places(&found, often, least, numbers.len(), |place| numbers.get(place).copied())
}

/// All memories listed, in no order. Each list has their places, which are less than `places`; `number`
/// gives the number of the memory at a place.
///
/// BM25 with each word counted once, in the exact form [`EXACT`] times as much, and with the rarity of a word
/// among what was found; the length comes later, see [`by_length`]. Words that `often` memories have
/// are left out, and so are memories with a coverage below `least`.
pub(super) fn score_places(
    found: &[Found<u32>],
    often: usize,
    least: f64,
    places: usize,
    number: impl Fn(usize) -> Option<i64>,
) -> Vec<Listed> {
    // Of each place the number of its sums, from 1: a large Room has many places without.
    let mut numbered = vec![0_u32; places];
    // Of each memory its place, its score, and the rarity of the words that it has.
    let mut sums: Vec<(usize, f64, f64)> = Vec::new();
    for (place, _) in found.iter().flat_map(|of| &of.rows) {
        let place = *place as usize;
        if let Some(number) = numbered.get_mut(place).filter(|number| **number == 0) {
            sums.push((place, 0.0, 0.0));
            // As many as places, whose numbers are of the same type.
            *number = u32::try_from(sums.len()).unwrap_or(u32::MAX);
        }
    }
    let total = count(4 * sums.len()).max(1_000.0);
    let mut asked = 0.0;
    for of in found.iter().filter(|of| of.rows.len() < often) {
        let with = count(of.with);
        let rarity = ((total - with + 0.5).max(0.5) / (with + 0.5)).ln_1p();
        asked += rarity;
        for (place, exact) in &of.rows {
            let at = numbered.get(*place as usize).and_then(|number| number.checked_sub(1));
            if let Some((_, score, has)) = at.and_then(|at| sums.get_mut(at as usize)) {
                *score += if *exact { EXACT } else { 1.0 } * rarity;
                *has += if *exact { 1.0 } else { 1.0 / EXACT } * rarity;
            }
        }
    }
    let listed = |(place, score, has): (usize, f64, f64)| {
        let coverage = has / asked;
        if score <= 0.0 || coverage < least {
            return None;
        }
        Some(Listed { seq: number(place)?, score, coverage })
    };
    sums.into_iter().filter_map(listed).collect()
}

/// The best, the best first; of equals the newest.
pub(super) fn best(mut listed: Vec<Listed>, most: usize) -> Vec<Listed> {
    if listed.len() > most {
        // A common word lists hundreds, of which a few are wanted.
        listed.select_nth_unstable_by(most, best_first);
        listed.truncate(most);
    }
    listed.sort_unstable_by(best_first);
    listed
}

/// Hashes numbers of memories, which the database gives and no one can choose.
#[derive(Default)]
pub(super) struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_i64(&mut self, number: i64) {
        self.write_u64(number.cast_unsigned());
    }

    fn write_u64(&mut self, number: u64) {
        // Fibonacci hashing: 2^64 divided by the golden ratio.
        self.0 = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 ^= self.0 >> 32;
    }
}

fn best_first(a: &Listed, b: &Listed) -> Ordering {
    b.score.total_cmp(&a.score).then(b.seq.cmp(&a.seq))
}

#[allow(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn count(number: usize) -> f64 {
    number as f64
}

/// Scores by the length of each text beside the mean: BM25's k1 = 1.2 and b = 0.75.
pub(super) fn by_length(listed: &mut [Listed], lengths: &BySeq<i64>) {
    #[allow(clippy::cast_precision_loss, reason = "lengths are far below 2^52")]
    let of = |listed: &Listed| lengths.get(&listed.seq).copied().unwrap_or(0) as f64;
    let mean = listed.iter().map(of).sum::<f64>() / count(listed.len().max(1));
    for one in listed.iter_mut() {
        one.score *= 2.2 / (1.0 + 1.2 * (0.25 + 0.75 * of(one) / mean.max(1.0)));
    }
    listed.sort_by(best_first);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_and_exact_words_rank_first() {
        let tea = Found::all(vec![(5, true), (4, true), (3, false), (2, false)]);
        let found = [tea, Found::all(vec![(1, true)])];
        let order = |often: usize| {
            let best = best(score(&found, often, 0.0), usize::MAX);
            best.iter().map(|of| of.seq).collect::<Vec<_>>()
        };
        // The rare word, the exact word (of equals the newest), then its stem.
        assert_eq!(order(usize::MAX), [1, 5, 4, 3, 2]);
        assert_eq!(order(4), [1], "a word of four memories is left out");
        let few = best(score(&found, usize::MAX, 0.0), 3);
        assert_eq!(few.iter().map(|of| of.seq).collect::<Vec<_>>(), [1, 5, 4]);
    }

    #[test]
    fn a_word_of_which_only_the_newest_are_listed_counts_as_a_common_one() {
        let list = || vec![(7, true)];
        let found = [Found { rows: vec![(8, true)], with: 400 }, Found::all(list())];
        assert_eq!(best(score(&found, usize::MAX, 0.0), 1)[0].seq, 7);
        assert_eq!((often(COUNTED - 1), often(COUNTED), often(0)), (799, usize::MAX, OFTEN));
    }

    #[test]
    fn what_has_too_little_of_a_question_is_left_out() {
        let found = [Found::all(vec![(1, true), (2, true)]), Found::all(vec![(2, true)])];
        let all = best(score(&found, usize::MAX, 0.0), usize::MAX);
        let [two, one] = all.as_slice() else { panic!("{all:?}") };
        assert!(two.seq == 2 && (two.coverage - 1.0).abs() < 1e-9 && one.coverage < 0.5, "{all:?}");
        assert_eq!(score(&found, usize::MAX, one.coverage).len(), 2);
        assert_eq!(score(&found, usize::MAX, 0.5), [*two]);
    }

    #[test]
    fn a_short_text_ranks_above_a_long_one() {
        let mut listed = [1, 2].map(|seq| Listed { seq, score: 1.0, coverage: 1.0 });
        by_length(&mut listed, &BySeq::from_iter([(1, 900), (2, 20)]));
        assert_eq!(listed.map(|of| of.seq), [2, 1]);
    }

    #[test]
    fn coverage_is_the_share_of_the_words_by_their_rarity() {
        let (tea, kettle) = (Found::all(vec![(1, true), (2, true)]), Found::all(vec![(1, true)]));
        let coverage = |found: &[Found]| {
            let listed = score(found, usize::MAX, 0.0);
            let of = |seq| listed.iter().find(|of| of.seq == seq).map(|of| of.coverage);
            [of(1), of(2)].map(Option::unwrap)
        };
        let [both, one] = coverage(&[tea.clone(), kettle.clone()]);
        assert!(both == 1.0 && (0.4..0.5).contains(&one), "a common word is less: {one}");
        let [both, one] = coverage(&[tea, kettle, Found::all(Vec::new())]);
        assert!(both < 0.7 && one < 0.35, "a word that none has counts: {both}, {one}");
    }
}
