//! The first message of each Room's conversation that the model reads. It stays the same for
//! several turns, so that consecutive prompts begin with the same text and the provider of the
//! model can reuse what it has read of it. A window that loses its oldest message in every turn
//! would change that text in every turn.

use galatea_core::{EntityId, Memory, MemoryId, RoomId, tokens::Family};
use std::sync::Arc;

use crate::recent::Recent;

/// Rooms whose beginning is remembered. A Room that is not costs one prompt at the full price.
const ROOMS: usize = 4096;
/// Messages that are shown whatever their length, as far as the model takes them: four questions with
/// their answers.
const LEAST: usize = 8;
/// If these alone take more than the tokens, as many more are shown before the beginning moves,
/// so that it does not move with each message.
const GROWTH: usize = 4;
/// Part of the tokens that leaves at once: what stays is half full.
const LEAVING: u64 = 2;
/// Parts of the tokens from which on it is known what leaves next.
const NEAR: (u64, u64) = (3, 4);
/// Tokens of a message's frame and its speaker's name.
const FRAME: u64 = 8;

/// The beginnings of the Rooms' conversations. A restart forgets them.
pub(crate) struct Beginnings(Recent<RoomId, MemoryId>);

/// Part of a Room's recent messages that a prompt shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ShownBeginning {
    /// The index of the first one.
    pub(crate) from: usize,
    /// Number of messages from there that leave when as many are shown as may be; 0 while that is
    /// not near.
    pub(crate) leaving: usize,
}

impl Beginnings {
    /// No Room has a beginning yet.
    pub(crate) fn new() -> Self {
        Self(Recent::new(ROOMS))
    }

    /// The Room's recent messages (oldest first, at most `most`) that are shown. Where they are
    /// as many and the beginning is none of them, a new one leaves half: room to grow. Where
    /// they take more than `tokens`, the first of them leave that take half of these. A conversation
    /// begins with what a person said, where `own` is the agent.
    pub(crate) fn shown(
        &self,
        room: RoomId,
        recent: &[Arc<Memory>],
        own: EntityId,
        most: usize,
        tokens: Option<u64>,
    ) -> ShownBeginning {
        // The words of its files are shown in part, by a rule of its own.
        let message = |memory: &Arc<Memory>| ShownMessage {
            id: memory.id,
            size: FRAME + Family::Other.text(&memory.content.text),
            own: memory.entity_id == own,
        };
        let said: Vec<ShownMessage> = recent.iter().map(message).collect();
        self.of(room, &said, most, tokens)
    }

    fn of(
        &self,
        room: RoomId,
        said: &[ShownMessage],
        most: usize,
        tokens: Option<u64>,
    ) -> ShownBeginning {
        let known = self.0.get(&room);
        let begun = known.and_then(|id| said.iter().position(|message| message.id == id));
        let mut from = begun.unwrap_or_else(|| new_index(said.len(), most));
        if let Some(tokens) = tokens {
            while exceeds(&said[from..], tokens) {
                from += step(&said[from..], tokens);
            }
        }
        if begun != Some(from) {
            from = of_a_person(said, from);
            if from > 0
                && let Some(first) = said.get(from)
            {
                self.0.insert(room, first.id);
            }
        }
        let leaving = leaving(&said[from..], most, tokens);
        ShownBeginning { from, leaving: of_a_person(&said[from..], leaving) }
    }
}

/// A message, as far as it counts here.
#[derive(Clone, Copy)]
struct ShownMessage {
    id: MemoryId,
    size: u64,
    /// The agent's.
    own: bool,
}

/// The index of this message or, if it is the agent's, of the one before it.
fn of_a_person(said: &[ShownMessage], at: usize) -> usize {
    (1..=at.min(said.len().saturating_sub(1))).rev().find(|at| !said[*at].own).unwrap_or(0)
}

fn new_index(messages: usize, most: usize) -> usize {
    if messages < most { 0 } else { messages.saturating_sub(most.div_ceil(2)) }
}

/// Number of the shown messages, from the oldest, that leave next, if that is near: by their number
/// or by their tokens, whichever limit is nearer. The number stays the same until they have left,
/// so that they are summarised once.
fn leaving(shown: &[ShownMessage], most: usize, tokens: Option<u64>) -> usize {
    // The message that is answered is shown as well.
    let count = shown.len() + 1;
    let by_count = if count < (most * 2).div_ceil(3) { 0 } else { new_index(most, most) };
    let by_count = by_count.min(shown.len());
    let Some(tokens) = tokens else { return by_count };
    let taken = sum(shown);
    let is_nearer = u128::from(taken) * most as u128 > u128::from(tokens) * count as u128;
    if taken * NEAR.1 < tokens * NEAR.0 || (by_count > 0 && !is_nearer) {
        return by_count;
    }
    let next = if sum(newest(shown)) > tokens { GROWTH + 1 } else { half(shown, tokens) };
    next.min(shown.len().saturating_sub(LEAST - 1))
}

fn sum(said: &[ShownMessage]) -> u64 {
    said.iter().map(|message| message.size).sum()
}

/// True if these take more tokens, and more messages than are shown in any case.
fn exceeds(said: &[ShownMessage], tokens: u64) -> bool {
    let taken = sum(said);
    let grown = said.len() > LEAST + GROWTH || taken > 2 * tokens || sum(newest(said)) <= tokens;
    said.len() > LEAST && taken > tokens && grown
}

/// Messages that are shown in any case.
fn newest(said: &[ShownMessage]) -> &[ShownMessage] {
    &said[said.len().saturating_sub(LEAST)..]
}

/// Number of messages that leave now: at least one, and none of the newest.
fn step(said: &[ShownMessage], tokens: u64) -> usize {
    let most = said.len().saturating_sub(LEAST).max(1);
    if sum(newest(said)) > tokens { most } else { half(said, tokens).clamp(1, most) }
}

/// The first of these that take half of the tokens. What comes later does not change it.
fn half(said: &[ShownMessage], tokens: u64) -> usize {
    let mut taken = 0;
    let under = said.iter().take_while(|message| {
        let first = taken < tokens / LEAVING;
        taken += message.size;
        first
    });
    under.count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    const ROOM: RoomId = RoomId(Uuid::from_u128(1));

    /// Messages of one size; every second one is the agent's.
    fn talk(count: usize, size: u64) -> Vec<ShownMessage> {
        let said = |at: usize| ShownMessage {
            id: MemoryId(Uuid::from_u128(at as u128)),
            size,
            own: at % 2 == 1,
        };
        (0..count).map(said).collect()
    }

    /// The beginnings of a talk that grows by one message at a time, and the fewest and the most
    /// messages shown once there are enough.
    fn beginnings(size: u64, most: usize, tokens: Option<u64>) -> (Vec<usize>, usize, usize) {
        let (beginnings, all) = (Beginnings::new(), talk(150, size));
        let (mut firsts, mut fewest, mut largest) = (Vec::new(), usize::MAX, 0);
        for written in 1..=all.len() {
            let oldest = written - written.min(most);
            let shown = beginnings.of(ROOM, &all[oldest..written], most, tokens);
            firsts.push(oldest + shown.from);
            let count = written - oldest - shown.from;
            fewest = if written > most { fewest.min(count) } else { fewest };
            largest = largest.max(count);
        }
        firsts.dedup();
        (firsts, fewest, largest)
    }

    #[test]
    fn what_leaves_next_is_known_from_two_thirds_on_and_stays_the_same() {
        let of = |shown| leaving(&talk(shown, 1), 30, None);
        assert_eq!((of(18), of(19), of(29)), (0, 15, 15));
        assert_eq!(leaving(&talk(1, 1), 3, None), 1, "in the smallest window, too");
    }

    #[test]
    fn a_beginning_stays_until_it_leaves_the_window() {
        let (firsts, fewest, largest) = beginnings(1, 30, None);
        assert_eq!(firsts, [0, 14, 30, 46, 62, 78, 94, 110, 126]);
        assert!(fewest >= 15 && largest <= 30, "{fewest} {largest}");
    }

    #[test]
    fn long_messages_begin_later_and_stay_begun_for_several_turns() {
        // Eighteen of them take the tokens: half of these leave at once.
        let (firsts, fewest, largest) = beginnings(50, 100, Some(900));
        assert!(firsts.windows(2).all(|two| two[1] - two[0] >= 8), "{firsts:?}");
        assert!(fewest >= 8 && largest <= 19, "{fewest} {largest}");
        assert!(firsts.iter().all(|first| first % 2 == 0), "a person's message: {firsts:?}");
    }

    #[test]
    fn the_newest_eight_are_shown_however_long_they_are_and_the_beginning_still_stays_for_turns() {
        let (firsts, fewest, largest) = beginnings(150, 100, Some(900));
        assert!(fewest >= 8 && largest <= 13, "{fewest} {largest}");
        assert!(firsts.windows(2).all(|two| two[1] - two[0] >= 4), "{firsts:?}");
        let (_, fewest, largest) = beginnings(9_000, 100, Some(900));
        assert!(fewest >= 8 && largest <= 9, "{fewest} {largest}");
    }

    #[test]
    fn what_the_tokens_leave_out_next_is_known_before_it_leaves() {
        for (size, tokens) in [(50, 900), (30, 600), (100, 3_000), (80, 3_000)] {
            let (beginnings, all, most) = (Beginnings::new(), talk(200, size), 200);
            let (mut before, mut moves, mut known) = (ShownBeginning { from: 0, leaving: 0 }, 0, 0);
            for written in 1..=all.len() {
                let shown = beginnings.of(ROOM, &all[..written], most, Some(tokens));
                if shown.from != before.from {
                    moves += 1;
                    known += usize::from(before.from + before.leaving == shown.from);
                }
                before = shown;
            }
            assert!(moves > 5 && known == moves, "{size} {tokens}: {known} of {moves}");
        }
    }

    #[test]
    fn a_window_of_any_size_keeps_a_message() {
        for most in 1..50 {
            let index = new_index(most, most);
            assert!(index < most, "{most}: {index}");
        }
        assert_eq!((new_index(0, 0), new_index(4, 30)), (0, 0));
        assert_eq!(
            Beginnings::new().of(ROOM, &[], 0, Some(0)),
            ShownBeginning { from: 0, leaving: 0 }
        );
    }
}
