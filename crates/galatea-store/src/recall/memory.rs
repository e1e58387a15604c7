//! Search by words in a Room whose newest messages are in memory.

use galatea_core::{EntityId, Error, MemoryId, Result, store::RecallQuery};

use super::{
    candidates::Seen,
    rank::{self, Found, Listed},
    source::{Row, Search, Source, at_once},
};
use crate::{
    sqlite::{Sqlite, raw::Columns},
    talk::{Extent, Handle, Having, MOST, Message, NEWEST},
    terms::Asked,
};

/// A word is common if one of so many of the newest messages has it. Older messages with it are not
/// looked for.
const ONE_IN: usize = 10;

impl Row for Message {
    fn of(row: &mut Columns<'_>) -> Option<Self> {
        let (seq, id, person, at) = (row.int(0)?, row.id(1)?, row.id(2)?, row.int(3)?);
        Some(Self::new(seq, MemoryId(id), EntityId(person), at, row.text(4)?))
    }
}

impl From<&Message> for Seen {
    fn from(message: &Message) -> Self {
        let long = i64::try_from(message.long()).unwrap_or(i64::MAX);
        Self { person: message.person, at: message.at, long }
    }
}

/// The Room that a query searches, in memory. None if other Rooms in use leave no space for it, or if
/// the query leaves out most of its messages, and older ones than those in memory would have to be
/// found.
pub(super) async fn talk_in_sqlite(sqlite: &Sqlite, query: &RecallQuery) -> Result<Option<Handle>> {
    let talks = &sqlite.known.talks;
    let Some(handle) = talks.of(query) else { return Ok(None) };
    if handle.extent() == Extent::Unread {
        let statement = handle.read();
        let read = sqlite.search(move |raw, counts| -> Result<Vec<Message>> {
            let rows: Vec<Message> = at_once(Source::of_sqlite(raw, counts).all(statement))?;
            Ok(rows.into_iter().map(Message::analysed).collect())
        });
        talks.keep(&handle, read.await??);
    }
    Ok(handle.fits(query).then_some(handle))
}

/// The same query without conditions on what is found.
pub(super) fn wide(query: &RecallQuery) -> RecallQuery {
    RecallQuery { before: None, since: None, people: Vec::new(), ..query.clone() }
}

/// The words of a question in a Room whose newest messages are in memory.
pub(super) struct Words {
    /// Which of these messages have each word.
    newest: Vec<Having>,
    /// Of each word the older ones, as far as they are known.
    older: Vec<Option<Having>>,
    /// The places of rare words, whose older messages count.
    rare: Vec<usize>,
}

impl Words {
    /// Looks a question up. None if the Room is known whole.
    pub(super) fn new(handle: &Handle, query: &RecallQuery, asked: &[Asked]) -> Option<Self> {
        let mut talk = handle.talk();
        if talk.extent() != Extent::Newest {
            return None;
        }
        let newest = talk.having(query, asked);
        let older = asked.iter().map(|asked| talk.older(asked)).collect();
        let is_rare = |of: &(usize, &Having)| of.1.len() < MOST / ONE_IN;
        let rare = newest.iter().enumerate().filter(is_rare).map(|(word, _)| word).collect();
        Some(Self { newest, older, rare })
    }

    /// The places of those whose older messages are not known.
    fn unknown(&self) -> Vec<usize> {
        let is_unknown = |word: &usize| self.older.get(*word).is_none_or(Option::is_none);
        self.rare.iter().copied().filter(is_unknown).collect()
    }
}

impl Search<'_, '_> {
    /// The best by words of a whole Room, before their lengths are known.
    pub(super) fn listed_in_memory(&self, handle: &Handle) -> Vec<Listed> {
        let mut talk = handle.talk();
        let found = talk.having(self.query, &self.asked).into_iter().map(|mut rows| {
            rows.truncate(NEWEST);
            Found::all(rows)
        });
        rank::score(&found.collect::<Vec<_>>(), rank::often(talk.len()))
    }

    /// Whether the index of words has to be asked for older messages.
    pub(super) fn needs_index(&self) -> bool {
        let is_unknown = |words: &Words| !words.unknown().is_empty();
        self.words.as_ref().map_or(self.talk.is_none() && !self.asked.is_empty(), is_unknown)
    }

    /// The best by words of a Room whose newest messages are in memory, before their lengths are known
    /// and the query's conditions on older ones are checked.
    pub(super) async fn listed_with_older(
        &self,
        handle: &Handle,
        words: &Words,
    ) -> Result<Vec<Listed>> {
        let (unknown, mut older) = (words.unknown(), words.older.clone());
        if !unknown.is_empty() {
            let read = match &self.source {
                Source::Postgres(postgres) => {
                    let seen = |word: usize| words.newest.get(word).map_or(0, Vec::len);
                    self.indexed_in_postgres(postgres, handle.key.1, unknown, seen).await?
                }
                Source::Sqlite(..) => self.indexed_in_sqlite(unknown).await?,
                Source::Unconnected => {
                    return Err(Error::unexpected("a search in memory needs the index of words"));
                }
            };
            let mut talk = handle.talk();
            for (word, having) in read {
                if let (Some(asked), Some(older)) = (self.asked.get(word), older.get_mut(word)) {
                    *older = Some(talk.keep_older(asked, having));
                }
            }
        }
        let both = words.newest.iter().cloned().zip(older);
        let found = both.enumerate().map(|(word, (mut rows, older))| {
            let is_rare = words.rare.contains(&word);
            if is_rare {
                rows.extend(older.unwrap_or_default());
            }
            rows.truncate(NEWEST);
            // Of a common word the older ones are not counted.
            Found { with: if is_rare { rows.len() } else { NEWEST }, rows }
        });
        Ok(rank::score(&found.collect::<Vec<_>>(), usize::MAX))
    }
}
