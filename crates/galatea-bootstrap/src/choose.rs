//! Choose: lines picked by chance, but the same ones for the same message, so that a retry composes
//! the same prompt.

use galatea_core::MemoryId;
use rand::{SeedableRng, rngs::StdRng, seq::IndexedRandom};

/// At most `count` items in their own order of chance.
pub(crate) fn some<T>(items: &[T], count: usize, seed: MemoryId) -> Vec<&T> {
    let mut rng = StdRng::seed_from_u64(seed.0.as_u64_pair().0 ^ seed.0.as_u64_pair().1);
    items.sample(&mut rng, count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_message_picks_the_same() {
        let items: Vec<u32> = (0..100).collect();
        let (a, b) = (MemoryId(uuid::Uuid::from_u128(1)), MemoryId(uuid::Uuid::from_u128(2)));
        assert_eq!(some(&items, 5, a), some(&items, 5, a));
        assert_ne!(some(&items, 5, a), some(&items, 5, b));
        assert_eq!(some(&items[..2], 5, a).len(), 2);
    }
}
