//! Sentences for a load. Each number has its own: some common words and some rare ones, as in a
//! chat, so that a search by words has something to tell apart.

/// Different words. A word's share falls with its rank (Zipf's law), as in every language.
const VOCABULARY: u64 = 6_000;
/// Words without meaning between the others.
const SMALL: [&str; 8] = ["the", "of", "we", "and", "is", "to", "a", "in"];
const BEGIN: [&str; 16] =
    ["b", "br", "d", "f", "g", "gr", "h", "k", "l", "m", "n", "p", "r", "s", "t", "v"];
const VOWEL: [&str; 5] = ["a", "e", "i", "o", "u"];

/// The sentence of a number: seven words of the vocabulary, and some small ones between them.
pub fn sentence(number: u64) -> String {
    let mut random = Random(number);
    let mut words = Vec::new();
    for n in 0..7 {
        if n % 2 == 1 {
            words.push(SMALL[random.below(SMALL.len() as u64) as usize].to_owned());
        }
        words.push(word(random.rank()));
    }
    words.join(" ")
}

/// The word of a rank: the frequent ones are short.
fn word(rank: u64) -> String {
    let mut left = rank + 3;
    let mut out = String::new();
    while left > 0 {
        let (begin, rest) = (left % BEGIN.len() as u64, left / BEGIN.len() as u64);
        out.push_str(BEGIN[begin as usize]);
        out.push_str(VOWEL[(rest % VOWEL.len() as u64) as usize]);
        left = rest / VOWEL.len() as u64;
    }
    out.push('x');
    out
}

/// SplitMix64 (<https://prng.di.unimi.it/splitmix64.c>).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// A rank whose logarithm is evenly distributed: the share of a rank is about its reciprocal.
    fn rank(&mut self) -> u64 {
        let even = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        (((VOCABULARY as f64).ln() * even).exp() as u64 - 1).min(VOCABULARY - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{HashMap, HashSet};

    #[test]
    fn sentences_share_common_words_and_differ_in_rare_ones() {
        let mut counts: HashMap<String, usize> = HashMap::new();
        for number in 0..2_000 {
            for word in sentence(number).split(' ') {
                *counts.entry(word.to_owned()).or_default() += 1;
            }
        }
        assert_eq!(sentence(7), sentence(7));
        assert_ne!(sentence(7), sentence(8));
        assert!(counts[&word(0)] > 500, "the most frequent word: {}", counts[&word(0)]);
        let rare = counts.values().filter(|count| **count <= 5).count();
        assert!(rare > 1_000, "{rare} rare words of {}", counts.len());
        let all: HashSet<String> = (0..VOCABULARY).map(word).collect();
        assert_eq!(all.len() as u64, VOCABULARY, "two ranks have one word");
    }
}
