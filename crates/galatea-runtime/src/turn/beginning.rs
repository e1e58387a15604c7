//! The first message of each Room's conversation that the model reads. It stays the same for
//! several turns, so that consecutive prompts begin with the same text and the provider of the
//! model can reuse what it has read of it. A window that loses its oldest message in every turn
//! would change that text in every turn.

use galatea_core::{Memory, MemoryId, RoomId, tokens::Family};
use moka::sync::Cache;
use std::sync::Arc;

/// Rooms whose beginning is remembered. A Room that is not costs one prompt at the full price.
const ROOMS: u64 = 4096;
/// Messages that are shown whatever their length: two questions with their answers. With more, a new
/// beginning leaves so much that it soon has to move again.
const LEAST: usize = 4;
/// Part of the tokens that a new beginning leaves: few, so that it stays for many turns.
const KEPT: u64 = 3;
/// Tokens of a message's frame and its speaker's name.
const FRAME: u64 = 8;

/// The beginnings of the Rooms' conversations. A restart forgets them.
pub(crate) struct Beginnings(Cache<RoomId, MemoryId>);

/// Which part of a Room's recent messages a prompt shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shown {
    /// The index of the first one.
    pub(crate) from: usize,
    /// How many of those from there leave when as many are shown as may be; 0 while that is not near.
    pub(crate) leaving: usize,
}

impl Beginnings {
    /// No Room has a beginning yet.
    pub(super) fn new() -> Self {
        Self(Cache::new(ROOMS))
    }

    /// Which of the Room's recent messages (oldest first, at most `most`) are shown. Where they are
    /// as many and the beginning is none of them, a new one leaves two thirds: room to grow. Where
    /// they take more than `tokens`, it leaves a third of these.
    pub(super) fn shown(
        &self,
        room: RoomId,
        recent: &[Arc<Memory>],
        most: usize,
        tokens: Option<u64>,
    ) -> Shown {
        // What its files say is shown in part, by a rule of its own.
        let sizes: Vec<u64> =
            recent.iter().map(|memory| FRAME + Family::Other.text(&memory.content.text)).collect();
        let from = self.index_of(room, &sizes, most, tokens, |at| recent[at].id);
        Shown { from, leaving: leaving(sizes.len() - from, most) }
    }

    fn index_of(
        &self,
        room: RoomId,
        sizes: &[u64],
        most: usize,
        tokens: Option<u64>,
        id: impl Fn(usize) -> MemoryId,
    ) -> usize {
        let messages = sizes.len();
        let known = self.0.get(&room);
        let begun = (0..messages).find(|at| known == Some(id(*at)));
        let start = begun.unwrap_or_else(|| new_index(messages, most));
        let index = match tokens {
            Some(tokens) if exceeds(&sizes[start..], tokens) => {
                start + fitting(&sizes[start..], tokens / KEPT)
            }
            _ => start,
        };
        if begun == Some(index) {
            return index;
        }
        if index > 0 {
            self.0.insert(room, id(index));
        }
        index
    }
}

fn new_index(messages: usize, most: usize) -> usize {
    if messages < most { 0 } else { messages.saturating_sub((most * 2).div_ceil(3)) }
}

/// How many of the messages shown, from the oldest, leave when `most` are reached. The number stays
/// the same from two thirds on until they have left, so that they are summarised once.
fn leaving(shown: usize, most: usize) -> usize {
    // The message that is answered is shown as well.
    if shown + 1 < (most * 2).div_ceil(3) { 0 } else { new_index(most, most).min(shown) }
}

/// Whether these take more tokens, and more messages than are shown in any case.
fn exceeds(sizes: &[u64], tokens: u64) -> bool {
    sizes.len() > LEAST && sizes.iter().sum::<u64>() > tokens
}

/// The index from which these take so many tokens at most.
fn fitting(sizes: &[u64], tokens: u64) -> usize {
    let mut sum = 0;
    let shown = sizes.iter().rev().take_while(|size| {
        sum += **size;
        sum <= tokens
    });
    sizes.len() - shown.count().max(LEAST.min(sizes.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn what_leaves_next_is_known_from_two_thirds_on_and_stays_the_same() {
        let of = |shown| leaving(shown, 30);
        assert_eq!((of(18), of(19), of(29)), (0, 10, 10));
        assert_eq!((leaving(1, 3), leaving(0, 3)), (1, 0), "in the smallest window, too");
    }

    #[test]
    fn a_beginning_stays_until_it_leaves_the_window() {
        let (beginnings, room, most) = (Beginnings::new(), RoomId(Uuid::from_u128(1)), 30);
        let mut firsts = Vec::new();
        for written in 1..=100 {
            let oldest = written - written.min(most);
            let id = |at| MemoryId(Uuid::from_u128((oldest + at) as u128));
            let sizes = vec![1; written.min(most)];
            let index = beginnings.index_of(room, &sizes, most, None, id);
            let shown = written.min(most) - index;
            assert!(shown >= written.min(20) && shown <= most, "{written}: {shown}");
            firsts.push(oldest + index);
        }
        firsts.dedup();
        assert_eq!(firsts, [0, 10, 21, 32, 43, 54, 65, 76]);
    }

    #[test]
    fn long_messages_begin_later_and_stay_begun_for_several_turns() {
        let (beginnings, room) = (Beginnings::new(), RoomId(Uuid::from_u128(1)));
        let mut firsts = Vec::new();
        for written in 1..=40_usize {
            let id = |at| MemoryId(Uuid::from_u128(at as u128));
            let sizes = vec![50; written];
            let index = beginnings.index_of(room, &sizes, 100, Some(900), id);
            let shown = written - index;
            assert!(shown >= written.min(LEAST) && shown <= 18, "{written}: {shown}");
            firsts.push(index);
        }
        firsts.dedup();
        assert_eq!(firsts, [0, 13, 26]);
        // Whatever their length, the newest are shown.
        let sizes = [1, 1, 9_000, 9_000, 9_000, 9_000, 9_000, 9_000];
        let at = |at| MemoryId(Uuid::from_u128(100 + at as u128));
        assert_eq!(beginnings.index_of(RoomId(Uuid::from_u128(2)), &sizes, 100, Some(900), at), 4);
    }

    #[test]
    fn a_window_of_any_size_keeps_a_message() {
        for most in 1..50 {
            let index = new_index(most, most);
            assert!(index < most, "{most}: {index}");
        }
        assert_eq!((new_index(0, 0), new_index(4, 30)), (0, 0));
    }
}
