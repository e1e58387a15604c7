//! An index in memory of a Room's older messages: which of them have a term, and the author, time and
//! length of each.

use galatea_core::{EntityId, MemoryId, Timestamp, store::RecallQuery};
use std::{
    collections::{HashMap, HashSet},
    iter::Peekable,
    ops::Range,
    slice::Iter,
};

use super::{
    message::{Having, Message, NEWEST, Places, Position, Shown, fits, short_id},
    numbers,
};
use crate::terms::{Asked, Names};

/// One message.
#[derive(Debug, Clone, Copy)]
struct Past {
    at: i64,
    seq: i64,
    /// Its id, shortened. A change of another message with the same one drops the Room as well.
    id: u64,
    characters: u32,
    /// Its place in `Postings::people`.
    person: u16,
    /// At most [`u16::MAX`], which only a text of that many words reaches.
    long: u16,
}

/// An inverted index: for each term the messages that have it. A place is a position in `messages`.
#[derive(Debug, Default)]
pub(super) struct Postings {
    /// By time and number.
    messages: Vec<Past>,
    /// Places in `messages`, by the number of the message.
    by_number: Vec<u16>,
    people: Vec<EntityId>,
    /// Terms in order, each with the end of its places.
    terms: Vec<(u32, u32)>,
    /// The places of the messages that have each term, the oldest first.
    places: Vec<u16>,
}

impl Postings {
    /// Pairs of a term and a message: those of about 16,000 messages. With as many different terms they
    /// would take 2.6 MB; a Room's messages share most of theirs.
    const MOST: usize = 1 << 18;

    /// Adds messages in any order, with their terms. False if the index would be too large; the caller
    /// drops it then.
    pub(super) fn add(&mut self, new: &[Message], terms_of_room: &[u32]) -> bool {
        let mut fresh: Vec<&Message> =
            new.iter().filter(|message| self.place(message.seq).is_none()).collect();
        fresh.sort_unstable_by_key(|message| (message.at, message.seq));
        fresh.dedup_by_key(|message| message.seq);
        let count = self.messages.len() + fresh.len();
        let terms = |message: &&Message| message.terms(terms_of_room).len();
        let pairs = self.places.len() + fresh.iter().map(terms).sum::<usize>();
        if count > usize::from(u16::MAX) || pairs > Self::MOST {
            return false;
        }
        let (before, now) = self.add_messages(&fresh);
        let mut added: Vec<(u32, u16)> = fresh
            .iter()
            .zip(now)
            .flat_map(|(message, place)| {
                message.terms(terms_of_room).iter().map(move |term| (*term, place))
            })
            .collect();
        added.sort_unstable();
        self.add_terms(&added, &before, pairs);
        true
    }

    /// Merges messages, which are in order. Returns the new places of those before and of these.
    fn add_messages(&mut self, fresh: &[&Message]) -> (Vec<u16>, Vec<u16>) {
        let mut people: HashMap<EntityId, u16> = self.people.iter().copied().zip(0..).collect();
        let (mut before, mut now) = (Vec::new(), Vec::new());
        let mut merged = Vec::with_capacity(self.messages.len() + fresh.len());
        let (mut old, mut new) = (self.messages.iter().peekable(), fresh.iter().peekable());
        loop {
            let is_old = match (old.peek(), new.peek()) {
                (Some(old), Some(new)) => (old.at, old.seq) < (new.at, new.seq),
                (Some(_), None) => true,
                (None, Some(_)) => false,
                (None, None) => break,
            };
            // `add` has counted the messages.
            let place = u16::try_from(merged.len()).unwrap_or(u16::MAX);
            if let Some(past) = old.next_if(|_| is_old) {
                before.push(place);
                merged.push(*past);
            } else if let Some(message) = new.next() {
                let next = u16::try_from(people.len()).unwrap_or(u16::MAX);
                let person = *people.entry(message.person).or_insert_with(|| {
                    self.people.push(message.person);
                    next
                });
                now.push(place);
                merged.push(Past {
                    at: message.at,
                    seq: message.seq,
                    id: short_id(message.id),
                    characters: message.characters,
                    person,
                    long: u16::try_from(message.long()).unwrap_or(u16::MAX),
                });
            }
        }
        self.by_number = (0..).take(merged.len()).collect();
        self.by_number.sort_unstable_by_key(|place| merged[usize::from(*place)].seq);
        self.messages = merged;
        (before, now)
    }

    /// Merges terms with places, which are in order; `moved` has the new places of the messages before.
    fn add_terms(&mut self, added: &[(u32, u16)], moved: &[u16], pairs: usize) {
        let take =
            |added: &mut Peekable<Iter<'_, (u32, u16)>>, term: u32, places: &mut Vec<u16>| {
                while let Some((_, place)) = added.next_if(|(of, _)| *of == term) {
                    places.push(*place);
                }
            };
        let mut terms = Vec::with_capacity(self.terms.len());
        let mut places = Vec::with_capacity(pairs);
        let mut added = added.iter().peekable();
        // Fewer pairs than `MOST`.
        let end = |places: &Vec<u16>| u32::try_from(places.len()).unwrap_or(u32::MAX);
        let mut from = 0;
        for (term, to) in &self.terms {
            while let Some(new) = added.peek().map(|(new, _)| *new).filter(|new| new < term) {
                take(&mut added, new, &mut places);
                terms.push((new, end(&places)));
            }
            let begin = places.len();
            let old = self.places.get(from as usize..*to as usize).unwrap_or_default();
            places.extend(old.iter().filter_map(|place| moved.get(usize::from(*place))));
            let had = places.len();
            take(&mut added, *term, &mut places);
            if places.len() > had {
                places[begin..].sort_unstable();
            }
            terms.push((*term, end(&places)));
            from = *to;
        }
        while let Some(new) = added.peek().map(|(new, _)| *new) {
            take(&mut added, new, &mut places);
            terms.push((new, end(&places)));
        }
        terms.shrink_to_fit();
        (self.terms, self.places) = (terms, places);
    }

    /// The messages that have a word, the newest first, at most [`NEWEST`].
    pub(super) fn having(&self, asked: &Asked) -> Having {
        let number = |(place, exact): (u32, bool)| Some((self.number(place as usize)?, exact));
        let mut newest = Vec::new();
        self.newest(asked, 0..self.messages.len(), |_| true, &mut newest);
        newest.into_iter().filter_map(number).collect()
    }

    /// Adds the places of the messages that have a word and that a query may show, the newest first, to
    /// newer ones, up to [`NEWEST`] in all.
    pub(super) fn add_places(&self, query: &RecallQuery, asked: &Asked, to: &mut Places) {
        let before = |at: Option<Timestamp>, none: usize| {
            at.map_or(none, |at| self.messages.partition_point(|past| past.at < at.0))
        };
        let shown = before(query.since, 0)..before(query.before, self.messages.len());
        if query.people.is_empty() {
            return self.newest(asked, shown, |_| true, to);
        }
        let is_of = |place: u16| {
            let past = self.messages.get(usize::from(place));
            let person = past.and_then(|past| self.people.get(usize::from(past.person)));
            person.is_some_and(|person| query.people.contains(person))
        };
        self.newest(asked, shown, is_of, to);
    }

    fn newest(
        &self,
        asked: &Asked,
        within: Range<usize>,
        is_shown: impl Fn(u16) -> bool,
        to: &mut Places,
    ) {
        let cut = |places: &[u16]| {
            let [from, end] = [within.start, within.end]
                .map(|bound| places.partition_point(|place| usize::from(*place) < bound));
            from..end.max(from)
        };
        // Of each form the places that are left, the newest last. The exact form comes first.
        let mut forms: Vec<(&[u16], bool)> = numbers::terms_of(asked)
            .filter_map(|(term, exact)| {
                let places = self.places_of(term);
                Some((places.get(cut(places))?, exact))
            })
            .filter(|(left, _)| !left.is_empty())
            .collect();
        let more = NEWEST.saturating_sub(to.len());
        to.reserve(forms.iter().map(|(left, _)| left.len()).sum::<usize>().min(more));
        if let [(places, exact)] = forms.as_slice() {
            // With one form there is nothing to merge.
            let shown = places.iter().rev().copied().filter(|place| is_shown(*place));
            to.extend(shown.take(more).map(|place| (u32::from(place), *exact)));
            return;
        }
        while to.len() < NEWEST
            && let Some(place) = forms.iter().filter_map(|(left, _)| left.last()).max().copied()
        {
            let mut is_exact = false;
            for (left, exact) in &mut forms {
                if let Some((_, before)) = left.split_last().filter(|(last, _)| **last == place) {
                    *left = before;
                    is_exact |= *exact;
                }
            }
            if is_shown(place) {
                to.push((place.into(), is_exact));
            }
        }
    }

    /// The number of the message at a place.
    pub(super) fn number(&self, place: usize) -> Option<i64> {
        self.messages.get(place).map(|past| past.seq)
    }

    /// How many messages it has.
    pub(super) fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether it has one of these messages.
    pub(super) fn has_any(&self, ids: &HashSet<MemoryId>) -> bool {
        let ids: HashSet<u64> = ids.iter().map(|id| short_id(*id)).collect();
        self.messages.iter().any(|past| ids.contains(&past.id))
    }

    fn places_of(&self, term: u32) -> &[u16] {
        let Ok(at) = self.terms.binary_search_by_key(&term, |(term, _)| *term) else { return &[] };
        let from = at.checked_sub(1).and_then(|at| self.terms.get(at)).map_or(0, |(_, end)| *end);
        let to = self.terms.get(at).map_or(0, |(_, end)| *end);
        self.places.get(from as usize..to as usize).unwrap_or_default()
    }

    fn place(&self, seq: i64) -> Option<usize> {
        let of = |place: &u16| self.messages.get(usize::from(*place)).map_or(0, |past| past.seq);
        let at = self.by_number.binary_search_by_key(&seq, of).ok()?;
        self.by_number.get(at).map(|place| usize::from(*place))
    }

    /// Whether it has a message.
    pub(super) fn has(&self, seq: i64) -> bool {
        self.place(seq).is_some()
    }

    /// What is known of a message, if a query may show it.
    pub(super) fn shown(&self, query: &RecallQuery, seq: i64) -> Option<Shown> {
        let Past { at, characters, person, long, .. } = *self.messages.get(self.place(seq)?)?;
        let person = *self.people.get(usize::from(person))?;
        let shown = Shown { person, at, characters, long: long.into() };
        fits(query, person, at).then_some(shown)
    }

    /// Whether a message contains one of the names; none if it is not here.
    pub(super) fn has_any_of(&self, seq: i64, names: &Names) -> Option<bool> {
        let place = u16::try_from(self.place(seq)?).ok()?;
        Some(names.are_among(|term| self.places_of(term).binary_search(&place).is_ok()))
    }

    /// The messages before and after one, if it is here: none at an end.
    pub(super) fn beside(&self, seq: i64) -> Option<[Option<i64>; 2]> {
        let place = self.place(seq)?;
        let of = |place: usize| Some(self.messages.get(place)?.seq);
        Some([place.checked_sub(1).and_then(of), of(place + 1)])
    }

    /// The newest message.
    pub(super) fn last(&self) -> Option<Position> {
        self.messages.last().map(|past| (past.at, past.seq))
    }

    /// Bytes that it takes, about.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.messages)
            + size_of_val(&*self.by_number)
            + size_of_val(&*self.people)
            + size_of_val(&*self.terms)
            + size_of_val(&*self.places)
    }
}

#[cfg(test)]
mod tests {
    use galatea_core::{MemoryId, Timestamp};
    use galatea_testkit::store_suite::fixtures::Scene;
    use uuid::Uuid;

    use super::*;
    use crate::terms::{self, Stems};

    /// Message `n`; later ones are at earlier times now and then.
    fn message(n: i64) -> Message {
        let at = (n * 7_919) % 10_007;
        let text =
            format!("word{} word{} kettle{}", n % 50, n % 7, if n % 2 == 0 { "s" } else { "" });
        let person = EntityId(Uuid::from_u128(u128::try_from(n % 3).unwrap()));
        let id = MemoryId(Uuid::from_u128(u128::try_from(n).unwrap()));
        Message::new(n, id, person, at, &text).analysed(&mut Stems::default())
    }

    #[test]
    fn messages_are_found_and_ordered_whatever_batches_they_come_in() {
        let all: Vec<Message> = (1..1_200).map(message).collect();
        let mut postings = Postings::default();
        for batch in [&all[700..900], &all[0..1], &all[300..800], &all[0..350], &all[900..]] {
            assert!(postings.add(batch, &[]));
        }
        let mut by_time: Vec<&Message> = all.iter().collect();
        by_time.sort_by_key(|message| (message.at, message.seq));
        let seqs: Vec<i64> = by_time.iter().map(|message| message.seq).collect();
        let scene = Scene::new();
        let query = RecallQuery::new(scene.visible(), "tea", 10, Timestamp(0));
        let times = [None, Some(Timestamp(2_000)), Some(Timestamp(9_000))];
        let between = |since, before| RecallQuery { since, before, ..query.clone() };
        let mut queries: Vec<RecallQuery> =
            times.iter().flat_map(|since| times.map(|before| between(*since, before))).collect();
        queries.push(RecallQuery { people: vec![all[0].person], ..between(times[1], times[2]) });
        for words in ["word3", "word48", "kettle", "kettles", "bicycle"] {
            let asked = &terms::asked(words)[0];
            let has = |message: &&&Message| {
                let exact = message.terms(&[]).contains(&terms::number(&asked.exact));
                let stem = |stem: &String| message.terms(&[]).contains(&terms::number(stem));
                exact || asked.stems.iter().any(stem)
            };
            let is_exact = |m: &Message| m.terms(&[]).contains(&terms::number(&asked.exact));
            let expected: Vec<(i64, bool)> = by_time
                .iter()
                .rev()
                .filter(has)
                .take(NEWEST)
                .map(|m| (m.seq, is_exact(m)))
                .collect();
            assert_eq!(postings.having(asked), expected, "{words}");
            for query in &queries {
                let shown = by_time.iter().rev().filter(has).filter(|m| m.fits(query));
                let shown: Vec<(i64, bool)> = shown.map(|m| (m.seq, is_exact(m))).collect();
                let number = |place: u32| postings.number(place as usize).unwrap();
                for newer in [0, NEWEST - 3] {
                    let mut found: Places = vec![(u32::MAX, true); newer];
                    postings.add_places(query, asked, &mut found);
                    let found =
                        found[newer..].iter().map(|(place, exact)| (number(*place), *exact));
                    let most = shown.len().min(NEWEST - newer);
                    assert_eq!(found.collect::<Vec<_>>(), shown[..most], "{words}");
                }
            }
        }
        for (place, seq) in seqs.iter().enumerate() {
            let before = place.checked_sub(1).map(|before| seqs[before]);
            assert_eq!(postings.beside(*seq), Some([before, seqs.get(place + 1).copied()]));
        }
        assert_eq!(postings.last().map(|(_, seq)| seq), seqs.last().copied());
        let known = &all[4];
        assert_eq!(postings.shown(&query, known.seq), Some(known.shown()));
        let since = Some(Timestamp(known.at + 1));
        assert_eq!(postings.shown(&RecallQuery { since, ..query }, known.seq), None);
        assert!(!postings.has(5_000) && postings.beside(5_000).is_none());
    }

    #[test]
    fn too_many_are_left_out() {
        let mut postings = Postings::default();
        let text: String = (0..20).map(|n| format!("word{n} ")).collect();
        let long = |n: i64| {
            Message::new(n, message(1).id, message(1).person, n, &text)
                .analysed(&mut Stems::default())
        };
        let all: Vec<Message> = (0..20_000).map(long).collect();
        let kept = all.chunks(1_000).take_while(|some| postings.add(some, &[])).count();
        assert!((8..18).contains(&kept), "{kept}");
        assert!(postings.bytes() < 4 << 20, "{}", postings.bytes());
    }
}
