//! Beginning: the first message of each Room's conversation that the model reads. It stays the same
//! for several turns, so that consecutive prompts begin with the same text and the provider of the
//! model can reuse what it has read of it. A window that loses its oldest message in every turn
//! would change that text in every turn.

use galatea_core::{Memory, MemoryId, RoomId};
use moka::sync::Cache;
use std::sync::Arc;

/// Rooms whose beginning is remembered. A Room that is not costs one prompt at the full price.
const ROOMS: u64 = 4096;

/// The beginnings of the Rooms' conversations. A restart forgets them.
pub(crate) struct Beginnings(Cache<RoomId, MemoryId>);

impl Beginnings {
    /// No Room has a beginning yet.
    pub(super) fn new() -> Self {
        Self(Cache::new(ROOMS))
    }

    /// The index of the Room's beginning in its recent messages (oldest first, at most `most`).
    /// Where they are as many and the beginning is none of them, a new one leaves two thirds: room
    /// to grow.
    pub(super) fn index(&self, room: RoomId, recent: &[Arc<Memory>], most: usize) -> usize {
        self.index_of(room, recent.len(), most, |at| recent[at].id)
    }

    fn index_of(
        &self,
        room: RoomId,
        messages: usize,
        most: usize,
        id: impl Fn(usize) -> MemoryId,
    ) -> usize {
        let known = self.0.get(&room);
        if let Some(index) = (0..messages).find(|at| known == Some(id(*at))) {
            return index;
        }
        let index = new_index(messages, most);
        if index > 0 {
            self.0.insert(room, id(index));
        }
        index
    }
}

fn new_index(messages: usize, most: usize) -> usize {
    if messages < most { 0 } else { messages.saturating_sub((most * 2).div_ceil(3)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn a_beginning_stays_until_it_leaves_the_window() {
        let (beginnings, room, most) = (Beginnings::new(), RoomId(Uuid::from_u128(1)), 30);
        let mut firsts = Vec::new();
        for written in 1..=100 {
            let oldest = written - written.min(most);
            let id = |at| MemoryId(Uuid::from_u128((oldest + at) as u128));
            let index = beginnings.index_of(room, written.min(most), most, id);
            let shown = written.min(most) - index;
            assert!(shown >= written.min(20) && shown <= most, "{written}: {shown}");
            firsts.push(oldest + index);
        }
        firsts.dedup();
        assert_eq!(firsts, [0, 10, 21, 32, 43, 54, 65, 76]);
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
