//! The terms of a question as numbers, to be found among those of messages.

use crate::terms::{self, Asked};

/// The terms of a question as numbers.
pub(super) struct Numbers {
    /// In order: a term, the place of its word, and whether it is the form that was asked for.
    terms: Vec<(u32, usize, bool)>,
    /// Whether a term may be among these, by its last bits: most are not.
    filter: [u64; Self::BITS / 64],
}

impl Numbers {
    const BITS: usize = 4_096;

    pub(super) fn of(asked: &[Asked]) -> Self {
        let mut terms = Vec::new();
        for (word, asked) in asked.iter().enumerate() {
            terms.extend(terms_of(asked).map(|(term, exact)| (term, word, exact)));
        }
        terms.sort_unstable();
        let mut filter = [0; Self::BITS / 64];
        for (term, ..) in &terms {
            let (place, bit) = Self::bit(*term);
            filter[place] |= bit;
        }
        Self { terms, filter }
    }

    fn bit(term: u32) -> (usize, u64) {
        let bit = term as usize % Self::BITS;
        (bit / 64, 1 << (bit % 64))
    }

    /// Whether a term is probably among these.
    pub(super) fn may_have(&self, term: u32) -> bool {
        let (place, bit) = Self::bit(term);
        self.filter[place] & bit != 0
    }

    /// Positions of the words that a term stands for; the flag marks the exact form of the word.
    pub(super) fn positions_of(&self, term: u32) -> impl Iterator<Item = (usize, bool)> {
        let from = self.terms.partition_point(|(number, ..)| *number < term);
        let same = self.terms.get(from..).unwrap_or_default().iter();
        same.take_while(move |(number, ..)| *number == term).map(|(_, word, exact)| (*word, *exact))
    }
}

/// The terms of a word, and whether each is the form that was asked for.
pub(super) fn terms_of(asked: &Asked) -> impl Iterator<Item = (u32, bool)> {
    let exact =
        if asked.prefix { terms::beginning(&asked.exact) } else { terms::number(&asked.exact) };
    let stems = asked.stems.iter().map(|stem| (terms::number(stem), false));
    std::iter::once((exact, true)).chain(stems)
}
