//! The words of a question in a Room of which only the newest messages are in memory.

use galatea_core::store::RecallQuery;

use super::{lookup::Question, rank::OFTEN};
use crate::talk::{Extent, Handle, Having, MOST, Places};

/// A word is common if one in so many of the newest messages has it, and at least [`OFTEN`]: of a Room
/// that was just read few are known. Older messages with it are not looked for.
const ONE_IN: usize = 10;

/// The words of a question in a Room whose newest messages are in memory.
pub(super) struct Words {
    /// Which of these messages have each word, by their places in `numbers`.
    pub(super) newest: Vec<Places>,
    /// Numbers of the newest messages, by place.
    pub(super) numbers: Vec<i64>,
    /// Of each word the older ones, as far as they are known.
    pub(super) older: Vec<Option<Having>>,
    /// The places of rare words, whose older messages count.
    pub(super) rare: Vec<usize>,
    /// The version of the Room.
    pub(super) version: u64,
}

impl Words {
    /// Looks a question up. None if the Room is known whole.
    pub(super) fn new(handle: &Handle, query: &RecallQuery, question: &Question) -> Option<Self> {
        let mut talk = handle.talk();
        if talk.extent() != Extent::Newest {
            return None;
        }
        let asked = question.few();
        let (newest, numbers) = talk.having(query, asked);
        let older = asked.iter().map(|asked| talk.older(asked)).collect();
        let common = (numbers.len().min(MOST) / ONE_IN).max(OFTEN);
        let is_rare = |of: &(usize, &Places)| of.1.len() < common;
        let rare = newest.iter().enumerate().filter(is_rare).map(|(word, _)| word).collect();
        Some(Self { newest, numbers, older, rare, version: talk.version() })
    }

    /// The places of those whose older messages are not known.
    pub(super) fn unknown(&self) -> Vec<usize> {
        let is_unknown = |word: &usize| self.older.get(*word).is_none_or(Option::is_none);
        self.rare.iter().copied().filter(is_unknown).collect()
    }
}
