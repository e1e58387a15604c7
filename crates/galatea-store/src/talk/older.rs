//! The words of a Room's messages that are not among the newest.

use std::collections::{HashMap, HashSet};

use super::{
    message::{Having, Message, NEWEST, Position},
    numbers::Numbers,
    postings::Postings,
};
use crate::terms::Asked;

/// The messages that are not among the newest: an index of all their terms, or lists of the messages
/// that have the words of earlier questions.
#[derive(Debug, Default)]
pub(super) struct Older {
    /// What the database listed, and what left the memory since; empty once all terms are known.
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
    Partial(Postings, Position),
    /// Those of all messages.
    Complete(Postings),
    /// They are too many.
    TooMany,
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

    /// Of a Room whose messages are all in memory, before the first leaves.
    pub(super) fn of_none() -> Self {
        Self { terms: Terms::Complete(Postings::default()), ..Self::default() }
    }

    /// The messages that have a word, the newest first, if they are known.
    pub(super) fn get(&self, asked: &Asked) -> Option<Having> {
        match &self.terms {
            Terms::Complete(postings) => Some(postings.having(asked)),
            _ => self.words.get(asked).map(|packed| packed.list().collect()),
        }
    }

    /// All messages, if all are known.
    pub(super) fn all(&self) -> Option<&Postings> {
        match &self.terms {
            Terms::Complete(postings) => Some(postings),
            _ => None,
        }
    }

    /// Whether the terms of all messages are known.
    pub(super) fn is_complete(&self) -> bool {
        matches!(self.terms, Terms::Complete(_))
    }

    /// Whether the terms of some messages are known.
    pub(super) fn is_partial(&self) -> bool {
        matches!(self.terms, Terms::Partial(..))
    }

    /// Whether the terms are too many to be kept.
    pub(super) fn is_too_large(&self) -> bool {
        matches!(self.terms, Terms::TooMany)
    }

    /// Forgets which messages have a word. A Room that is too large for the index is not read again.
    pub(super) fn forget(&mut self) {
        let terms = match self.terms {
            Terms::TooMany => Terms::TooMany,
            Terms::Unknown | Terms::Partial(..) | Terms::Complete(_) => Terms::Unknown,
        };
        *self = Self { terms, ..Self::default() };
    }

    /// Bytes that it takes, about.
    pub(super) fn bytes(&self) -> usize {
        let terms = match &self.terms {
            Terms::Partial(postings, _) | Terms::Complete(postings) => postings.bytes(),
            Terms::Unknown | Terms::TooMany => 0,
        };
        terms + self.listed * size_of::<i64>()
    }

    /// Before which message the next ones are to be read whose terms are unknown. `oldest` is the
    /// position of the oldest message in memory.
    pub(super) fn next_unread(&mut self, oldest: Position) -> Option<Position> {
        if matches!(self.terms, Terms::Unknown) {
            self.terms = Terms::Partial(Postings::default(), oldest);
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
            Terms::Partial(mut postings, next) if next == before => {
                let fits = postings.add(messages, &[]);
                self.terms = match messages.last() {
                    _ if !fits => Terms::TooMany,
                    Some(last) if !is_last => Terms::Partial(postings, (last.at, last.seq)),
                    _ => Terms::Complete(postings),
                };
            }
            terms => self.terms = terms,
        }
        if matches!(self.terms, Terms::Complete(_)) {
            self.words = HashMap::new();
            self.listed = 0;
        }
    }

    /// Keeps which messages have a word, the newest first.
    pub(super) fn keep(&mut self, asked: &Asked, having: &[(i64, bool)]) {
        if matches!(self.terms, Terms::Complete(_)) {
            return;
        }
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
        if let Terms::Partial(postings, _) | Terms::Complete(postings) = &mut self.terms
            && !postings.add(messages, terms)
        {
            self.terms = Terms::TooMany;
        }
        if self.words.is_empty() {
            return;
        }
        let (words, before): (Vec<Asked>, Vec<Packed>) = self.words.drain().unzip();
        let numbers = Numbers::of(&words);
        let mut lists: Vec<Having> = vec![Vec::new(); words.len()];
        for message in messages.iter().rev() {
            message.list_in(terms, &numbers, message.seq, &mut lists);
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

#[cfg(test)]
mod tests {
    use galatea_core::{EntityId, MemoryId};
    use uuid::Uuid;

    use super::*;
    use crate::terms::{self, Stems};

    #[test]
    fn of_too_many_messages_only_the_words_asked_for_are_kept() {
        let mut older = Older::of_none();
        let text: String = (0..4_000).map(|n| format!("word{n} ")).collect();
        let (id, person) = (MemoryId(Uuid::nil()), EntityId(Uuid::nil()));
        let long = |n: i64| Message::new(n, id, person, n, &text).analysed(&mut Stems::default());
        let asked = &terms::asked("word7")[0];
        older.add(&[long(1)], &[]);
        assert_eq!(older.get(asked), Some(vec![(1, true)]));
        let many: Vec<Message> = (2..100).map(long).collect();
        older.add(&many, &[]);
        assert_eq!(older.get(asked), None);
        older.keep(asked, &[(5, true)]);
        assert_eq!(older.get(asked), Some(vec![(5, true)]));
        older.forget();
        assert_eq!(
            (older.get(asked), older.next_unread((0, 0))),
            (None, None),
            "it reads none again"
        );
        let mut small = Older::of_none();
        small.add(&[long(1)], &[]);
        small.forget();
        assert_eq!((small.get(asked), small.next_unread((9, 9))), (None, Some((9, 9))));
    }
}
