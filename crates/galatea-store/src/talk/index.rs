//! The messages of one Room, and which of them have a word.

use galatea_core::{MemoryId, store::RecallQuery};
use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
};

use super::{
    lock,
    message::{Having, Message, NEWEST, Places, Position, Shown},
    numbers::Numbers,
    older::Older,
    postings::Postings,
};
use crate::terms::{Asked, Names, Stems};

/// Messages kept one by one of a Room that is not known whole, the newest. PostgreSQL reads so many at
/// once.
pub(crate) const MOST: usize = 500;
/// Messages that SQLite reads of a Room for its first search: half as many more as a prompt shows by
/// default (`CONVERSATION_LENGTH`). If the prompt shows more than three in four of these, [`MOST`] are
/// read. The others are read page by page, see [`Talk::reading_due`].
pub(crate) const FIRST: usize = 48;

/// How much of a Room is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Nothing: it has to be read first.
    #[default]
    Unread,
    /// All messages: the newest one by one, the others in an index.
    Whole,
    /// The newest, and what was asked of the others.
    Newest,
}

/// Messages whose terms are read at once, in some 3 ms.
pub(crate) const PAGE: usize = 500;

/// Searches of a Room during which its pages wait until no search comes. So many cost as much as two
/// pages, and a Room rarely has more questions that came while the program was away.
const SEARCHES: u32 = 32;

/// When a page of a Room's older messages is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    /// After this search.
    Now,
    /// While no search comes.
    Quiet,
}

/// Messages whose terms are to be read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unread {
    /// They are the newest before this position.
    pub(crate) before: Position,
    /// How many, at most.
    pub(crate) most: usize,
    /// Whether they are to be kept one by one.
    one_by_one: bool,
    changes: u64,
}

/// A Room's messages.
#[derive(Debug, Default)]
pub(crate) struct Talk {
    pub(super) extent: Extent,
    /// By number.
    pub(super) messages: Vec<Message>,
    /// Places in `messages`, by time; of equal times by number.
    pub(super) order: Vec<u32>,
    /// The terms of the messages kept one by one, as numbers. A search reads all of them, which is fast as long as they
    /// lie in one piece.
    pub(super) terms: Vec<u32>,
    /// Messages that were added before the Room was read.
    pub(super) early: Vec<Message>,
    /// Messages that were added since, with older times than those in `messages`.
    pub(super) late: Vec<Message>,
    /// Which of the messages that are not here have the words that were asked for.
    pub(super) older: Older,
    pub(super) version: u64,
    /// How often messages that are not here were changed.
    changes: u64,
    /// Searches since the Room was read.
    searches: u32,
    /// Whether a page waits until no search comes.
    pub(super) waits: bool,
    /// Messages that were changed before the Room was read.
    changed: HashSet<MemoryId>,
    /// Its messages were read before some of them were changed.
    pub(super) is_stale: bool,
    /// Shared by all Rooms.
    pub(super) stems: Arc<Mutex<Stems>>,
}

impl Talk {
    /// A Room that has to be read. `stems` are those of recent texts, of any Room.
    pub(super) fn new(stems: Arc<Mutex<Stems>>) -> Self {
        Self { stems, ..Self::default() }
    }

    pub(crate) fn extent(&self) -> Extent {
        self.extent
    }

    /// How many messages it knows.
    pub(crate) fn len(&self) -> usize {
        self.messages.len() + self.older.all().map_or(0, Postings::len)
    }

    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.older.bytes()
            + self.messages.iter().map(Message::bytes).sum::<usize>()
    }

    /// Takes what was read of the Room, the newest messages, one more than `most` if there are more; and
    /// what was added meanwhile.
    pub(super) fn fill(&mut self, mut read: Vec<Message>, most: usize) {
        if self.extent != Extent::Unread {
            return;
        }
        let early = std::mem::take(&mut self.early);
        self.extent = if read.len() <= most { Extent::Whole } else { Extent::Newest };
        read.sort_unstable_by_key(|message| message.seq);
        let changed = std::mem::take(&mut self.changed);
        self.is_stale = read.iter().any(|message| changed.contains(&message.id));
        self.messages = read;
        self.arrange();
        for message in early {
            self.add(message);
        }
        self.add_late();
        self.bound();
    }

    /// Adds a message that was committed; false if it was known, or is older than those kept one by one.
    /// The caller drops the oldest, see [`Talk::bound`], and adds the older ones, see
    /// [`Talk::add_late`].
    pub(super) fn add(&mut self, message: Message) -> bool {
        match self.extent {
            Extent::Unread => {
                self.early.push(message);
                return true;
            }
            Extent::Whole | Extent::Newest => {}
        }
        let Err(place) = self.messages.binary_search_by_key(&message.seq, |known| known.seq) else {
            return false;
        };
        let has_older = self.extent == Extent::Newest || self.older.is_complete();
        // All in the index come before all that are not, in the order of times and numbers.
        let is_late = |oldest: Position| (message.at, message.seq) < oldest;
        if has_older && self.oldest_position().is_some_and(is_late) {
            // A page that was read before does not have it.
            self.changes += 1;
            self.late.push(message);
            return false;
        }
        let (is_last, at) = (place == self.messages.len(), message.at);
        self.messages.insert(place, message);
        match u32::try_from(place) {
            Ok(place) if is_last => {
                let after = self.order.partition_point(|of| self.messages[*of as usize].at <= at);
                self.order.insert(after, place);
            }
            _ => self.arrange(),
        }
        true
    }

    /// Whether a time is before that of all messages here.
    pub(super) fn is_older(&self, at: i64) -> bool {
        self.oldest_position().is_some_and(|oldest| at < oldest.0)
    }

    /// The position of the oldest message that is kept one by one.
    fn oldest_position(&self) -> Option<Position> {
        let oldest = self.messages.get(*self.order.first()? as usize)?;
        Some((oldest.at, oldest.seq))
    }

    pub(super) fn arrange(&mut self) {
        // A Room has far fewer than 2^32 here.
        self.order = (0..).take(self.messages.len()).collect();
        self.order.sort_by_key(|place| self.messages[*place as usize].at);
    }

    /// What is known of a word among the messages that are not here.
    pub(crate) fn older(&self, asked: &Asked) -> Option<Having> {
        let mut having = self.older.get(asked)?;
        // Another process may have read it before it came here.
        having.retain(|(seq, _)| self.get(*seq).is_none());
        Some(having)
    }

    /// Changes when messages leave, or when what is known of those that are not here is forgotten.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Keeps which messages that are not here have a word, the newest first. They were read when it had
    /// this version.
    pub(crate) fn keep_older(&mut self, asked: &Asked, having: &[(i64, bool)], version: u64) {
        if version == self.version {
            self.older.keep(asked, having);
        }
    }

    /// Forgets which messages that are not here have a word: some of them were changed.
    pub(super) fn forget_older(&mut self) {
        if self.older.is_complete() {
            // Its messages are known one by one.
            return;
        }
        self.older.forget();
        self.version += 1;
        self.changes += 1;
    }

    /// The next messages that are not here and whose terms have to be read, until the Room is known
    /// whole. The first of them are kept one by one, up to [`MOST`].
    pub(crate) fn next_unread(&mut self) -> Option<Unread> {
        if self.extent != Extent::Newest {
            return None;
        }
        let (oldest, changes) = (self.oldest_position()?, self.changes);
        let most = MOST.saturating_sub(self.messages.len());
        if most > 0 && !self.older.is_partial() {
            return Some(Unread { before: oldest, most, one_by_one: true, changes });
        }
        let before = self.older.next_unread(oldest)?;
        Some(Unread { before, most: PAGE, one_by_one: false, changes })
    }

    /// When the next page is to be read. Called once after each search. None if the Room is known whole,
    /// or as far as its index allows. `can_wait` says whether a thread can read it later.
    pub(crate) fn reading_due(&mut self, can_wait: bool) -> Option<Due> {
        self.next_unread()?;
        self.searches = self.searches.saturating_add(1);
        Some(if can_wait && self.searches <= SEARCHES { Due::Quiet } else { Due::Now })
    }

    /// Takes messages that were read, with their terms and the newest first. They are left out if
    /// messages were changed meanwhile, or came late.
    pub(crate) fn keep_read(&mut self, unread: Unread, messages: Vec<Message>) {
        if unread.changes != self.changes {
            return;
        }
        let is_last = messages.len() < unread.most;
        if !unread.one_by_one {
            self.older.add_read(unread.before, &messages, is_last);
            if self.older.is_complete() {
                self.extent = Extent::Whole;
            }
        } else if self.extent == Extent::Newest && self.oldest_position() == Some(unread.before) {
            self.messages.extend(messages);
            self.messages.sort_unstable_by_key(|message| message.seq);
            self.arrange();
            if is_last {
                self.extent = Extent::Whole;
            }
            self.bound();
        }
    }

    /// Notes messages that were changed; false if it has one of them.
    pub(super) fn note_changed(&mut self, ids: &HashSet<MemoryId>) -> bool {
        if self.extent == Extent::Unread {
            // What is read may be older than the change.
            self.changed.extend(ids);
            return self.changed.len() <= MOST && !has_any(&self.early, ids);
        }
        !has_any(&self.messages, ids) && !self.older.all().is_some_and(|older| older.has_any(ids))
    }

    /// Whether it was read before some of its messages were changed.
    pub(super) fn is_stale(&self) -> bool {
        self.is_stale
    }

    /// The message of a number.
    pub(crate) fn get(&self, seq: i64) -> Option<&Message> {
        let place = self.messages.binary_search_by_key(&seq, |message| message.seq).ok()?;
        self.messages.get(place)
    }

    /// Whether a message of a number is known, here or among those that have left.
    pub(crate) fn knows(&self, seq: i64) -> bool {
        self.get(seq).is_some() || self.older.all().is_some_and(|older| older.has(seq))
    }

    /// What is known of a message, if a query may show it.
    pub(crate) fn shown(&self, query: &RecallQuery, seq: i64) -> Option<Shown> {
        match self.get(seq) {
            Some(message) => message.fits(query).then(|| message.shown()),
            None => self.older.all()?.shown(query, seq),
        }
    }

    /// Whether a message contains one of the names; none if it is not known.
    pub(crate) fn has_any_of(&self, seq: i64, names: &Names) -> Option<bool> {
        match self.get(seq) {
            Some(message) => Some(message.has_any_of(&self.terms, names)),
            None => self.older.all()?.has_any_of(seq, names),
        }
    }

    /// Of each word the messages of the whole Room that have it and that a query may show, the newest
    /// first.
    pub(crate) fn whole(&mut self, query: &RecallQuery, asked: &[Asked]) -> Vec<Places> {
        let before = self.older.all().map_or(0, Postings::len);
        let mut lists = self.newest(query, asked, before);
        if let Some(older) = self.older.all() {
            for (list, asked) in lists.iter_mut().zip(asked) {
                older.add_places(query, asked, list);
                list.truncate(NEWEST);
            }
        }
        lists
    }

    /// The number of the message at a place of [`Talk::whole`].
    pub(crate) fn number(&self, place: usize) -> Option<i64> {
        let before = self.older.all().map_or(0, Postings::len);
        let Some(order) = place.checked_sub(before) else { return self.older.all()?.number(place) };
        Some(self.messages.get(*self.order.get(order)? as usize)?.seq)
    }

    /// Of each word the messages kept one by one that have it and that a query may show, the newest
    /// first, by their places among the numbers of these messages.
    pub(crate) fn having(
        &mut self,
        query: &RecallQuery,
        asked: &[Asked],
    ) -> (Vec<Places>, Vec<i64>) {
        let lists = self.newest(query, asked, 0);
        let number = |place: &u32| self.messages.get(*place as usize).map_or(0, |of| of.seq);
        (lists, self.order.iter().map(number).collect())
    }

    /// The lists of [`Talk::having`]. The place of the oldest of these messages is `first`.
    fn newest(&mut self, query: &RecallQuery, asked: &[Asked], first: usize) -> Vec<Places> {
        let numbers = Numbers::of(asked);
        let mut lists: Vec<Places> = vec![Vec::new(); asked.len()];
        let Self { messages, order, terms, stems, .. } = self;
        let mut unlocked = None;
        for (place, at) in order.iter().enumerate().rev() {
            let Some(message) = messages.get_mut(*at as usize) else { continue };
            if !message.fits(query) {
                continue;
            }
            if !message.is_analysed() {
                message.analyse(unlocked.get_or_insert_with(|| lock(stems)));
            }
            message.store_in(terms);
            // Places are far below 2^32.
            let place = u32::try_from(first + place).unwrap_or(u32::MAX);
            message.list_in(terms, &numbers, place, &mut lists);
        }
        lists
    }

    /// The messages before and after one, if both are known: none at an end of the Room, and unknown
    /// before the oldest that is known.
    pub(crate) fn beside(&self, seq: i64) -> Option<[Option<i64>; 2]> {
        let key = |message: &Message| (message.at, message.seq);
        let of = |at: usize| Some(self.messages.get(*self.order.get(at)? as usize)?.seq);
        let older = self.older.all();
        let Some(message) = self.get(seq) else {
            let [before, after] = older?.beside(seq)?;
            return Some([before, after.or_else(|| of(0))]);
        };
        let wanted = key(message);
        let at = self
            .order
            .binary_search_by_key(&wanted, |place| key(&self.messages[*place as usize]))
            .ok()?;
        let before = match at.checked_sub(1) {
            Some(before) => of(before),
            None => older.and_then(|older| older.last()).map(|(_, seq)| seq),
        };
        let is_known = before.is_some() || self.extent == Extent::Whole || older.is_some();
        is_known.then(|| [before, of(at + 1)])
    }
}

fn has_any(messages: &[Message], ids: &HashSet<MemoryId>) -> bool {
    messages.iter().any(|message| ids.contains(&message.id))
}
