//! Selects items at random. One seed serves all turns of a day, so that every prompt begins with
//! the same text and the provider of the model can reuse what it has read of it.

use galatea_core::Turn;
use rand::{SeedableRng, rngs::StdRng, seq::IndexedRandom};

/// The seed of a turn: the agent and the day, in the agent's time zone, on which the message was
/// written. A retry builds the same prompt. All Rooms share the seed, and so the cached text.
pub(crate) fn of_the_day(turn: &Turn<'_>) -> u64 {
    let (high, low) = turn.agent.identity.id().0.as_u64_pair();
    let day = turn.agent.zone.local(turn.message.created_at).days();
    high ^ low ^ day.cast_unsigned()
}

/// At most `count` items in random order. The same seed selects the same items.
pub(crate) fn some<T>(items: &[T], count: usize, seed: u64) -> Vec<&T> {
    items.sample(&mut StdRng::seed_from_u64(seed), count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_selects_the_same() {
        let items: Vec<u32> = (0..100).collect();
        assert_eq!(some(&items, 5, 1), some(&items, 5, 1));
        assert_ne!(some(&items, 5, 1), some(&items, 5, 2));
        assert_eq!(some(&items[..2], 5, 1).len(), 2);
    }
}
