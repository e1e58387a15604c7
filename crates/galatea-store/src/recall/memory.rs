//! Search by words in a Room whose newest messages are in memory.

use galatea_core::{EntityId, MemoryId, Result, store::RecallQuery};

use super::{
    rank::{self, BySeq, Found, Listed, Seqs},
    source::{Row, Search, Source, at_once},
    talk_words::Words,
};
use crate::{
    sqlite::{
        Counts,
        raw::{Columns, Raw},
    },
    talk::{Extent, FIRST, Handle, MOST, Message, NEWEST, Talks},
};

impl Row for Message {
    fn of(row: &mut Columns<'_>) -> Option<Self> {
        let (seq, id, person, at) = (row.int(0)?, row.id(1)?, row.id(2)?, row.int(3)?);
        Some(Self::new(seq, MemoryId(id), EntityId(person), at, row.text(4)?))
    }
}

/// The Room that a query searches, in memory. None if other Rooms in use leave no space for it.
pub(super) fn room_in_sqlite(
    talks: &Talks,
    raw: &mut Raw<'_>,
    counts: &Counts,
    query: &RecallQuery,
) -> Result<Option<Handle>> {
    let Some(handle) = talks.of(query) else { return Ok(None) };
    if handle.extent() == Extent::Unread {
        let mut newest =
            |most: usize| at_once(Source::of_sqlite(raw, counts).all::<Message>(handle.read(most)));
        let (mut most, mut read) = (FIRST, newest(FIRST)?);
        let fitting = read.iter().filter(|message| message.fits(query)).count();
        if read.len() > FIRST && fitting < FIRST / 4 {
            // The prompt shows nearly all of these, or they came after its question.
            (most, read) = (MOST, newest(MOST)?);
        }
        talks.keep(&handle, handle.analysed(read), most);
    }
    Ok(Some(handle))
}

/// Reads a page of older messages of a Room, in some 3 ms, so that it becomes known whole and its
/// searches look at none of them in the database. False if none are left, or if the Room is not kept.
pub(super) fn read_ahead(
    talks: &Talks,
    handle: &Handle,
    raw: &mut Raw<'_>,
    counts: &Counts,
) -> bool {
    if let Err(error) = read_terms(handle, raw, counts) {
        tracing::warn!(room = %handle.key.1, error = %error.report(), "failed to read older messages of a room into memory; a later search of it retries");
        return false;
    }
    talks.update_size(handle) && handle.talk().next_unread().is_some()
}

fn read_terms(handle: &Handle, raw: &mut Raw<'_>, counts: &Counts) -> Result<()> {
    // Before the first statement, which begins the transaction: a change that is committed in between
    // would count as known, and the rows be those before it.
    let Some(unread) = handle.talk().next_unread() else { return Ok(()) };
    let read = at_once(Source::of_sqlite(raw, counts).all(handle.read_before(unread)))?;
    let rows = handle.analysed(read);
    handle.talk().keep_read(unread, rows);
    Ok(())
}

impl Search<'_, '_> {
    /// The best by words of a whole Room, before their lengths are known.
    pub(super) fn listed_in_memory(&self, handle: &Handle) -> Vec<Listed> {
        let mut talk = handle.talk();
        let found = talk.whole(self.query, &self.question.asked);
        // In a larger Room no word is left out: PostgreSQL does not know how many of its messages have one.
        let often = Some(talk.len()).filter(|len| *len <= MOST).map_or(usize::MAX, rank::often);
        let found: Vec<Found<u32>> = found.into_iter().map(Found::all).collect();
        let number = |place| talk.number(place);
        rank::score_places(&found, often, self.least_coverage(), talk.len(), number)
    }

    /// Whether the index of words has to be asked for older messages.
    pub(super) fn needs_index(&self) -> bool {
        let is_unknown = |words: &Words| !words.unknown().is_empty();
        self.words
            .as_ref()
            .map_or(self.talk.is_none() && !self.question.asked.is_empty(), is_unknown)
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
            };
            // As the Room was when its newest messages were looked at: more were perhaps read since.
            let here: Seqs = words.numbers.iter().copied().collect();
            let mut talk = handle.talk();
            for (word, mut having) in read {
                having.retain(|(seq, _)| !here.contains(seq));
                let Some(older) = older.get_mut(word) else { continue };
                if let Some(asked) = self.question.asked.get(word).filter(|_| self.is_complete) {
                    talk.keep_older(asked, &having, words.version);
                }
                *older = Some(having);
            }
        }
        let mut numbers = words.numbers.clone();
        let mut places: BySeq<u32> = BySeq::default();
        if older.iter().flatten().any(|having| !having.is_empty()) {
            places.extend(numbers.iter().copied().zip(0..));
        }
        let mut found = Vec::with_capacity(words.newest.len());
        for (word, (newest, older)) in words.newest.iter().zip(older).enumerate() {
            let mut rows = newest.clone();
            // Of a common word the older ones are not counted.
            if !words.rare.contains(&word) {
                rows.truncate(NEWEST);
                found.push(Found { with: NEWEST, rows });
                continue;
            }
            for (seq, exact) in older.unwrap_or_default() {
                let place = *places.entry(seq).or_insert_with(|| {
                    numbers.push(seq);
                    // Far fewer than 2^32 messages are listed.
                    u32::try_from(numbers.len() - 1).unwrap_or(u32::MAX)
                });
                // A message of `newest` may have left the memory since, so that the index lists it as well.
                let was_here = (place as usize) < words.numbers.len();
                if !was_here || !newest.iter().any(|(of, _)| *of == place) {
                    rows.push((place, exact));
                }
            }
            rows.truncate(NEWEST);
            found.push(Found::all(rows));
        }
        let number = |place: usize| numbers.get(place).copied();
        let least = self.least_coverage();
        Ok(rank::score_places(&found, usize::MAX, least, numbers.len(), number))
    }
}
