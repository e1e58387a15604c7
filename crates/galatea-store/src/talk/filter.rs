//! Which terms the messages of a Room have that are not in memory. A word that none of them has is not
//! looked up: most words that are asked for the first time are such words.

/// A Bloom filter of terms.
#[derive(Debug)]
pub(super) struct Filter {
    bits: Box<[u64; Self::BITS / 64]>,
    /// Bits that are set.
    set: usize,
}

impl Filter {
    /// With 10,000 terms, those of some 2,000 messages, one unknown term in fifty passes.
    const BITS: usize = 1 << 17;
    pub(super) const BYTES: usize = Self::BITS / 8;

    pub(super) fn new() -> Self {
        Self { bits: Box::new([0; Self::BITS / 64]), set: 0 }
    }

    /// Adds terms. False once half of the bits are set: then too many unknown terms would pass.
    pub(super) fn add(&mut self, terms: &[u32]) -> bool {
        for (place, bit) in terms.iter().flat_map(|term| Self::bits(*term)) {
            let bits = &mut self.bits[place];
            self.set += usize::from(*bits & bit == 0);
            *bits |= bit;
        }
        self.set <= Self::BITS / 2
    }

    /// Whether a term is probably among these; false if it certainly is not.
    pub(super) fn may_have(&self, term: u32) -> bool {
        Self::bits(term).iter().all(|(place, bit)| self.bits[*place] & bit != 0)
    }

    /// Terms are hashes, so their bits are as good as any; the second half is mixed once more.
    fn bits(term: u32) -> [(usize, u64); 2] {
        let mixed = term.wrapping_mul(0x9E37_79B1) >> 15;
        [term, mixed].map(|number| {
            let bit = number as usize % Self::BITS;
            (bit / 64, 1 << (bit % 64))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms;

    fn numbers(from: u32, to: u32) -> Vec<u32> {
        (from..to).map(|n| terms::number(&format!("word{n}"))).collect()
    }

    #[test]
    fn what_was_added_passes_and_little_else() {
        let mut filter = Filter::new();
        assert!(filter.add(&numbers(0, 10_000)));
        assert!(numbers(0, 10_000).into_iter().all(|term| filter.may_have(term)));
        let passing = numbers(10_000, 20_000).into_iter().filter(|term| filter.may_have(*term));
        assert!(passing.count() < 300);
    }

    #[test]
    fn a_full_filter_says_so() {
        let mut filter = Filter::new();
        assert!(!filter.add(&numbers(0, 100_000)));
    }
}
