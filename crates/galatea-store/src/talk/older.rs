//! Which messages that are not in memory have the words that were asked for.

use std::collections::{HashMap, HashSet};

use super::{
    filter::Filter,
    message::{Having, Message},
    numbers::{self, Numbers},
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
    terms: Terms,
}

/// What is known of the terms of messages that are not in memory.
#[derive(Debug, Default)]
enum Terms {
    /// Nothing yet.
    #[default]
    Unknown,
    /// Those of the messages that have left, and of the stored ones from this time and number on.
    Partial(Filter, Position),
    /// Those of all messages.
    Complete(Filter),
    /// They are too many.
    TooMany,
}

/// The time and the number of a message.
pub(crate) type Position = (i64, i64);

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
    pub(super) const BYTES: usize = Self::MOST * size_of::<i64>() + Filter::BYTES;

    /// Of a Room whose messages are all in memory, before the first leaves.
    pub(super) fn of_none() -> Self {
        Self { terms: Terms::Complete(Filter::new()), ..Self::default() }
    }

    /// The messages that have a word, the newest first, if they are known.
    pub(super) fn get(&self, asked: &Asked) -> Option<Having> {
        if let Some(packed) = self.words.get(asked) {
            return Some(packed.list().collect());
        }
        let Terms::Complete(filter) = &self.terms else { return None };
        let mut terms = numbers::terms_of(asked);
        (!terms.any(|(term, _)| filter.may_have(term))).then(Vec::new)
    }

    /// Before which message the next ones are to be read whose terms are unknown. `oldest` is the
    /// position of the oldest message in memory.
    pub(super) fn next_unread(&mut self, oldest: Position) -> Option<Position> {
        if matches!(self.terms, Terms::Unknown) {
            self.terms = Terms::Partial(Filter::new(), oldest);
        }
        match &self.terms {
            Terms::Partial(_, next) => Some(*next),
            Terms::Unknown | Terms::Complete(_) | Terms::TooMany => None,
        }
    }

    /// Adds the terms of messages that were read before a position, the newest first. `is_last` says
    /// that there are no more.
    pub(super) fn add_read(&mut self, before: Position, messages: &[Message], is_last: bool) {
        match std::mem::take(&mut self.terms) {
            Terms::Partial(mut filter, next) if next == before => {
                let fits = messages.iter().all(|message| filter.add(message.terms(&[])));
                self.terms = match messages.last() {
                    _ if !fits => Terms::TooMany,
                    Some(last) if !is_last => Terms::Partial(filter, (last.at, last.seq)),
                    _ => Terms::Complete(filter),
                };
            }
            terms => self.terms = terms,
        }
    }

    /// Keeps which messages have a word, the newest first.
    pub(super) fn keep(&mut self, asked: &Asked, having: &[(i64, bool)]) {
        if self.listed + having.len() > Self::MOST || self.words.len() >= Self::WORDS {
            self.words.clear();
            self.listed = 0;
        }
        self.listed += having.len();
        if let Some(before) = self.words.insert(asked.clone(), Packed::new(having)) {
            self.listed -= before.0.len();
        }
    }

    /// Whether it has nothing to which messages would be added.
    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty() && matches!(self.terms, Terms::Unknown | Terms::TooMany)
    }

    /// Adds messages in front of these, the last one first. Those that are known stay.
    pub(super) fn add(&mut self, messages: &[Message], terms: &[u32]) {
        if let Terms::Partial(filter, _) | Terms::Complete(filter) = &mut self.terms
            && !messages.iter().all(|message| filter.add(message.terms(terms)))
        {
            self.terms = Terms::TooMany;
        }
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
