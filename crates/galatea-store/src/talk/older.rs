//! Which messages that are not in memory have the words that were asked for.

use std::collections::{HashMap, HashSet};

use super::{
    message::{Having, Message},
    numbers::Numbers,
};
use crate::terms::Asked;

/// Messages with a word that count, the newest.
pub(crate) const NEWEST: usize = 400;

/// Of words that were asked for, which messages have them that are not in memory: what the database
/// listed, and what left the memory since.
#[derive(Debug, Default)]
pub(super) struct Older {
    words: HashMap<Asked, Packed>,
    listed: usize,
}

/// A list in half of the space: the last bit of each number says whether the word has the form that was
/// asked for.
#[derive(Debug, Default)]
struct Packed(Box<[i64]>);

impl Packed {
    fn new(having: &[(i64, bool)]) -> Self {
        Self(having.iter().map(|(seq, exact)| (seq << 1) | i64::from(*exact)).collect())
    }

    fn list(&self) -> impl Iterator<Item = (i64, bool)> {
        self.0.iter().map(|packed| (packed >> 1, packed & 1 == 1))
    }
}

impl Older {
    /// Messages listed, of all words.
    const MOST: usize = 8_192;
    /// Words.
    const WORDS: usize = 512;
    pub(super) const BYTES: usize = Self::MOST * size_of::<i64>();

    /// The messages that have a word, the newest first, if they are known.
    pub(super) fn get(&self, asked: &Asked) -> Option<Having> {
        Some(self.words.get(asked)?.list().collect())
    }

    /// Keeps which messages have a word, the newest first.
    pub(super) fn keep(&mut self, asked: &Asked, having: &[(i64, bool)]) {
        if self.listed + having.len() > Self::MOST || self.words.len() >= Self::WORDS {
            *self = Self::default();
        }
        self.listed += having.len();
        if let Some(before) = self.words.insert(asked.clone(), Packed::new(having)) {
            self.listed -= before.0.len();
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Adds messages in front of these, the last one first. Those that are known stay.
    pub(super) fn add(&mut self, messages: &[Message], terms: &[u32]) {
        let (words, before): (Vec<Asked>, Vec<Packed>) = self.words.drain().unzip();
        let numbers = Numbers::of(&words);
        let mut lists: Vec<Having> = vec![Vec::new(); words.len()];
        for message in messages.iter().rev() {
            message.list_in(terms, &numbers, &mut lists);
        }
        let joined = lists.into_iter().zip(before).map(|(mut list, before)| {
            let new: HashSet<i64> = list.iter().map(|(seq, _)| *seq).collect();
            list.extend(before.list().filter(|(seq, _)| !new.contains(seq)));
            list.truncate(NEWEST);
            Packed::new(&list)
        });
        self.words = words.into_iter().zip(joined).collect();
        self.listed = self.words.values().map(|packed| packed.0.len()).sum();
    }
}
