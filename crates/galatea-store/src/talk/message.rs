//! One message, with its terms as numbers.

use galatea_core::{EntityId, MemoryId, store::RecallQuery};

use super::numbers::Numbers;
use crate::terms::{self, Names, Stems};

/// Messages with a word, the newest first, and whether in the form that was asked for.
pub(crate) type Having = Vec<(i64, bool)>;

/// The same with places instead of numbers: of a whole Room, or of the messages kept one by one, the
/// oldest at 0.
pub(crate) type Places = Vec<(u32, bool)>;

/// Messages with a word that count, the newest.
pub(crate) const NEWEST: usize = 400;

/// The time and the number of a message.
pub(crate) type Position = (i64, i64);

/// What a search needs to know of a message before it reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) person: EntityId,
    pub(crate) at: i64,
    /// Characters of its text.
    pub(crate) characters: u32,
    /// How many terms it has.
    pub(crate) long: u32,
}

/// A message.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    pub(crate) seq: i64,
    pub(crate) id: MemoryId,
    pub(crate) person: EntityId,
    pub(crate) at: i64,
    /// Characters of its text.
    pub(crate) characters: u32,
    /// How many terms it has, if it was looked for.
    long: u32,
    said: Said,
}

/// What a message says.
#[derive(Debug, Clone)]
enum Said {
    /// Its text: it was not looked for yet.
    Text(Box<str>),
    /// Its terms as numbers, each once, in order.
    Terms(Box<[u32]>),
    /// The same, among those of its Room from a place on.
    At { from: u32, long: u32 },
}

impl Message {
    pub(crate) fn new(seq: i64, id: MemoryId, person: EntityId, at: i64, text: &str) -> Self {
        let characters = u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
        Self { seq, id, person, at, characters, long: 0, said: Said::Text(text.into()) }
    }

    /// With its terms, which takes some microseconds. `stems` are those of other texts.
    pub(crate) fn analysed(mut self, stems: &mut Stems) -> Self {
        self.analyse(stems);
        self
    }

    /// Whether its terms are known.
    pub(super) fn is_analysed(&self) -> bool {
        !matches!(self.said, Said::Text(_))
    }

    /// Finds its terms, unless they are known.
    pub(super) fn analyse(&mut self, stems: &mut Stems) {
        if let Said::Text(text) = &self.said {
            let (terms, long) = terms::numbers(text, stems);
            self.long = u32::try_from(long).unwrap_or(u32::MAX);
            self.said = Said::Terms(terms);
        }
    }

    /// Moves its terms to those of its Room, if they are known.
    pub(super) fn store_in(&mut self, all: &mut Vec<u32>) {
        if let Said::Terms(terms) = &self.said
            && let (Ok(from), Ok(long)) = (u32::try_from(all.len()), u32::try_from(terms.len()))
        {
            all.extend_from_slice(terms);
            self.said = Said::At { from, long };
        }
    }

    /// Moves its terms from those of its Room before to those of now.
    pub(super) fn move_terms(&mut self, before: &[u32], all: &mut Vec<u32>) {
        if let Said::At { .. } = self.said {
            self.said = Said::Terms(self.terms(before).into());
            self.store_in(all);
        }
    }

    /// How many terms it has, if it was looked for.
    pub(crate) fn long(&self) -> u32 {
        self.long
    }

    /// Its terms, with those of its Room.
    pub(super) fn terms<'a>(&'a self, all: &'a [u32]) -> &'a [u32] {
        match &self.said {
            Said::Text(_) => &[],
            Said::Terms(terms) => terms,
            Said::At { from, long } => {
                let rest = all.get(*from as usize..).unwrap_or_default();
                rest.get(..*long as usize).unwrap_or_default()
            }
        }
    }

    /// Whether it contains one of the names. `all` are the terms of its Room.
    pub(super) fn has_any_of(&self, all: &[u32], names: &Names) -> bool {
        match &self.said {
            Said::Text(text) => names.are_in(text),
            Said::Terms(_) | Said::At { .. } => {
                let terms = self.terms(all);
                names.are_among(|term| terms.binary_search(&term).is_ok())
            }
        }
    }

    /// Bytes that it takes, about.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>()
            + size_of::<u32>()
            + match &self.said {
                Said::Text(text) => text.len(),
                Said::Terms(terms) => size_of_val(&**terms),
                Said::At { long, .. } => *long as usize * size_of::<u32>(),
            }
    }

    /// Adds it to the list of each word that it has, by its number or place.
    pub(super) fn list_in<N: Copy + PartialEq>(
        &self,
        all: &[u32],
        numbers: &Numbers,
        own: N,
        lists: &mut [Vec<(N, bool)>],
    ) {
        for term in self.terms(all).iter().filter(|term| numbers.may_have(**term)) {
            for (word, exact) in numbers.positions_of(*term) {
                let Some(list) = lists.get_mut(word) else { continue };
                match list.last_mut() {
                    Some((last, before)) if *last == own => *before |= exact,
                    _ => list.push((own, exact)),
                }
            }
        }
    }

    /// The conditions of a query beside its place.
    pub(crate) fn fits(&self, query: &RecallQuery) -> bool {
        fits(query, self.person, self.at)
    }

    /// What a search needs to know of it before it is read.
    pub(super) fn shown(&self) -> Shown {
        let Self { person, at, characters, long, .. } = *self;
        Shown { person, at, characters, long }
    }
}

/// An id in 64 bits. Of 10,000 messages two have the same once in 10^11 Rooms.
pub(super) fn short_id(id: MemoryId) -> u64 {
    let (high, low) = id.0.as_u64_pair();
    high ^ low
}

/// Messages with their terms.
pub(super) fn analysed(mut messages: Vec<Message>, stems: &mut Stems) -> Vec<Message> {
    for message in &mut messages {
        message.analyse(stems);
    }
    messages
}

/// The conditions of a query beside its place, on a message of a person at a time.
pub(super) fn fits(query: &RecallQuery, person: EntityId, at: i64) -> bool {
    query.since.is_none_or(|since| at >= since.0)
        && query.before.is_none_or(|before| at < before.0)
        && (query.people.is_empty() || query.people.contains(&person))
}
